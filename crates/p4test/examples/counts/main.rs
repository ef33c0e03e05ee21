//! Kernels whose instructions `cargo xtask counts` counts: `counts` prints their names, a line
//! each; `counts NAME` makes one ready, runs it once that its memory is warm, and then inside
//! [`switchwright_counted`], which callgrind tells apart by its name. What that prints is JSON:
//! operations, their unit, and what the processor can do. Nothing here depends on time or chance,
//! so that runs count the same, but for what the allocator does among its own blocks: up to 0.3 %
//! where much is allocated (`push`), a few instructions elsewhere.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod event;
mod packets;
mod push;
mod tables;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

/// Why a kernel cannot be made ready.
type Failure = Box<dyn Error + Send + Sync>;

/// What is counted.
struct Kernel {
    /// What one of its operations is: `packet`.
    unit: &'static str,
    /// A run, and how many operations it did.
    run: Box<dyn FnMut() -> u64>,
}

/// Callgrind counts between entry and exit of this function.
#[inline(never)]
fn switchwright_counted(run: &mut dyn FnMut() -> u64) -> u64 {
    black_box(run())
}

/// What makes a kernel ready.
type Make = fn() -> Result<Kernel, Failure>;

/// All kernels by name.
const KERNELS: [(&str, Make); 8] = [
    ("parse", packets::parse),
    ("key", packets::key),
    ("deparse", packets::deparse),
    ("lookup-exact", tables::exact),
    ("lookup-prefix", tables::prefix),
    ("lookup-ternary", tables::ternary),
    ("event", event::event),
    ("push", push::push),
];

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        KERNELS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let found = KERNELS.iter().find(|(known, _)| *known == name);
    let counted = found
        .ok_or_else(|| "there is no such kernel".into())
        .and_then(|(_, make)| count(*make));
    match counted {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("counts: {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count(make: Make) -> Result<serde_json::Value, Failure> {
    let mut kernel = make()?;
    let warm = (kernel.run)();
    let operations = switchwright_counted(&mut *kernel.run);
    if operations == 0 || warm == 0 {
        return Err(format!("{warm} operations, then {operations}").into());
    }
    Ok(serde_json::json!({
        "unit": kernel.unit,
        "operations": operations,
        "processor": processor(),
    }))
}

/// What the processor can do of that by which libraries and our compiler choose their code.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    macro_rules! known {
        ($($feature:tt)*) => {
            [$(($feature, std::arch::is_x86_feature_detected!($feature))),*]
        };
    }
    let known = known!(
        "sse3" "ssse3" "sse4.1" "sse4.2" "avx" "avx2" "avx512f" "avx512bw" "avx512vl" "bmi1" "bmi2" "fma" "lzcnt" "popcnt" "pclmulqdq" "aes" "sha"
    );
    let has = known.iter().filter(|(_, has)| *has).map(|(name, _)| *name);
    has.collect::<Vec<_>>().join(" ")
}

/// What the processor can do is not asked here.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    String::new()
}
