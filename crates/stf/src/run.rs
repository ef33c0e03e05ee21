//! Plays a case on an executor and says where they differ.

mod ours;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use entries::Catalog;
use p4exec::externs::counter::CounterCell;
use p4exec::externs::digest::Digest;
use p4exec::state::{CloneSession, ExternConfig, Replica};
use p4exec::tables::{ActionCall, EntryHandle, GroupId, GroupMember, MemberId};
use p4exec::value::Bits;
use p4exec::{Executor, Outputs, RuntimeState, Update};
use p4ir::{Entity as _, ExternId, ExternType, TableId};
use quantities::{Bytes, Nanos, PortId};

use crate::case::{
    ActionText, Case, CellName, CounterPart, EntryText, GroupMemberText, Match, Pattern, Statement,
};
use crate::compare::{Failure, compare_port};
use crate::names;
use crate::translate::{self, meter_config};

/// Time between two statements.
const TICK: u64 = 1_000_000;

/// Plays a case. Packets are compared as p4c's BMv2 runner does it: per port, in order, all of
/// them, on the ports that the case names. A failing statement does not stop the case.
pub fn run(case: &Case, executor: &mut dyn Executor) -> Result<(), Vec<Failure>> {
    let catalog = Catalog::of_program(executor.state().program());
    let mut run = Run {
        executor,
        catalog,
        now: TICK,
        nodes: Vec::new(),
        groups: BTreeMap::new(),
        entries: BTreeMap::new(),
        sent: BTreeMap::new(),
        queues: BTreeMap::new(),
        digests: VecDeque::new(),
        failures: Vec::new(),
    };
    let mut expected: BTreeMap<u16, Vec<(usize, Option<&Pattern>)>> = BTreeMap::new();
    let mut ports = BTreeSet::new();
    for (line, statement) in &case.statements {
        match statement {
            Statement::Expect { port, pattern } => {
                ports.insert(*port);
                expected
                    .entry(*port)
                    .or_default()
                    .push((*line, pattern.as_ref()));
            }
            Statement::Packet { port, .. } => {
                ports.insert(*port);
            }
            _ => {}
        }
        if let Err(message) = run.statement(statement) {
            run.failures.push(Failure {
                line: *line,
                message,
            });
        }
        run.now += TICK;
    }
    for port in ports {
        let wanted = expected.remove(&port).unwrap_or_default();
        let got = run.sent.remove(&port).unwrap_or_default();
        compare_port(port, &wanted, &got, &mut run.failures);
    }
    if run.failures.is_empty() {
        Ok(())
    } else {
        Err(run.failures)
    }
}

struct Run<'e> {
    executor: &'e mut dyn Executor,
    /// What entries can name.
    catalog: Catalog,
    now: u64,
    /// Multicast nodes: replication id and ports.
    nodes: Vec<(u16, Vec<u16>)>,
    /// Nodes of each multicast group.
    groups: BTreeMap<u16, Vec<usize>>,
    /// Entries that were given a name.
    entries: BTreeMap<String, (TableId, EntryHandle)>,
    sent: BTreeMap<u16, Vec<Vec<u8>>>,
    /// The queue of the last packet out of each port.
    queues: BTreeMap<u16, u8>,
    /// Messages fetched and not checked yet.
    digests: VecDeque<Digest>,
    failures: Vec<Failure>,
}

fn show<E: fmt::Display>(error: E) -> String {
    error.to_string()
}

