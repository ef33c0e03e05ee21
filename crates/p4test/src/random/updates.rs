//! Random updates of a program's tables, profiles, replication, externs and value sets.

use std::sync::Arc;

use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::MeterConfig;
use p4exec::state::{CloneSession, ExternState, Replica};
use p4exec::tables::{
    ActionCall, EntryAction, EntryOptions, EntryPriority, FieldMatch, GroupId, GroupMember,
    KeyField, MatchKind, MemberId, NewEntry, WeightedCall,
};
use p4exec::v1model::scalar_width;
use p4exec::value::Bits;
use p4exec::{RuntimeState, Update};
use p4ir::{ActionScope, ExternId, ExternType, TableId, ValidProgram, ValueSetId};
use packetgen::{Choices, Pool};
use quantities::Bytes;

/// Members and groups of one profile: few, so that some are used twice.
const MEMBERS: usize = 6;
const GROUPS: usize = 3;
/// Cells of an array that are touched; programs index with small numbers.
const CELLS: usize = 16;

/// Makes updates for one program.
#[derive(Clone, Debug)]
pub struct UpdateMaker {
    program: Arc<ValidProgram>,
    /// Key fields of every table.
    tables: Vec<(TableId, Vec<KeyField>)>,
    profiles: Vec<ExternId>,
    arrays: Vec<(ExternId, usize)>,
    value_sets: Vec<(ValueSetId, Vec<KeyField>)>,
    /// Entries that were made, to be changed and removed.
    made: Vec<(TableId, Vec<FieldMatch>, EntryPriority)>,
}

impl UpdateMaker {
    /// For the program of a fresh state.
    #[must_use]
    pub fn new(state: &RuntimeState) -> Self {
        let program = Arc::clone(state.program());
        let tables = state
            .tables()
            .filter(|(id, _)| !program.tables[*id].const_entries)
            .map(|(id, table)| (id, table.layout().fields().to_vec()))
            .collect();
        let of_type = |types: &[ExternType]| -> Vec<ExternId> {
            let externs = program.externs.iter();
            let wanted = externs.filter(|(_, e)| types.contains(&e.ty));
            wanted.map(|(id, _)| id).collect()
        };
        let size = |id: &ExternId| match state.extern_state(*id) {
            Some(ExternState::Counter(array)) => array.cells.len(),
            Some(ExternState::Meter(array)) => array.cells.len(),
            Some(ExternState::Register(array)) => array.size(),
            _ => 0,
        };
        let arrays = of_type(&[ExternType::Counter, ExternType::Meter, ExternType::Register]);
        let arrays = arrays.into_iter().map(|id| (id, size(&id).min(CELLS)));
        let value_set = |(id, set): (ValueSetId, &p4ir::ValueSet)| {
            let fields = set.fields.iter().map(|field| KeyField {
                name: field.name.clone(),
                width: scalar_width(&program, field.ty),
                kind: field.kind.matched().unwrap_or(MatchKind::Exact),
            });
            (id, fields.collect())
        };
        Self {
            tables,
            profiles: of_type(&[ExternType::ActionProfile, ExternType::ActionSelector]),
            arrays: arrays.filter(|(_, size)| *size > 0).collect(),
            value_sets: program.value_sets.iter().map(value_set).collect(),
            made: Vec::new(),
            program,
        }
    }

    /// What later updates refer to: most members and groups of the profiles, and replication.
    pub fn basics(&self, pool: &Pool, choices: &mut Choices<'_>) -> Vec<Update> {
        let mut updates = Vec::new();
        for profile in &self.profiles {
            let tables = self.program.tables.iter();
            let mut of = tables.filter(|(_, t)| t.implementation == Some(*profile));
            let Some((table, _)) = of.next() else {
                continue;
            };
            let mut members = Vec::new();
            for id in 1..=MEMBERS as u32 {
                let call = self.call(table, ActionScope::DefaultOnly, pool, choices);
                if let Some(call) = call.filter(|_| !choices.one_in(4)) {
                    let member = MemberId(id);
                    members.push(member);
                    updates.push(Update::InsertMember {
                        profile: *profile,
                        member,
                        call,
                    });
                }
            }
            if self.program.externs[*profile].ty != ExternType::ActionSelector {
                continue;
            }
            for id in 1..=GROUPS as u32 {
                let of_group = members.iter().filter(|_| choices.one_in(2)).copied();
                let of_group: Vec<MemberId> = of_group.collect();
                let members = of_group.into_iter().map(|member| GroupMember {
                    member,
                    weight: 1 + choices.below(3) as u32,
                    watch_port: choices.one_in(3).then(|| Pool::few_ports(choices)),
                });
                updates.push(Update::InsertGroup {
                    profile: *profile,
                    group: GroupId(id),
                    members: members.collect(),
                });
            }
        }
        let count = choices.below(8);
        updates.extend((0..count).map(|_| replication(choices)));
        updates
    }

