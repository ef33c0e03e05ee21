//! What a process that has opened its interfaces may still do: no more than opening others.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::error::{NetError, Tried};
use crate::packet::Driver;

/// Changing what a thread may do, which none need be given the right to.
const SETPCAP: &str = "cap_setpcap";

/// What opening an interface takes: raw sockets, and switching offloads off.
fn needed(driver: Driver) -> CapabilitySet {
    let sockets = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN;
    match driver {
        // Its program is loaded and its memory pinned once more for each interface.
        Driver::Xdp => sockets | CapabilitySet::BPF | CapabilitySet::IPC_LOCK,
        Driver::Auto | Driver::Ring | Driver::Packet => sockets,
    }
}

/// Gives up every capability but those that opening interfaces with a driver takes (none without
/// one), for good: neither this thread nor any that it starts from now on, nor a program that one
/// of them runs, has them again. Other threads that run already keep theirs.
///
/// With interfaces, a thread may still run before ordinary ones ([`crate::LinkWatch`] does), if it
/// might before.
///
/// Root stays the owner of its files, but has no right any more over those of others.
///
/// # Errors
/// [`NetError::System`] if the kernel refuses.
pub fn give_up_rights(interfaces: Option<Driver>) -> Result<(), NetError> {
    let first = u64::from(interfaces.is_some());
    let limit = Rlimit {
        current: Some(first),
        maximum: Some(first),
    };
    // Who may not raise it stays without.
    let _ = setrlimit(Resource::Rtprio, limit);
    reduce(interfaces.map_or(CapabilitySet::empty(), needed))
        .tried("giving up capabilities", SETPCAP)
}

fn reduce(keep: CapabilitySet) -> Result<(), Errno> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if keep.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has no more of them.
            Err(Errno::INVAL) => break,
            // The set bounds what running a program gives, and new rights are refused already.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error),
        }
    }
    let now = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: now.effective & keep,
            permitted: now.permitted & keep,
            inheritable: CapabilitySet::empty(),
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rights_are_gone_for_good_and_for_threads_to_come() {
        // Rights are a thread's own: this one's end with it.
        let thread = std::thread::spawn(|| {
            let before = capabilities(None).unwrap();
            give_up_rights(Some(Driver::Ring)).unwrap();
            let kept = needed(Driver::Ring) & before.permitted;
            let look = || capabilities(None).unwrap();
            for now in [look(), std::thread::spawn(look).join().unwrap()] {
                assert_eq!(now.permitted, kept);
                assert_eq!(now.effective, before.effective & kept);
                assert_eq!(now.inheritable, CapabilitySet::empty());
            }
            let more = set_capabilities(None, before);
            assert!(more.is_err() || before.permitted == kept);
            give_up_rights(None).unwrap();
            assert_eq!(look().permitted, CapabilitySet::empty());
        });
        thread.join().unwrap();
    }
}
