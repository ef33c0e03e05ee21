//! A target with every fault there is, which tests of the driver run. It is not in the list of
//! targets.

use std::time::Duration;

use super::worker::Limits;
use super::{Behaviour, Target};

pub(super) const TARGET: Target = Target {
    name: "faulty",
    about: "every fault, on demand",
    run,
    words: &[],
    parts: None,
    max_len: 16,
    limits: Some(Limits {
        memory: 512 << 20,
        work: Duration::from_secs(1),
    }),
    seeds: None,
};

#[allow(clippy::panic, reason = "faults are its purpose")]
fn run(input: &[u8]) -> Behaviour {
    match input {
        b"panic" => panic!("as asked"),
        b"abort" => std::process::abort(),
        b"hang" => loop {
            std::hint::spin_loop();
        },
        b"grow" => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 16 << 20]);
            }
        }
        b"deep" => Behaviour(deep(input.len())),
        _ => Behaviour::of(input),
    }
}

/// Calls itself until the stack ends.
fn deep(n: usize) -> u64 {
    let here = std::hint::black_box([n; 64]);
    if here[0] == usize::MAX {
        return 0;
    }
    deep(n + 1) + here[63] as u64
}
