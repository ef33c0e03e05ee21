//! What is ours: names that carry the process that made them, and a record of each, so that the
//! leftovers of dead processes can be told from the things of living ones and removed.
//!
//! The record of a thing is a file in [`RECORDS`] named after it, holding the process id and the
//! process's start time: ids are used again, start times within one boot are not.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use files::janitor::{self, Leftover};
use nix::mount::{MntFlags, umount2};

use crate::error::{ADMIN, NetError, Tried};
use crate::rtnl::Rtnl;

/// Where records are kept: the run directory vanishes with the machine's boot, as the things do.
const RECORDS: &str = "/run/switchwright/linuxnet";
/// Where `ip netns` keeps names of namespaces.
pub(crate) const NETNS: &str = "/run/netns";

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name in [`NETNS`].
    Namespace,
    /// A link in the namespace of the process that made it.
    Link,
}

impl Kind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Namespace => "netns-",
            Self::Link => "link-",
        }
    }

    /// The thing as the helper removes it that outlives us.
    fn leftover(self, name: &str) -> (Leftover, PathBuf) {
        match self {
            Self::Namespace => (Leftover::Mount, Path::new(NETNS).join(name)),
            Self::Link => (Leftover::Link, PathBuf::from(name)),
        }
    }
}

/// A name that no other living process uses: `sw`, the process id in base 36, a running number.
/// At most 15 bytes, as interfaces need.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("sw{}x{}", base36(std::process::id()), base36(number))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// When the process started, in ticks since boot; `None` when there is no such process, or it is
/// dead and its parent was not told yet.
fn start_time(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field, the command, may hold anything, blanks and brackets too.
    let (_, after) = stat.rsplit_once(')')?;
    let mut words = after.split_whitespace();
    if matches!(words.next()?, "Z" | "X") {
        return None;
    }
    words.nth(18)?.parse().ok()
}

fn record_path(kind: Kind, name: &str) -> PathBuf {
    Path::new(RECORDS).join(format!("{}{name}", kind.prefix()))
}

/// Writes down that this process made something.
pub(crate) fn record(kind: Kind, name: &str) -> Result<(), NetError> {
    let process = std::process::id();
    let text = format!("{process} {}\n", start_time(process).unwrap_or(0));
    fs::create_dir_all(RECORDS).tried(format!("making {RECORDS}"), ADMIN)?;
    let path = record_path(kind, name);
    let thing = kind.leftover(name);
    let remembered = janitor::remember(thing.0, &thing.1)
        .and_then(|()| janitor::remember(Leftover::File, &path));
    remembered.tried("starting a helper that tidies up", ADMIN)?;
    fs::write(&path, text).tried(format!("writing {}", path.display()), ADMIN)
}

/// The thing is gone, and so is its record.
pub(crate) fn forget(kind: Kind, name: &str) {
    let path = record_path(kind, name);
    let _ = fs::remove_file(&path);
    janitor::forget(&path);
    janitor::forget(&kind.leftover(name).1);
}

fn maker_lives(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let process = words.next().and_then(|w| w.parse::<u32>().ok());
    let started = words.next().and_then(|w| w.parse::<u64>().ok());
    match (process, started) {
        (Some(process), Some(started)) => start_time(process) == Some(started),
        _ => false,
    }
}

/// Removes a name of a namespace; the namespace ends with its last user.
pub(crate) fn remove_namespace(name: &str) {
    let path = Path::new(NETNS).join(name);
    let _ = umount2(&path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(&path);
    forget(Kind::Namespace, name);
}

/// Removes what processes that are no longer alive left behind: named namespaces and links.
/// Returns the names removed, sorted. What living processes own stays.
///
/// # Errors
/// Records that cannot be read, or a kernel that does not talk.
pub fn sweep() -> Result<Vec<String>, NetError> {
    let mut removed = Vec::new();
    let Ok(records) = fs::read_dir(RECORDS) else {
        return Ok(removed); // nothing was ever written down
    };
    let mut rtnl = Rtnl::open()?;
    for entry in records.flatten() {
        let Ok(file) = entry.file_name().into_string() else {
            continue;
        };
        let Ok(text) = fs::read_to_string(entry.path()) else {
            continue; // its owner removed it just now
        };
        if maker_lives(&text) {
            continue;
        }
        if let Some(name) = file.strip_prefix(Kind::Namespace.prefix()) {
            remove_namespace(name);
            removed.push(name.to_owned());
        } else if let Some(name) = file.strip_prefix(Kind::Link.prefix()) {
            if rtnl.link(name).is_ok() {
                rtnl.delete_link(name)?;
            }
            forget(Kind::Link, name);
            removed.push(name.to_owned());
        }
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_short() {
        let (a, b) = (unique_name(), unique_name());
        assert_ne!(a, b);
        assert!(a.len() <= 15, "{a}");
        assert_eq!(base36(4_194_304).len(), 5);
    }

    #[test]
    fn this_process_lives_and_others_with_its_number_do_not() {
        let process = std::process::id();
        let started = start_time(process).expect("a process knows itself");
        assert!(maker_lives(&format!("{process} {started}\n")));
        assert!(!maker_lives(&format!("{process} {}\n", started + 1)));
        assert!(!maker_lives("what"));
    }

    #[test]
    fn the_dead_that_nobody_waited_for_do_not_live() {
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while start_time(child.id()).is_some() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(start_time(child.id()), None);
        child.wait().expect("waited for");
    }
}
