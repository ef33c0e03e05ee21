//! Epochs of tables: between which changes what was kept of look-ups holds.

use p4ir::TableId;

use crate::state::{RuntimeState, TableCells};
use crate::tables::Table;
use crate::tables::revision::Revision;

/// A number for what the look-ups of a table come to. It grows whenever that may have changed:
/// what was kept at another epoch does not hold. The first one is 1.
pub(super) type Epoch = u64;

/// A store of what look-ups come to.
pub(super) trait LookupCache {
    /// Begins an epoch of a table.
    fn renew(&mut self, changed: &Changed<'_>);
}

/// A table whose look-ups may come to something else than before.
pub(super) struct Changed<'a> {
    /// Its number.
    pub(super) id: TableId,
    /// Itself.
    pub(super) table: &'a Table,
    /// The state that it is in.
    pub(super) state: &'a RuntimeState,
    /// What its look-ups depend on besides.
    pub(super) basis: Basis,
    /// The epoch that begins.
    pub(super) epoch: Epoch,
}

/// What the look-ups of a table depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    table: Revision,
    /// Where its rows and its default row are.
    rows: (usize, usize),
    /// Its profile and the ports, if it has a profile.
    choice: Option<(Revision, Revision)>,
    /// Whether look-ups change something: counters, meters, registers or times of entries.
    pub(super) leaves_marks: bool,
    /// Whether first look-ups are made ahead.
    pub(super) looks_ahead: bool,
}

impl Basis {
    pub(super) fn of(
        (id, table): (TableId, &Table),
        state: &RuntimeState,
        looks_ahead: bool,
    ) -> Self {
        let RuntimeState { control, data } = state;
        let profile = control.program().tables[id].implementation;
        let profile = profile.and_then(|profile| control.profile_state(profile).ok());
        let default_row = table.default_row().map_or(0, |row| row.as_ptr().addr());
        Self {
            table: table.revision(),
            rows: (table.rows_at(), default_row),
            choice: profile.map(|p| (p.profile.revision(), data.ports_revision())),
            leaves_marks: data.cells(id).is_some_and(TableCells::keeps),
            looks_ahead,
        }
    }
}

/// The epochs of the tables of a program.
pub(super) struct Epochs {
    /// By table: what its look-ups depend on in this epoch, if one has begun.
    tables: Vec<(Option<Basis>, Epoch)>,
}

impl Epochs {
    pub(super) fn new(tables: usize) -> Self {
        Self {
            tables: vec![(None, 0); tables],
        }
    }

    /// The epoch that begins because a table's look-ups depend on something else than before;
    /// `None` if they do not.
    pub(super) fn begin(&mut self, table: usize, basis: Basis) -> Option<Epoch> {
        let (known, epoch) = &mut self.tables[table];
        if known.replace(basis) == Some(basis) {
            return None;
        }
        *epoch += 1;
        Some(*epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_begins_when_anything_that_look_ups_depend_on_changes() {
        let basis = Basis {
            table: Revision::new(),
            rows: (1, 2),
            choice: None,
            leaves_marks: false,
            looks_ahead: false,
        };
        let mut epochs = Epochs::new(2);
        assert_eq!(epochs.begin(0, basis), Some(1));
        assert_eq!(epochs.begin(0, basis), None);
        let table = Revision::new();
        let choice = Some((Revision::new(), Revision::new()));
        let other_ports = choice.map(|(profile, _)| (profile, Revision::new()));
        let changes: [Basis; 8] = [
            Basis { table, ..basis },
            Basis {
                rows: (3, 2),
                ..basis
            },
            Basis {
                rows: (1, 3),
                ..basis
            },
            Basis { choice, ..basis },
            Basis {
                choice: other_ports,
                ..basis
            },
            Basis {
                leaves_marks: true,
                ..basis
            },
            Basis {
                looks_ahead: true,
                ..basis
            },
            // Back to what it was: what was kept then was thrown away.
            basis,
        ];
        for (epoch, basis) in (2..).zip(changes) {
            assert_eq!(epochs.begin(0, basis), Some(epoch));
            assert_eq!(epochs.begin(0, basis), None);
        }
        assert_eq!(epochs.begin(1, basis), Some(1), "of each table by itself");
    }
}