impl Run<'_> {
    const fn now(&self) -> Nanos {
        Nanos::new(self.now)
    }

    fn state(&self) -> &RuntimeState {
        self.executor.state()
    }

    fn apply(&mut self, update: Update) -> Result<(), String> {
        let now = self.now();
        self.executor.state_mut().apply(update, now).map_err(show)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::Expect { .. } => Ok(()),
            Statement::Packet { port, bytes } => {
                let mut out = Outputs::default();
                self.executor
                    .process(Nanos::new(self.now), bytes, PortId::new(*port), &mut out);
                for output in out.sent {
                    let port = output.port.get();
                    self.queues.insert(port, output.metadata.queue);
                    self.sent.entry(port).or_default().push(output.bytes);
                }
                Ok(())
            }
            Statement::NoPacket => match self.sent.values().map(Vec::len).sum() {
                0 => Ok(()),
                n => Err(format!("{n} packets came out")),
            },
            Statement::Wait { milliseconds } => {
                self.now += milliseconds.saturating_mul(1_000_000);
                Ok(())
            }
            Statement::Port { port, up } => {
                self.executor
                    .state_mut()
                    .set_port_up(PortId::new(*port), *up);
                Ok(())
            }
            Statement::Add {
                table,
                priority,
                key,
                action,
                id,
            } => self.add(table, *priority, key, action, id.as_deref()),
            Statement::SetDefault { table, action } => {
                let table = names::table(self.state(), table)?;
                let call = Some(self.call(table, action, true)?);
                self.apply(Update::SetDefault { table, call })
            }
            Statement::RemoveAll => {
                let tables: Vec<TableId> = self.state().tables().map(|(id, _)| id).collect();
                let state = self.executor.state_mut();
                tables
                    .into_iter()
                    .try_for_each(|id| state.clear_table(id))
                    .map_err(show)
            }
            Statement::Member {
                profile,
                id,
                action,
            } => self.member(profile, *id, action),
            Statement::Group {
                profile,
                id,
                members,
            } => self.group(profile, *id, members),
            Statement::MulticastGroup { .. }
            | Statement::MulticastNode { .. }
            | Statement::MulticastNodeUpdate { .. }
            | Statement::MulticastAssociate { .. } => self.multicast(statement),
            Statement::Mirror { .. }
            | Statement::MirrorGroup { .. }
            | Statement::MirrorDelete { .. }
            | Statement::MirrorGet { .. } => self.mirror(statement),
            Statement::ValueSet { .. }
            | Statement::CheckDigest { .. }
            | Statement::NoDigest
            | Statement::CheckQueue { .. } => self.ours(statement),
            _ => self.object(statement),
        }
    }

    fn call(&self, table: TableId, text: &ActionText, default: bool) -> Result<ActionCall, String> {
        let call = translate::call(self.state(), table, text)?;
        let shape = &self.catalog.tables[table.index()];
        let call = self.catalog.call(shape, &call, default).map_err(show)?;
        Ok(call.call())
    }

    fn add(
        &mut self,
        table: &str,
        priority: Option<i32>,
        key: &[(String, Match)],
        action: &EntryText,
        id: Option<&str>,
    ) -> Result<(), String> {
        let table = names::table(self.state(), table)?;
        let entry = translate::entry(self.state(), table, priority, key, action)?;
        let entry = self.catalog.resolve_entry(&entry).map_err(show)?;
        let entry = entry.entry().map_err(show)?;
        let now = self.now();
        let handle = self
            .executor
            .state_mut()
            .insert_entry(table, entry, now)
            .map_err(show)?;
        if let Some(id) = id {
            self.entries.insert(id.to_owned(), (table, handle));
        }
        Ok(())
    }

    fn profile(&self, name: &str) -> Result<(ExternId, TableId), String> {
        let types = [ExternType::ActionSelector, ExternType::ActionProfile];
        let id = names::object(self.state(), &types, name)?;
        let mut tables = self.state().program().tables.iter();
        match tables.find(|(_, t)| t.implementation == Some(id)) {
            Some((table, _)) => Ok((id, table)),
            None => Err(format!("no table uses action profile `{name}`")),
        }
    }

    fn member(&mut self, profile: &str, id: u32, action: &ActionText) -> Result<(), String> {
        let (profile, table) = self.profile(profile)?;
        let call = self.call(table, action, false)?;
        self.apply(Update::InsertMember {
            profile,
            member: MemberId(id),
            call,
        })
    }

    fn group(&mut self, name: &str, id: u32, members: &[GroupMemberText]) -> Result<(), String> {
        let (profile, _) = self.profile(name)?;
        let members = members
            .iter()
            .map(|m| GroupMember {
                member: MemberId(m.member),
                weight: m.weight,
                watch_port: m.watch_port.map(PortId::new),
            })
            .collect();
        self.apply(Update::InsertGroup {
            profile,
            group: GroupId(id),
            members,
        })
    }

    fn multicast(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::MulticastGroup { group } => {
                self.groups.insert(*group, Vec::new());
            }
            Statement::MulticastNode { rid, ports } => self.nodes.push((*rid, ports.clone())),
            Statement::MulticastNodeUpdate { node, ports } => match self.nodes.get_mut(*node) {
                Some(place) => place.1.clone_from(ports),
                None => return Err(format!("there is no multicast node {node}")),
            },
            Statement::MulticastAssociate { group, node } => {
                if *node >= self.nodes.len() {
                    return Err(format!("there is no multicast node {node}"));
                }
                match self.groups.get_mut(group) {
                    Some(nodes) => nodes.push(*node),
                    None => return Err(format!("there is no multicast group {group}")),
                }
            }
            _ => {}
        }
        let groups: Vec<(u16, Vec<Replica>)> = self
            .groups
            .iter()
            .map(|(group, nodes)| (*group, self.replicas(nodes)))
            .collect();
        for (group, replicas) in groups {
            self.apply(Update::SetMulticastGroup {
                group,
                replicas: Some(replicas),
            })?;
        }
        Ok(())
    }

    /// The copies of some nodes: node by node, ports rising.
    fn replicas(&self, nodes: &[usize]) -> Vec<Replica> {
        let of = |node: &usize| {
            let (rid, ports) = &self.nodes[*node];
            let ports: BTreeSet<u16> = ports.iter().copied().collect();
            let rid = *rid;
            ports.into_iter().map(move |port| Replica {
                port: PortId::new(port),
                rid,
            })
        };
        nodes.iter().flat_map(of).collect()
    }

    fn mirror(&mut self, statement: &Statement) -> Result<(), String> {
        let (session, config) = match statement {
            Statement::Mirror { session, port } => {
                let replicas = vec![Replica {
                    port: PortId::new(*port),
                    rid: 0,
                }];
                (
                    *session,
                    Some(CloneSession {
                        replicas,
                        ..CloneSession::default()
                    }),
                )
            }
            Statement::MirrorGroup { session, group } => {
                let multicast_group = Some(*group);
                (
                    *session,
                    Some(CloneSession {
                        multicast_group,
                        ..CloneSession::default()
                    }),
                )
            }
            Statement::MirrorDelete { session } => (*session, None),
            Statement::MirrorGet { session } => {
                return match self.state().replication().session(*session) {
                    Some(_) => Ok(()),
                    None => Err(format!("there is no clone session {session}")),
                };
            }
            _ => return Ok(()),
        };
        self.apply(Update::SetCloneSession { session, config })
    }

    fn object(&mut self, statement: &Statement) -> Result<(), String> {
        let find = |ty: ExternType, name: &str| names::object(self.state(), &[ty], name);
        match statement {
            Statement::CounterRead { counter, index } => self
                .counter_cell(counter, &CellName::Index(*index))
                .map(|_| ()),
            Statement::CounterWrite {
                counter,
                index,
                packets,
                bytes,
            } => {
                let counter = find(ExternType::Counter, counter)?;
                let value = CounterCell {
                    packets: *packets,
                    bytes: Bytes::new(*bytes),
                };
                self.apply(Update::SetCounter {
                    counter,
                    index: *index,
                    value,
                })
            }
            Statement::CheckCounter {
                counter,
                cell,
                check,
            } => {
                let found = self.counter_cell(counter, cell)?;
                let Some((part, comparison, wanted)) = check else {
                    return Ok(());
                };
                let value = match part {
                    CounterPart::Packets => found.packets,
                    CounterPart::Bytes => found.bytes.get(),
                };
                if comparison.holds(value, *wanted) {
                    return Ok(());
                }
                Err(format!(
                    "counter `{counter}` is {value}, not {comparison} {wanted}"
                ))
            }
            Statement::RegisterRead { register, index } => {
                self.register_cell(register, *index).map(|_| ())
            }
            Statement::CheckRegister {
                register,
                index,
                comparison,
                value,
            } => {
                let found = self.register_cell(register, *index)?;
                if found
                    .to_u64()
                    .is_some_and(|found| comparison.holds(found, *value))
                {
                    return Ok(());
                }
                Err(format!(
                    "register `{register}` is {found}, not {comparison} {value}"
                ))
            }
            Statement::RegisterWrite {
                register,
                index,
                value,
            } => {
                let register = find(ExternType::Register, register)?;
                let width = self.state().register(register).map_err(show)?.width;
                let value = Bits::from_biguint(width, &value.value);
                self.apply(Update::SetRegister {
                    register,
                    index: *index,
                    value,
                })
            }
            Statement::RegisterReset { register } => {
                let register = find(ExternType::Register, register)?;
                let array = self.state().register(register).map_err(show)?;
                let (size, value) = (array.size(), Bits::zero(array.width));
                (0..size).try_for_each(|index| {
                    self.apply(Update::SetRegister {
                        register,
                        index,
                        value: value.clone(),
                    })
                })
            }
            Statement::MeterGetRates { meter, index } => {
                let id = find(ExternType::Meter, meter)?;
                let size = self.state().meter(id).map_err(show)?.cells.len();
                if *index < size {
                    Ok(())
                } else {
                    Err(format!("`{meter}` has {size} cells"))
                }
            }
            Statement::MeterSetRates {
                meter,
                index,
                rates,
            } => {
                let meter = find(ExternType::Meter, meter)?;
                let config = Some(meter_config(rates)?);
                let size = self.state().meter(meter).map_err(show)?.cells.len();
                let mut cells = match index {
                    Some(index) => *index..*index + 1,
                    None => 0..size,
                };
                cells.try_for_each(|index| {
                    self.apply(Update::SetMeter {
                        meter,
                        index,
                        config,
                    })
                })
            }
            _ => Ok(()),
        }
    }

    fn counter_cell(&self, name: &str, cell: &CellName) -> Result<CounterCell, String> {
        let state = self.state();
        match cell {
            CellName::Index(index) => {
                let id = names::object(state, &[ExternType::Counter], name)?;
                let cells = &state.counter(id).map_err(show)?.cells;
                let missing = || format!("counter `{name}` has {} cells", cells.len());
                cells.get(*index).copied().ok_or_else(missing)
            }
            CellName::Entry(entry) => {
                let id = names::object(state, &[ExternType::DirectCounter], name)?;
                let known = self.entries.get(entry);
                let (table, handle) =
                    known.ok_or_else(|| format!("no entry was called `{entry}`"))?;
                let bound = state.program().tables[*table].direct.contains(&id)
                    && matches!(
                        state.extern_config(id),
                        Some(ExternConfig::DirectCounter(_))
                    );
                let entry = state.table(*table).map_err(show)?.view(*handle);
                let cells = state.cells(*table).map_err(show)?;
                match entry.filter(|_| bound) {
                    Some(entry) => Ok(cells.counter(Some(entry.handle().0))),
                    None => Err(format!("`{name}` does not count that entry")),
                }
            }
        }
    }

    fn register_cell(&self, name: &str, index: usize) -> Result<Bits, String> {
        let id = names::object(self.state(), &[ExternType::Register], name)?;
        let array = self.state().register(id).map_err(show)?;
        let missing = || format!("register `{name}` has {} cells", array.size());
        array.read(index).cloned().ok_or_else(missing)
    }
}
