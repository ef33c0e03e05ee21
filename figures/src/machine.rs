//! Time and memory of processes, as the kernel counts them.

use std::fs;
use std::time::Duration;

use measure::kibibytes;
pub(crate) use measure::{resident_memory, timed};
use quantities::Bytes;

/// The most memory that this process has held since its start or [`reset_peak_memory`], where the
/// kernel tells (Linux).
#[must_use]
pub(crate) fn peak_memory() -> Option<Bytes> {
    kibibytes("/proc/self/status", "VmHWM")
}

/// The processor time that threads of a process have taken: those of this name, or all; where the
/// kernel tells (Linux).
#[must_use]
pub(crate) fn thread_time(process: u32, name: Option<&str>) -> Option<Duration> {
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

/// The memory that another process holds now, where the kernel tells (Linux).
#[must_use]
pub(crate) fn resident_memory_of(process: u32) -> Option<Bytes> {
    kibibytes(&format!("/proc/{process}/status"), "VmRSS")
}

/// What another process has in memory: all, its share of that (what it shares with others counts in
/// equal parts), and what no other has, where the kernel tells (Linux).
#[must_use]
pub(crate) fn memory_parts(process: u32) -> Option<[Bytes; 3]> {
    let file = format!("/proc/{process}/smaps_rollup");
    let field = |name: &str| kibibytes(&file, name);
    let own = field("Private_Clean")?.get() + field("Private_Dirty")?.get();
    Some([field("Rss")?, field("Pss")?, Bytes::new(own)])
}

/// The most memory that another process has held, where the kernel tells (Linux).
#[must_use]
pub(crate) fn peak_memory_of(process: u32) -> Option<Bytes> {
    kibibytes(&format!("/proc/{process}/status"), "VmHWM")
}

/// Starts [`peak_memory`] anew, where the kernel lets us (Linux: `/proc/self/clear_refs`).
pub(crate) fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory() {
        assert!(peak_memory().is_none_or(|m| m > Bytes::new(0)));
    }
}
