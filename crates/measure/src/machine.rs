//! The machine under the figures, and its clock and memory.

use std::fs;
use std::thread::available_parallelism;
use std::time::Instant;

use quantities::Bytes;
use serde::Serialize;

/// What a figure was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processor model, as the kernel names it.
    pub processor: String,
    /// Cores this process may use.
    pub cores: usize,
    /// Memory of the machine.
    pub memory: Bytes,
    /// Operating system and architecture.
    pub system: String,
}

impl Machine {
    /// This machine; what cannot be found out is `unknown` or zero.
    #[must_use]
    pub fn here() -> Self {
        Self {
            processor: proc_field("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| "unknown".to_owned()),
            cores: available_parallelism().map_or(1, usize::from),
            memory: kibibytes("/proc/meminfo", "MemTotal").unwrap_or_default(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

impl Machine {
    /// The machine on one line.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "{} ({} cores, {} MiB, {})",
            self.processor,
            self.cores,
            self.memory.get() >> 20,
            self.system
        )
    }
}

/// The memory that this process holds now, where the kernel tells (Linux).
#[must_use]
pub fn resident_memory() -> Option<Bytes> {
    kibibytes("/proc/self/status", "VmRSS")
}

/// Runs `work` and tells its wall-clock time in seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = work();
    (value, start.elapsed().as_secs_f64())
}

/// A field of a file below `/proc` that counts memory in KiB (proc(5)), where the kernel tells
/// (Linux).
#[must_use]
pub fn kibibytes(file: &str, field: &str) -> Option<Bytes> {
    let value = proc_field(file, field)?;
    let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
    Some(Bytes::new(kib * 1024))
}

fn proc_field(file: &str, field: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text
        .lines()
        .find(|l| l.split(':').next().is_some_and(|name| name.trim() == field))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory() {
        assert!(resident_memory().is_none_or(|m| m > Bytes::new(0)));
    }

    #[test]
    fn the_machine_has_a_core() {
        assert!(Machine::here().cores >= 1);
    }
}