    /// An update. Some are refused, for that too must not differ.
    pub fn update(&mut self, pool: &Pool, choices: &mut Choices<'_>) -> Update {
        for _ in 0..8 {
            let made = match choices.below(16) {
                0..=7 => self.insert(pool, choices),
                8 => self.modify(pool, choices),
                9 => self.delete(choices),
                10 => self.default_action(pool, choices),
                11 | 12 => self.profile(pool, choices),
                13 => self.array(pool, choices),
                14 => self.value_set(pool, choices),
                _ => Some(replication(choices)),
            };
            if let Some(update) = made {
                return update;
            }
        }
        replication(choices)
    }

    fn insert(&mut self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let (table, fields) = choices.pick(&self.tables)?.clone();
        let key: Vec<FieldMatch> = fields
            .iter()
            .map(|field| field_match(field, pool, choices))
            .collect();
        let priority = EntryPriority(1 + choices.below(6) as i32);
        let action = self.entry_action(table, pool, choices)?;
        if self.made.len() < 4096 {
            self.made.push((table, key.clone(), priority));
        }
        let entry = NewEntry {
            key,
            priority,
            action,
            is_const: false,
            options: EntryOptions::default(),
        };
        Some(Update::InsertEntry { table, entry })
    }

    fn modify(&self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let (table, key, priority) = choices.pick(&self.made)?.clone();
        let action = self.entry_action(table, pool, choices)?;
        Some(Update::ModifyEntry {
            table,
            key,
            priority,
            action,
            options: None,
        })
    }

    fn delete(&mut self, choices: &mut Choices<'_>) -> Option<Update> {
        let index = choices.below(self.made.len());
        let known = index < self.made.len();
        let (table, key, priority) = known.then(|| self.made.swap_remove(index))?;
        Some(Update::DeleteEntry {
            table,
            key,
            priority,
        })
    }

    fn default_action(&self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let table = choices.pick(&self.tables)?.0;
        let call = match choices.below(4) {
            0 => None,
            _ => Some(self.call(table, ActionScope::TableOnly, pool, choices)?),
        };
        Some(Update::SetDefault { table, call })
    }

    /// An action of a table that its scope does not forbid here.
    fn call(
        &self,
        table: TableId,
        forbidden: ActionScope,
        pool: &Pool,
        choices: &mut Choices<'_>,
    ) -> Option<ActionCall> {
        let actions = self.program.tables[table].actions.iter();
        let allowed: Vec<_> = actions
            .filter(|a| a.scope != forbidden)
            .map(|a| a.action)
            .collect();
        let action = *choices.pick(&allowed)?;
        let params = self.program.actions[action].data_params();
        let args = params.map(|param| {
            let width = scalar_width(&self.program, self.program.vars[param.var].ty);
            pool.argument(choices, width)
        });
        let args = args.collect();
        Some(ActionCall { action, args })
    }

    fn entry_action(
        &self,
        table: TableId,
        pool: &Pool,
        choices: &mut Choices<'_>,
    ) -> Option<EntryAction> {
        let Some(profile) = self.program.tables[table].implementation else {
            let call = self.call(table, ActionScope::DefaultOnly, pool, choices)?;
            return Some(EntryAction::Call(call));
        };
        let selector = self.program.externs[profile].ty == ExternType::ActionSelector;
        Some(match choices.below(6) {
            0 | 1 if selector => EntryAction::Group(group(choices)),
            2 if selector => {
                let calls = (0..=choices.below(4)).map(|_| {
                    Some(WeightedCall {
                        call: self.call(table, ActionScope::DefaultOnly, pool, choices)?,
                        weight: 1 + choices.below(3) as u32,
                        watch_port: choices.one_in(3).then(|| Pool::few_ports(choices)),
                    })
                });
                EntryAction::OneShot(calls.collect::<Option<_>>()?)
            }
            _ => EntryAction::Member(member(choices)),
        })
    }

