//! Names of ports, for programs whose ports the control plane knows by strings
//! (`@p4runtime_translation(uri, string)`, P4Runtime 1.5, section 18.1): the table that translates
//! between the two, one per switch.
//!
//! A port has the name of its interface, whatever is not an interface, and numbers that are no
//! port's, go by their decimal number. So every number has one name and every name one number. An
//! interface whose own name is a number says nothing of its port, which goes by the port's number
//! too. A port that is removed keeps its name until another takes the name or the number: entries
//! may mention it.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use quantities::PortId;
use thiserror::Error;

/// Names listed in an error.
const LISTED: usize = 16;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct PortNames {
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    names: BTreeMap<u32, String>,
    numbers: BTreeMap<String, u32>,
}

/// Why a name has no number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// No port is called so.
    #[error("there is no port '{name}'; a port goes by its interface, or else by its number in decimals; interfaces: {}", known.join(", "))]
    Unknown {
        /// What was given.
        name: String,
        /// The interfaces there are.
        known: Vec<String>,
    },
    /// The number is that of a port with a name.
    #[error("port {number} goes by the name '{name}' here")]
    Named {
        /// The number.
        number: u32,
        /// Its name.
        name: String,
    },
}

/// The number that a text writes in decimals, in the only way.
fn decimal(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl PortNames {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A port is connected to an interface from now on; to none, it goes by its number.
    pub fn set(&self, port: PortId, interface: Option<&str>) {
        let number = u32::from(port.get());
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = table.names.remove(&number) {
            table.numbers.remove(&old);
        }
        let Some(name) = interface.filter(|name| decimal(name).is_none()) else {
            return;
        };
        if let Some(old) = table.numbers.insert(name.to_owned(), number) {
            table.names.remove(&old);
        }
        table.names.insert(number, name.to_owned());
    }

    /// The number of a name.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn number(&self, name: &str) -> Result<u32, NameError> {
        let table = self.read();
        if let Some(number) = table.numbers.get(name) {
            return Ok(*number);
        }
        let Some(number) = decimal(name) else {
            return Err(NameError::Unknown {
                name: name.chars().take(64).collect(),
                known: table.numbers.keys().take(LISTED).cloned().collect(),
            });
        };
        match table.names.get(&number) {
            None => Ok(number),
            Some(name) => Err(NameError::Named {
                number,
                name: name.clone(),
            }),
        }
    }

    /// The name of a number.
    #[must_use]
    pub fn name(&self, number: u32) -> String {
        let table = self.read();
        let name = table.names.get(&number).cloned();
        name.unwrap_or_else(|| number.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_number_has_one_name_and_every_name_one_number() {
        let names = PortNames::default();
        let bind = |port, interface| names.set(PortId::new(port), interface);
        bind(1, Some("Ethernet0"));
        bind(2, Some("3"));
        bind(4, None);
        for (number, name) in [(1, "Ethernet0"), (2, "2"), (3, "3"), (4, "4"), (500, "500")] {
            assert_eq!(names.name(number), name);
            assert_eq!(names.number(name), Ok(number), "{name}");
        }
        for wrong in ["", "1", "01", "+2", "Ethernet4", "4294967296", "-1", " 2"] {
            assert!(names.number(wrong).is_err(), "{wrong}");
        }
        // The name moves with the interface.
        bind(7, Some("Ethernet0"));
        assert_eq!(names.number("Ethernet0"), Ok(7));
        assert_eq!((names.name(1), names.number("1")), ("1".to_owned(), Ok(1)));
        bind(7, Some("Ethernet8"));
        assert!(names.number("Ethernet0").is_err());
        bind(7, None);
        assert_eq!(names.number("7"), Ok(7));
        assert!(names.number("Ethernet8").is_err());
    }
}
