//! What goes wrong between this process and the kernel's network, and how to mend it.

use std::io;

use nix::errno::Errno;
use thiserror::Error;

/// Why the kernel's network did not do what it was asked.
#[derive(Debug, Error)]
pub enum NetError {
    /// The process lacks a right.
    #[error(
        "{what} is not permitted: run as root, or give the program the right with `setcap {capability}+ep`"
    )]
    NotPermitted {
        /// What was tried.
        what: String,
        /// The capability that allows it.
        capability: &'static str,
    },
    /// There is no such interface in this network namespace.
    #[error("there is no network interface '{name}' here; there are: {}", known.join(", "))]
    NoInterface {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A name that the kernel would not take.
    #[error("'{name}' cannot name a network interface: 1 to 15 bytes, no '/' and no blank")]
    BadName {
        /// The name.
        name: String,
    },
    /// The interface is not Ethernet.
    #[error("the network interface '{name}' does not carry Ethernet frames")]
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// The kernel was built without AF_XDP.
    #[error(
        "this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS, CONFIG_BPF_SYSCALL); use the driver 'ring'"
    )]
    NoXdp,
    /// An XDP program is attached to the interface already.
    #[error(
        "another XDP program is attached to '{name}'; detach it with `ip link set {name} xdp off`, or use the driver 'ring'"
    )]
    XdpTaken {
        /// The interface.
        name: String,
    },
    /// The interface's frames do not fit AF_XDP's memory.
    #[error(
        "AF_XDP carries payloads of up to {most} bytes and '{name}' has an MTU of {mtu}; lower it, or use the driver 'ring'"
    )]
    TooLarge {
        /// The interface.
        name: String,
        /// Its MTU, in bytes.
        mtu: u32,
        /// The largest MTU that works, in bytes.
        most: u32,
    },
    /// AF_XDP for several sockets.
    #[error(
        "frames that come to '{name}' by AF_XDP cannot be shared out among threads; use one thread, or the driver 'ring'"
    )]
    XdpShared {
        /// The interface.
        name: String,
    },
    /// Any other refusal.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel's answer could not be read.
    #[error("{what}: the kernel's answer is not understood: {detail}")]
    Answer {
        /// What was asked.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl NetError {
    /// An error of the system while trying `what`; a missing right names the capability.
    pub(crate) fn system(
        what: impl Into<String>,
        capability: &'static str,
        source: io::Error,
    ) -> Self {
        let what = what.into();
        let refused = [Errno::EPERM, Errno::EACCES].map(|e| Some(e as i32));
        if refused.contains(&source.raw_os_error()) {
            return Self::NotPermitted { what, capability };
        }
        Self::System { what, source }
    }

    /// The system's number of the error, where it came from the system.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::NotPermitted { .. } => Some(Errno::EPERM as i32),
            Self::System { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Changing the network: links, addresses, namespaces.
pub(crate) const ADMIN: &str = "cap_net_admin";
/// Raw sockets.
pub(crate) const RAW: &str = "cap_net_raw";
/// Entering and mounting namespaces.
pub(crate) const SYS_ADMIN: &str = "cap_sys_admin";

/// Says what was tried when the system refuses.
pub(crate) trait Tried<T> {
    /// `what` was tried; `capability` would permit it.
    fn tried(self, what: impl Into<String>, capability: &'static str) -> Result<T, NetError>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: impl Into<String>, capability: &'static str) -> Result<T, NetError> {
        self.map_err(|e| NetError::system(what, capability, e.into()))
    }
}
