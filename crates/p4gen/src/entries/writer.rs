//! Builds a switch's entries by the layout of its program: every name is looked up and every value
//! measured as it is written down.

use entries::{Bits, Bytestring as _};

use super::{FieldMatch, Key, NamedAction, NamedCall, Problem, SwitchEntries, TableEntry};
use crate::layout::{Layout, Table};

/// The entries of a switch in the making.
pub(crate) struct Writer<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) entries: SwitchEntries,
}

impl<'a> Writer<'a> {
    /// Entries for a program with this layout.
    pub(crate) fn new(layout: &'a Layout, switch: &str) -> Self {
        Self {
            layout,
            entries: SwitchEntries {
                switch: switch.to_owned(),
                ..Default::default()
            },
        }
    }

    pub(crate) fn table(&self, name: &str) -> Result<&Table, Problem> {
        self.layout
            .table(name)
            .ok_or_else(|| Problem::missing(format!("there is no table {name}")))
    }

    pub(crate) fn value(&self, name: &str, field: &str, value: u128) -> Result<Bits, Problem> {
        let missing = || Problem::missing(format!("{name} has no key {field}"));
        let field = self.table(name)?.field(field).ok_or_else(missing)?;
        Bits::from_uint(value, field.bits.into())
            .map_err(|source| Problem::value(field.name, name, source))
    }

    /// A ternary key; none where no bit counts.
    pub(crate) fn ternary(
        &self,
        name: &str,
        field: &'static str,
        value: u128,
        mask: u128,
    ) -> Result<Option<Key>, Problem> {
        let value = self.value(name, field, value)?;
        let mask = self.value(name, field, mask)?;
        Ok(FieldMatch::ternary(&value, mask).map(|value| Key {
            field: field.into(),
            value,
        }))
    }

    pub(crate) fn exact(
        &self,
        name: &str,
        field: &'static str,
        value: impl Into<u128>,
    ) -> Result<Key, Problem> {
        let value = FieldMatch::Exact(self.value(name, field, value.into())?);
        Ok(Key {
            field: field.into(),
            value,
        })
    }

    /// An action with values for its parameters, in order.
    pub(crate) fn call(&self, name: &'static str, values: &[u128]) -> Result<NamedCall, Problem> {
        let missing = || Problem::missing(format!("there is no action {name}"));
        let action = self.layout.action(name).ok_or_else(missing)?;
        if action.params.len() != values.len() {
            return Err(Problem::missing(format!(
                "{name} has {} parameters, not {}",
                action.params.len(),
                values.len()
            )));
        }
        let mut params = Vec::with_capacity(values.len());
        for (param, &value) in action.params.iter().zip(values) {
            let value = Bits::from_uint(value, param.bits.into())
                .map_err(|source| Problem::value(param.name, name, source))?;
            params.push((param.name.into(), value));
        }
        Ok(NamedCall {
            action: name.into(),
            params,
        })
    }

    /// An entry that does this.
    pub(crate) fn add(
        &mut self,
        table: &'static str,
        keys: Vec<Key>,
        priority: Option<i32>,
        call: NamedCall,
    ) {
        self.push(table, keys, priority, NamedAction::Call(call));
    }

    /// An entry.
    pub(crate) fn push(
        &mut self,
        table: &'static str,
        keys: Vec<Key>,
        priority: Option<i32>,
        action: NamedAction,
    ) {
        let entry = TableEntry {
            table: table.into(),
            keys,
            priority,
            action,
            is_default: false,
        };
        self.entries.tables.push(entry);
    }
}

/// A MAC address as a number.
pub(crate) fn number(mac: [u8; 6]) -> u128 {
    mac.iter()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}
