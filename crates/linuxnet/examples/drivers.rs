//! Compares the drivers of [`linuxnet::PacketSocket`]: a forwarder between two veth pairs, under as
//! much load as the sender can make. Needs root.
//!
//! `cargo run --release -p switchwright-linuxnet --example drivers [ROUNDS]`
#![allow(clippy::print_stdout)]

use std::thread;
use std::time::{Duration, Instant};

use linuxnet::load::{Forwarder, Load};
use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{Driver, Namespace, NetError, Veth};

const WINDOW: Duration = Duration::from_millis(700);

/// The processor time of a thread of this process by name.
fn cpu(name: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanos = tasks.flatten().filter_map(|task| {
        let of = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        (of("comm")?.trim() == name).then_some(())?;
        of("schedstat")?.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

fn main() -> Result<(), NetError> {
    let rounds: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(3);
    let lab = Namespace::new()?;
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _inward = Veth::new(End::here("gen"), End::here("p1"))?;
        let _outward = Veth::new(End::here("p2"), End::here("sink"))?;
        let mut rtnl = Rtnl::open()?;
        for length in [64, 1500] {
            for driver in [Driver::Ring, Driver::Packet, Driver::Xdp] {
                let (mut best, mut least) = (0.0f64, f64::MAX);
                for _ in 0..rounds {
                    let forwarder = Forwarder::start("p1", "p2", driver)?;
                    let mut frame = vec![2; length];
                    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
                    let load = Load::start("gen", frame, None)?;
                    thread::sleep(Duration::from_millis(100));
                    let mut look = || Ok::<_, NetError>((rtnl.link("sink")?.stats.received, cpu("forwarder"), Instant::now()));
                    let before = look()?;
                    thread::sleep(WINDOW);
                    let after = look()?;
                    let frames = (after.0 - before.0) as f64;
                    best = best.max(frames / (after.2 - before.2).as_secs_f64());
                    least = least.min((after.1 - before.1).as_nanos() as f64 / frames);
                    let _ = load.stop();
                    forwarder.stop();
                }
                println!("{length:>5} bytes {driver:?}: {best:>9.0} frames/s, {least:>6.0} ns of a core per frame");
            }
        }
        Ok(())
    })?
}
