//! Crates that could take the place of code of ours, beside that code. Prints one table; the
//! figures are those of the machine that it runs on.

mod headers;
mod plots;
mod rendering;

use std::time::Instant;

/// Microseconds of one call, the best of several rounds.
fn microseconds<T>(calls: u32, mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..calls {
            std::hint::black_box(work());
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    best
}

/// One line of the table: what, who, microseconds, and the bytes that come out.
fn row(what: &str, who: &str, time: f64, bytes: usize) {
    println!("{what:44} {who:20} {time:12.3} us {bytes:12} bytes");
}

fn main() {
    rendering::compare();
    headers::compare();
    plots::compare();
}
