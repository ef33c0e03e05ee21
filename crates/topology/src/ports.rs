//! What ports are called.
//!
//! A port has a number, which the data plane sees, and may have a name, which its operator sees:
//! `Ethernet1/49/1`, `swp12s3`, `et-0/0/3:1`. All importers number ports here:
//!
//! - A number that a file gives is the number of the port. A number inside a name is not: the whole
//!   name must be one, or the format of the file must define it (`s1-p3` of the p4lang tutorials).
//! - Names are kept as they are written. The ports of a node that have names get the lowest free
//!   numbers in the natural order of the names, whatever the order of the file.
//! - Ports without either get the lowest numbers that are free then, in the order of the links.
//!
//! Numbers begin at 1 on switches and at 0 on hosts.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The order in which people count names: runs of digits are compared as numbers, so that
/// `Ethernet4` comes before `Ethernet12`, and `leaf2` before `leaf10`.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some(&x), Some(&y)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (number, rest) = leading_number(left);
            let (other, other_rest) = leading_number(right);
            let order = number.len().cmp(&other.len());
            let order = order.then_with(|| number.cmp(other));
            if order.is_ne() {
                return order;
            }
            (left, right) = (rest, other_rest);
        } else if x == y {
            (left, right) = (&left[1..], &right[1..]);
        } else {
            return x.cmp(&y);
        }
    }
}

/// The digits that a text begins with, without zeros in front, and what follows.
fn leading_number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    (&digits[zeros..], rest)
}

/// The port of a link's end, as a file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GivenPort {
    /// By its number.
    Number(u16),
    /// By its name.
    Name(String),
    /// Not at all.
    Open,
}

impl GivenPort {
    /// Reads a cell or an interface: a number if the whole text is one. `None` for a number that no
    /// port has.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Open);
        }
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().ok().map(Self::Number),
            false => Some(Self::Name(text.to_owned())),
        }
    }

    /// The name, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Number(_) | Self::Open => None,
        }
    }
}

impl PartialOrd for GivenPort {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GivenPort {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Name(a), Self::Name(b)) => natural_order(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl GivenPort {
    const fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Name(_) => 1,
            Self::Open => 2,
        }
    }
}

/// The port numbers of one node.
#[derive(Debug)]
pub(crate) struct Numbering {
    taken: BTreeSet<u16>,
    names: BTreeMap<String, u16>,
    /// The lowest number that may be free.
    next: Option<u16>,
}

impl Numbering {
    /// Numbers all ports that have a name; `first` is the number of the first port. `None` if there
    /// are more names than numbers.
    pub(crate) fn new<'a>(
        first: u16,
        numbers: impl IntoIterator<Item = u16>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Option<Self> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_by(|a, b| natural_order(a, b));
        let mut numbering = Self {
            taken: numbers.into_iter().collect(),
            names: BTreeMap::new(),
            next: Some(first),
        };
        for name in names {
            let number = numbering.free()?;
            numbering.names.insert(name.to_owned(), number);
        }
        Some(numbering)
    }

    /// The number of a port; one that is open gets the next free number. `None` if there is none.
    pub(crate) fn number(&mut self, port: &GivenPort) -> Option<u16> {
        match port {
            GivenPort::Number(number) => Some(*number),
            GivenPort::Name(name) => self.names.get(name).copied(),
            GivenPort::Open => self.free(),
        }
    }

    /// Takes the lowest free number.
    fn free(&mut self) -> Option<u16> {
        let mut number = self.next?;
        while self.taken.contains(&number) {
            number = number.checked_add(1)?;
        }
        self.next = number.checked_add(1);
        self.taken.insert(number);
        Some(number)
    }

    /// The names with their numbers.
    pub(crate) fn into_names(self) -> impl Iterator<Item = (u16, String)> {
        self.names.into_iter().map(|(name, number)| (number, name))
    }
}

/// Whether a name is that of a management interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Management {
    /// Always: `mgmt0`, `Management1`, `fxp0`, `ma1`.
    Yes,
    /// On a switch whose other ports are called otherwise: `eth0` beside `swp1`.
    BesideOthers,
    /// Never.
    No,
}

impl Management {
    /// What the name says.
    pub(crate) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name.starts_with("mgmt") || name.starts_with("management") {
            return Self::Yes;
        }
        match name.as_str() {
            "fxp0" | "ma1" | "me0" | "vme" => Self::Yes,
            "eth0" | "em0" => Self::BesideOthers,
            _ => Self::No,
        }
    }
}

/// The name without what it counts with: `swp` of `swp12s3`.
pub(crate) fn stem(name: &str) -> &str {
    let end = name.find(|c: char| c.is_ascii_digit());
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_count() {
        let sorted = [
            "Ethernet1/1",
            "Ethernet1/2",
            "Ethernet1/10",
            "Ethernet1/49/1",
            "Ethernet1/49/2",
            "Ethernet2/1",
            "et-0/0/3:0",
            "et-0/0/3:1",
            "et-0/0/10:0",
            "swp2",
            "swp12s1",
            "swp12s3",
        ];
        for (at, a) in sorted.iter().enumerate() {
            for (other, b) in sorted.iter().enumerate() {
                assert_eq!(natural_order(a, b), at.cmp(&other), "{a} {b}");
            }
        }
        // Names that count alike are still two names.
        assert_eq!(natural_order("s1", "s01"), "s1".cmp("s01"));
        assert_eq!(
            natural_order("18446744073709551616", "9"),
            Ordering::Greater
        );
    }

    #[test]
    fn numbers_come_first_then_names_then_the_rest() {
        let names = ["Ethernet12", "Ethernet4", "Ethernet12"];
        let mut numbering = Numbering::new(1, [2, 9], names).unwrap();
        let of = |name: &str| GivenPort::read(name).unwrap();
        let ports = ["9", "Ethernet4", "Ethernet12", "", ""];
        let numbers = ports.map(|port| numbering.number(&of(port)));
        assert_eq!(numbers, [9, 1, 3, 4, 5].map(Some));
        assert_eq!(GivenPort::read("65536"), None);
    }

    #[test]
    fn numbers_run_out() {
        assert!(Numbering::new(65_534, [], ["a", "b", "c"]).is_none());
        let mut full = Numbering::new(65_535, [], ["a"]).unwrap();
        assert_eq!(full.number(&GivenPort::Open), None);
    }
}
