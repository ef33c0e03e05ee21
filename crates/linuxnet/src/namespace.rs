//! Network namespaces: networks of their own for hosts and switches.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::error::{ADMIN, NetError, SYS_ADMIN, Tried};
use crate::own::{self, Kind, NETNS};
use crate::rtnl::Rtnl;

/// A network namespace. It ends when this handle and the last process in it are gone.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    name: Option<String>,
}

impl Namespace {
    /// A new, empty namespace whose loopback is up.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] without the right to make namespaces.
    pub fn new() -> Result<Self, NetError> {
        let file = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).tried("making a network namespace", SYS_ADMIN)?;
            Rtnl::open()?.set_up("lo", true)?;
            current()
        })??;
        Ok(Self { file, name: None })
    }

    /// A new namespace that `ip netns exec` finds under [`Namespace::name`]. The name goes with the
    /// handle, or by [`crate::sweep`] if this process dies first.
    ///
    /// # Errors
    /// As [`Namespace::new`], or a name that cannot be mounted.
    pub fn named() -> Result<Self, NetError> {
        Self::mounted(own::unique_name())
    }

    /// The same, with `label` at the end of its name.
    ///
    /// # Errors
    /// As [`Namespace::named`].
    pub fn labelled(label: &str) -> Result<Self, NetError> {
        // A name in the file system is one word.
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        };
        let label: String = label.chars().map(plain).collect();
        Self::mounted(format!("{}-{label}", own::unique_name()))
    }

    fn mounted(name: String) -> Result<Self, NetError> {
        let mut namespace = Self::new()?;
        own::record(Kind::Namespace, &name)?;
        let path = Path::new(NETNS).join(&name);
        std::fs::create_dir_all(NETNS).tried(format!("making {NETNS}"), SYS_ADMIN)?;
        File::create(&path).tried(format!("making {}", path.display()), SYS_ADMIN)?;
        let tried = namespace.run(|| {
            mount(
                Some("/proc/thread-self/ns/net"),
                &path,
                None::<&str>,
                MsFlags::MS_BIND,
                None::<&str>,
            )
        })?;
        namespace.name = Some(name);
        tried.tried(format!("mounting {}", path.display()), SYS_ADMIN)?;
        Ok(namespace)
    }

    /// Its name for `ip netns`, if it was given one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Runs `work` in this namespace, on a thread of its own. Sockets opened there and processes
    /// started there stay in the namespace for good.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the namespace may not be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread, for good, into this namespace.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`].
    pub fn enter(&self) -> Result<(), NetError> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).tried("entering a network namespace", SYS_ADMIN)
    }

    /// Writes a setting of `/proc/sys/net` in this namespace: `set("ipv4/ip_forward", "1")`.
    ///
    /// # Errors
    /// An unknown or refused setting.
    pub fn set(&self, setting: &str, value: &str) -> Result<(), NetError> {
        let path = Path::new("/proc/sys/net").join(setting);
        self.run(|| std::fs::write(&path, value))?
            .tried(format!("writing {}", path.display()), ADMIN)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            own::remove_namespace(name);
        }
    }
}

/// The namespace of the calling thread.
fn current() -> Result<File, NetError> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).tried(format!("opening {path}"), SYS_ADMIN)
}

/// Runs `work` on a thread of its own, which may then be in another namespace than the rest.
pub(crate) fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("netns".to_owned());
        let thread = builder
            .spawn_scoped(scope, work)
            .tried("starting a thread", ADMIN)?;
        thread
            .join()
            .map_err(|_| io::Error::other("the thread ended early"))
            .tried("working in a network namespace", ADMIN)
    })
}
