//! veth pairs: two interfaces, what goes in at one comes out at the other.

use std::os::fd::{AsFd as _, BorrowedFd};

use crate::error::NetError;
use crate::namespace::Namespace;
use crate::own::{self, Kind};
use crate::rtnl::Rtnl;

/// One end of a pair: its name and the namespace that it lives in.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Its name, unique in its namespace.
    pub name: &'a str,
    /// Where it lives; `None` is the caller's own namespace.
    pub namespace: Option<&'a Namespace>,
}

impl<'a> End<'a> {
    /// An end in the caller's namespace.
    #[must_use]
    pub const fn here(name: &'a str) -> Self {
        Self {
            name,
            namespace: None,
        }
    }

    /// An end in that namespace.
    #[must_use]
    pub const fn inside(name: &'a str, namespace: &'a Namespace) -> Self {
        Self {
            name,
            namespace: Some(namespace),
        }
    }

    /// As netlink is told it.
    fn place(self) -> (&'a str, Option<BorrowedFd<'a>>) {
        (self.name, self.namespace.map(Namespace::as_fd))
    }
}

/// A veth pair, both ends up. It ends with this handle, or with the namespace of either end.
#[derive(Debug)]
pub struct Veth {
    /// The end that lives in the maker's namespace, if any does: what must be removed by hand.
    here: Option<String>,
    /// The connection to the maker's namespace, wherever the handle is dropped.
    rtnl: Rtnl,
}

impl Veth {
    /// Makes a pair and brings both ends up.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`]; a name that is taken.
    pub fn new(a: End<'_>, b: End<'_>) -> Result<Self, NetError> {
        let mut rtnl = Rtnl::open()?;
        let here = [a, b]
            .iter()
            .find(|end| end.namespace.is_none())
            .map(|end| end.name.to_owned());
        if let Some(name) = &here {
            own::record(Kind::Link, name)?;
        }
        rtnl.add_veth(a.place(), b.place()).inspect_err(|_| {
            if let Some(name) = &here {
                own::forget(Kind::Link, name);
            }
        })?;
        let pair = Self { here, rtnl };
        for end in [a, b] {
            match end.namespace {
                Some(namespace) => namespace.run(|| Rtnl::open()?.set_up(end.name, true))??,
                None => Rtnl::open()?.set_up(end.name, true)?,
            }
        }
        Ok(pair)
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        if let Some(name) = self.here.take() {
            // It may be gone already, with the namespace of the other end.
            let _ = self.rtnl.delete_link(&name);
            own::forget(Kind::Link, &name);
        }
    }
}