    fn profile(&self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let profile = *choices.pick(&self.profiles)?;
        let tables = self.program.tables.iter();
        let of = |(_, t): &(TableId, &p4ir::Table)| t.implementation == Some(profile);
        let (table, _) = tables.into_iter().find(of)?;
        let members = |choices: &mut Choices<'_>| -> Vec<GroupMember> {
            (0..choices.below(MEMBERS))
                .map(|_| GroupMember {
                    member: member(choices),
                    weight: 1 + choices.below(3) as u32,
                    watch_port: choices.one_in(3).then(|| Pool::few_ports(choices)),
                })
                .collect()
        };
        Some(match choices.below(12) {
            0..=4 => Update::InsertMember {
                profile,
                member: member(choices),
                call: self.call(table, ActionScope::DefaultOnly, pool, choices)?,
            },
            5 | 6 => Update::ModifyMember {
                profile,
                member: member(choices),
                call: self.call(table, ActionScope::DefaultOnly, pool, choices)?,
            },
            7 => Update::DeleteMember {
                profile,
                member: member(choices),
            },
            8 | 9 => Update::InsertGroup {
                profile,
                group: group(choices),
                members: members(choices),
            },
            10 => Update::ModifyGroup {
                profile,
                group: group(choices),
                members: members(choices),
            },
            _ => Update::DeleteGroup {
                profile,
                group: group(choices),
            },
        })
    }

    fn array(&self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let (id, size) = *choices.pick(&self.arrays)?;
        let index = choices.below(size);
        let instance = &self.program.externs[id];
        Some(match instance.ty {
            ExternType::Counter => Update::SetCounter {
                counter: id,
                index,
                value: CounterCell {
                    packets: choices.below(1000) as u64,
                    bytes: Bytes::new(choices.below(100_000) as u64),
                },
            },
            ExternType::Meter => Update::SetMeter {
                meter: id,
                index,
                config: (!choices.one_in(4)).then(|| meter(choices)),
            },
            _ => {
                let width = instance
                    .type_args
                    .first()
                    .map_or(0, |ty| scalar_width(&self.program, *ty));
                let value = pool.value(choices, width);
                (width > 0).then_some(Update::SetRegister {
                    register: id,
                    index,
                    value,
                })?
            }
        })
    }

    fn value_set(&self, pool: &Pool, choices: &mut Choices<'_>) -> Option<Update> {
        let (set, fields) = choices.pick(&self.value_sets)?;
        let member = |choices: &mut Choices<'_>| {
            let fields = fields.iter();
            fields.map(|f| field_match(f, pool, choices)).collect()
        };
        let count = choices.below(5);
        let members = (0..count).map(|_| member(choices)).collect();
        Some(Update::SetValueSet { set: *set, members })
    }

    /// Tables that take entries.
    #[must_use]
    pub const fn tables(&self) -> usize {
        self.tables.len()
    }
}

fn member(choices: &mut Choices<'_>) -> MemberId {
    MemberId(1 + choices.below(MEMBERS) as u32)
}

fn group(choices: &mut Choices<'_>) -> GroupId {
    GroupId(1 + choices.below(GROUPS) as u32)
}

/// Rates that packets microseconds to milliseconds apart exceed now and then.
fn meter(choices: &mut Choices<'_>) -> MeterConfig {
    let cir = 1 + choices.below(100_000) as u64;
    let cburst = 1 + choices.below(200) as u64;
    MeterConfig {
        cir,
        cburst,
        pir: cir + choices.below(100_000) as u64,
        pburst: cburst + choices.below(2000) as u64,
    }
}

fn replicas(choices: &mut Choices<'_>) -> Vec<Replica> {
    (0..choices.below(4))
        .map(|_| Replica {
            port: Pool::few_ports(choices),
            rid: choices.below(4) as u16,
        })
        .collect()
}

fn replication(choices: &mut Choices<'_>) -> Update {
    let small = |choices: &mut Choices<'_>| 1 + choices.below(8) as u16;
    if choices.one_in(2) {
        let group = small(choices);
        let replicas = (!choices.one_in(6)).then(|| replicas(choices));
        return Update::SetMulticastGroup { group, replicas };
    }
    let ids = [1, 2, 3, 4, 5, 100, 500, 510];
    let session = choices.pick(&ids).copied().unwrap_or(1);
    let config = (!choices.one_in(6)).then(|| CloneSession {
        replicas: replicas(choices),
        multicast_group: choices.one_in(4).then(|| small(choices)),
        truncate_to: choices.one_in(3).then(|| choices.below(100) as u32),
    });
    Update::SetCloneSession { session, config }
}

fn field_match(field: &KeyField, pool: &Pool, choices: &mut Choices<'_>) -> FieldMatch {
    let width = field.width;
    if choices.one_in(4)
        && let Some(any) = FieldMatch::any(field.kind, width)
    {
        return any;
    }
    let value = pool.value(choices, width);
    match field.kind {
        MatchKind::Exact => FieldMatch::Exact(value),
        MatchKind::Optional => FieldMatch::Optional(Some(value)),
        MatchKind::Lpm => {
            let prefix_len = choices.below(width as usize + 1) as u32;
            FieldMatch::Lpm {
                value: value.and(&Bits::prefix_mask(width, prefix_len)),
                prefix_len,
            }
        }
        MatchKind::Ternary => {
            let mask = match choices.below(3) {
                0 => Bits::ones(width),
                1 => Bits::prefix_mask(width, choices.below(width as usize + 1) as u32),
                _ => pool.value(choices, width),
            };
            FieldMatch::Ternary {
                value: value.and(&mask),
                mask,
            }
        }
        MatchKind::Range => {
            let other = pool.value(choices, width);
            let (low, high) = if value.cmp_unsigned(&other).is_le() {
                (value, other)
            } else {
                (other, value)
            };
            FieldMatch::Range { low, high }
        }
    }
}
