//! The machine under the figures, and its clock and memory.

use std::fs;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

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

/// The most memory that this process has held since its start or [`reset_peak_memory`], where the
/// kernel tells (Linux).
#[must_use]
pub fn peak_memory() -> Option<Bytes> {
    kibibytes("/proc/self/status", "VmHWM")
}

/// The processor time that threads of a process have taken: those of this name, or all; where the
/// kernel tells (Linux).
#[must_use]
pub(super) fn thread_time(process: u32, name: Option<&str>) -> Option<Duration> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let nanos = tasks.flatten().filter_map(|task| {
        let of = |file: &str| fs::read_to_string(task.path().join(file)).ok();
        if let Some(name) = name
            && of("comm")?.trim() != name
        {
            return None;
        }
        of("schedstat")?.split(' ').next()?.parse::<u64>().ok()
    });
    Some(Duration::from_nanos(nanos.sum()))
}

/// The memory that this process holds now, where the kernel tells (Linux).
#[must_use]
pub fn resident_memory() -> Option<Bytes> {
    kibibytes("/proc/self/status", "VmRSS")
}

/// The memory that another process holds now, where the kernel tells (Linux).
#[must_use]
pub(super) fn resident_memory_of(process: u32) -> Option<Bytes> {
    kibibytes(&format!("/proc/{process}/status"), "VmRSS")
}

/// What another process has in memory: all, its share of that (what it shares with others counts in
/// equal parts), and what no other has, where the kernel tells (Linux).
#[must_use]
pub(super) fn memory_parts(process: u32) -> Option<[Bytes; 3]> {
    let file = format!("/proc/{process}/smaps_rollup");
    let field = |name: &str| kibibytes(&file, name);
    let own = field("Private_Clean")?.get() + field("Private_Dirty")?.get();
    Some([field("Rss")?, field("Pss")?, Bytes::new(own)])
}

/// The most memory that another process has held, where the kernel tells (Linux).
#[must_use]
pub(super) fn peak_memory_of(process: u32) -> Option<Bytes> {
    kibibytes(&format!("/proc/{process}/status"), "VmHWM")
}

/// Starts [`peak_memory`] anew, where the kernel lets us (Linux: `/proc/self/clear_refs`).
pub fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Runs `work` and tells its wall-clock time in seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = work();
    (value, start.elapsed().as_secs_f64())
}

fn kibibytes(file: &str, field: &str) -> Option<Bytes> {
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
        assert!(peak_memory().is_none_or(|m| m > Bytes::new(0)));
    }

    #[test]
    fn the_machine_has_a_core() {
        assert!(Machine::here().cores >= 1);
    }
}
