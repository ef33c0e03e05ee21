//! When an interface lost its carrier, as soon as that can be seen at all: before the kernel tells
//! of it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::error::{NetError, SYS_ADMIN, Tried};
use crate::namespace::on_a_thread;

/// The kernel's count of how often an interface lost its carrier. It changes in the very step that
/// takes the carrier away, and is read without any lock: who reads it all the time sees the change
/// within a microsecond or two.
#[derive(Debug)]
pub struct CarrierLosses(File);

impl CarrierLosses {
    /// Of an interface of the caller's network namespace.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] without the right to mount; no such interface.
    pub fn of(name: &str) -> Result<Self, NetError> {
        let sys = Path::new("/sys");
        let path = sys.join("class/net").join(name).join("carrier_down_count");
        // `/sys` shows the namespace in which it was mounted: a thread of its own has one of its
        // own.
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNS).tried("making a mount namespace", SYS_ADMIN)?;
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
                .tried("keeping mounts to ourselves", SYS_ADMIN)?;
            let read_only = MsFlags::MS_RDONLY;
            mount(Some("sysfs"), sys, Some("sysfs"), read_only, None::<&str>)
                .tried("mounting sysfs", SYS_ADMIN)?;
            let file = File::open(&path).tried(format!("opening {}", path.display()), SYS_ADMIN)?;
            Ok(Self(file))
        })?
    }

    /// The count; `None` when the interface has gone.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let mut digits = [0; 24];
        let length = self.0.read_at(&mut digits, 0).ok()?;
        std::str::from_utf8(&digits[..length])
            .ok()?
            .trim()
            .parse()
            .ok()
    }
}
