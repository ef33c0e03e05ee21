//! Statements of a case as commands of `simple_switch_CLI`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use entries::Catalog;
use p4exec::RuntimeState;
use p4exec::tables::FieldMatch;
use p4exec::value::Bits;
use p4ir::{Entity as _, ExternType, TableId};

use super::switch::Switch;
use crate::case::{
    ActionText, CellName, Comparison, CounterPart, EntryText, GroupMemberText, Match, Rate,
    Statement,
};
use crate::names;
use crate::translate;

/// BMv2's smallest priority wins; P4Runtime's, and a case's, the largest.
const PRIORITIES: i32 = 10_000;

/// Handles that BMv2 gave to what the case made.
pub(super) struct Commands<'p> {
    state: &'p RuntimeState,
    /// What entries can name.
    catalog: Catalog,
    /// Entries that were given a name.
    entries: BTreeMap<String, (String, u64)>,
    members: BTreeMap<(String, u32), u64>,
    groups: BTreeMap<(String, u32), u64>,
    nodes: Vec<u64>,
}

type Done = Result<(), String>;

impl<'p> Commands<'p> {
    pub(super) fn new(state: &'p RuntimeState) -> Self {
        Self {
            state,
            catalog: Catalog::of_program(state.program()),
            entries: BTreeMap::new(),
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            nodes: Vec::new(),
        }
    }

    /// What of a statement BMv2 has no way to do.
    pub(super) fn inexpressible(&self, statement: &Statement) -> Option<String> {
        match statement {
            Statement::Port { .. } => Some("take a port down".into()),
            Statement::Group { members, .. } => {
                let plain = |m: &GroupMemberText| m.weight == 1 && m.watch_port.is_none();
                let weighted = !members.iter().all(plain);
                weighted.then(|| "weigh members of a group or watch ports".into())
            }
            Statement::Wait { milliseconds } if *milliseconds > 5_000 => {
                Some("be waited for so long".into())
            }
            // `pvs_add` ends a simple_switch that was built with assertions.
            Statement::ValueSet { .. } => Some("fill value sets".into()),
            Statement::CheckDigest { .. } | Statement::NoDigest => {
                Some("show digests on its command line".into())
            }
            Statement::CheckQueue { .. } => Some("show where a packet waited".into()),
            _ => None,
        }
    }

    pub(super) fn run(&mut self, statement: &Statement, switch: &mut Switch) -> Done {
        match statement {
            Statement::Add {
                table,
                priority,
                key,
                action,
                id,
            } => self.add(table, *priority, key, action, id.as_ref(), switch),
            Statement::SetDefault { table, action } => {
                let table = names::table(self.state, table)?;
                let (action, args) = self.call(table, action, true)?;
                let name = self.table_name(table);
                ask(switch, &format!("table_set_default {name} {action} {args}")).map(drop)
            }
            Statement::RemoveAll => {
                let tables: Vec<TableId> = self.state.tables().map(|(id, _)| id).collect();
                for table in tables {
                    let line = format!("table_clear {}", self.table_name(table));
                    ask(switch, &line)?;
                }
                Ok(())
            }
            Statement::Member {
                profile,
                id,
                action,
            } => self.member(profile, *id, action, switch),
            Statement::Group {
                profile,
                id,
                members,
            } => {
                let profile = self.profile(profile)?.0;
                let made = ask(switch, &format!("act_prof_create_group {profile}"))?;
                let group = handle(&made)?;
                self.groups.insert((profile.clone(), *id), group);
                for member in members {
                    let known = self.members.get(&(profile.clone(), member.member));
                    let member = known.ok_or("there is no such member")?;
                    let add = "act_prof_add_member_to_group";
                    ask(switch, &format!("{add} {profile} {member} {group}"))?;
                }
                Ok(())
            }
            Statement::MulticastNode { rid, ports } => {
                let made = ask(switch, &format!("mc_node_create {rid} {}", list(ports)))?;
                self.nodes.push(handle(&made)?);
                Ok(())
            }
            Statement::MulticastNodeUpdate { node, ports } => {
                let node = self.node(*node)?;
                ask(switch, &format!("mc_node_update {node} {}", list(ports))).map(drop)
            }
            Statement::MulticastAssociate { group, node } => {
                let node = self.node(*node)?;
                ask(switch, &format!("mc_node_associate {group} {node}")).map(drop)
            }
            Statement::CheckCounter {
                counter,
                cell,
                check,
            } => self.check_counter(counter, cell, *check, switch),
            other => self.object(other, switch),
        }
    }

    fn object(&self, statement: &Statement, switch: &mut Switch) -> Done {
        let name = |ty: ExternType, name: &str| -> Result<String, String> {
            let id = names::object(self.state, &[ty], name)?;
            Ok(self.state.program().externs[id].name.clone())
        };
        let line = match statement {
            Statement::MulticastGroup { group } => format!("mc_mgrp_create {group}"),
            Statement::Mirror { session, port } => format!("mirroring_add {session} {port}"),
            Statement::MirrorGroup { session, group } => {
                format!("mirroring_add_mc {session} {group}")
            }
            Statement::MirrorDelete { session } => format!("mirroring_delete {session}"),
            Statement::MirrorGet { session } => format!("mirroring_get {session}"),
            Statement::CounterRead { counter, index } => {
                format!(
                    "counter_read {} {index}",
                    name(ExternType::Counter, counter)?
                )
            }
            Statement::CounterWrite {
                counter,
                index,
                packets,
                bytes,
            } => {
                let counter = name(ExternType::Counter, counter)?;
                format!("counter_write {counter} {index} {packets} {bytes}")
            }
            Statement::RegisterRead { register, index } => {
                format!(
                    "register_read {} {index}",
                    name(ExternType::Register, register)?
                )
            }
            Statement::RegisterWrite {
                register,
                index,
                value,
            } => {
                let register = name(ExternType::Register, register)?;
                format!("register_write {register} {index} {}", value.value)
            }
            Statement::RegisterReset { register } => {
                format!("register_reset {}", name(ExternType::Register, register)?)
            }
            Statement::MeterGetRates { meter, index } => {
                format!(
                    "meter_get_rates {} {index}",
                    name(ExternType::Meter, meter)?
                )
            }
            Statement::MeterSetRates {
                meter,
                index,
                rates,
            } => {
                let meter = name(ExternType::Meter, meter)?;
                let rates = rates_text(rates);
                match index {
                    Some(index) => format!("meter_set_rates {meter} {index} {rates}"),
                    None => format!("meter_array_set_rates {meter} {rates}"),
                }
            }
            Statement::CheckRegister {
                register,
                index,
                comparison,
                value,
            } => {
                let register = name(ExternType::Register, register)?;
                let answer = ask(switch, &format!("register_read {register} {index}"))?;
                let found = number_behind(&answer, "]= ").ok_or(answer)?;
                return verdict(
                    &format!("register `{register}`"),
                    found,
                    *comparison,
                    *value,
                );
            }
            _ => return Ok(()),
        };
        ask(switch, &line).map(drop)
    }

    fn table_name(&self, table: TableId) -> &str {
        &self.state.program().tables[table].name
    }

    fn node(&self, node: usize) -> Result<u64, String> {
        let known = self.nodes.get(node).copied();
        known.ok_or_else(|| format!("there is no multicast node {node}"))
    }

    /// The profile of a name and a table that uses it.
    fn profile(&self, name: &str) -> Result<(String, TableId), String> {
        let types = [ExternType::ActionSelector, ExternType::ActionProfile];
        let id = names::object(self.state, &types, name)?;
        let program = self.state.program();
        let mut users = program.tables.iter();
        let user = users.find(|(_, t)| t.implementation == Some(id));
        let (table, _) = user.ok_or_else(|| format!("no table uses `{name}`"))?;
        Ok((program.externs[id].name.clone(), table))
    }

    /// Name and arguments of an action.
    fn call(
        &self,
        table: TableId,
        text: &ActionText,
        default: bool,
    ) -> Result<(String, String), String> {
        let call = translate::call(self.state, table, text)?;
        let shape = &self.catalog.tables[table.index()];
        let call = self.catalog.call(shape, &call, default);
        let call = call.map_err(|e| e.to_string())?;
        let args: Vec<String> = call.args.iter().map(hex).collect();
        Ok((call.action.name.clone(), args.join(" ")))
    }

    fn member(&mut self, profile: &str, id: u32, action: &ActionText, switch: &mut Switch) -> Done {
        let (profile, table) = self.profile(profile)?;
        let (action, args) = self.call(table, action, false)?;
        let line = format!("act_prof_create_member {profile} {action} {args}");
        let made = ask(switch, &line)?;
        self.members.insert((profile, id), handle(&made)?);
        Ok(())
    }

    fn add(
        &mut self,
        table: &str,
        priority: Option<i32>,
        key: &[(String, Match)],
        action: &EntryText,
        id: Option<&String>,
        switch: &mut Switch,
    ) -> Done {
        let id_of_table = names::table(self.state, table)?;
        let entry = translate::entry(self.state, id_of_table, priority, key, action)?;
        let resolved = self
            .catalog
            .resolve_entry(&entry)
            .map_err(|e| e.to_string())?;
        let needs_priority = resolved.table.needs_priority();
        let entry = resolved.entry().map_err(|e| e.to_string())?;
        let key: Vec<String> = entry.key.iter().map(match_text).collect();
        let key = key.join(" ");
        let name = self.table_name(id_of_table);
        let member = |kind: &str, known: Option<&u64>| {
            known
                .copied()
                .ok_or_else(|| format!("there is no such {kind}"))
        };
        let mut line = match action {
            EntryText::Action(text) => {
                let (action, args) = self.call(id_of_table, text, false)?;
                format!("table_add {name} {action} {key} => {args}")
            }
            EntryText::Member(id) => {
                let profile = self.profile_of(id_of_table)?;
                let member = member("member", self.members.get(&(profile, *id)))?;
                format!("table_indirect_add {name} {key} => {member}")
            }
            EntryText::Group(id) => {
                let profile = self.profile_of(id_of_table)?;
                let group = member("group", self.groups.get(&(profile, *id)))?;
                format!("table_indirect_add_with_group {name} {key} => {group}")
            }
        };
        if needs_priority {
            let _ = write!(line, " {}", PRIORITIES - entry.priority.0);
        }
        let made = ask(switch, &line)?;
        if let Some(id) = id {
            let entry = (name.to_owned(), handle(&made)?);
            self.entries.insert(id.clone(), entry);
        }
        Ok(())
    }

    fn profile_of(&self, table: TableId) -> Result<String, String> {
        let program = self.state.program();
        let profile = program.tables[table].implementation;
        let profile = profile.ok_or("the table has no action profile")?;
        Ok(program.externs[profile].name.clone())
    }

    fn check_counter(
        &self,
        counter: &str,
        cell: &CellName,
        check: Option<(CounterPart, Comparison, u64)>,
        switch: &mut Switch,
    ) -> Done {
        let (ty, index) = match cell {
            CellName::Index(index) => (ExternType::Counter, *index as u64),
            CellName::Entry(entry) => {
                let known = self.entries.get(entry);
                let (_, handle) = known.ok_or_else(|| format!("no entry was called `{entry}`"))?;
                (ExternType::DirectCounter, *handle)
            }
        };
        let id = names::object(self.state, &[ty], counter)?;
        let name = &self.state.program().externs[id].name;
        let answer = ask(switch, &format!("counter_read {name} {index}"))?;
        let Some((part, comparison, wanted)) = check else {
            return Ok(());
        };
        // "name[3]= (50 bytes, 1 packets)"
        let label = match part {
            CounterPart::Packets => " bytes, ",
            CounterPart::Bytes => "]= (",
        };
        let found = number_behind(&answer, label).ok_or(answer)?;
        verdict(&format!("counter `{counter}`"), found, comparison, wanted)
    }
}

fn verdict(what: &str, found: u64, comparison: Comparison, wanted: u64) -> Done {
    if comparison.holds(found, wanted) {
        return Ok(());
    }
    Err(format!("{what} is {found}, not {comparison} {wanted}"))
}

/// Runs a command; the words of the command line that mean failure are an error.
pub(super) fn ask(switch: &mut Switch, line: &str) -> Result<String, String> {
    let answer = switch.command(line).map_err(|e| e.to_string())?;
    let bad = ["Error", "Invalid", "Unknown", "*** "];
    if bad.iter().any(|word| answer.contains(word)) {
        return Err(format!("`{line}`: {}", answer.trim()));
    }
    Ok(answer)
}

/// The handle in an answer such as "Entry has been added with handle 3".
fn handle(answer: &str) -> Result<u64, String> {
    number_behind(answer, "handle ")
        .or_else(|| number_behind(answer, "handle: "))
        .ok_or_else(|| format!("no handle in `{}`", answer.trim()))
}

fn number_behind(answer: &str, label: &str) -> Option<u64> {
    let (_, rest) = answer.split_once(label)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn list(ports: &[u16]) -> String {
    let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    ports.join(" ")
}

fn rates_text(rates: &[Rate]) -> String {
    let one = |rate: &Rate| format!("{:.9}:{}", rate.per_second as f64 / 1e6, rate.burst);
    let all: Vec<String> = rates.iter().map(one).collect();
    all.join(" ")
}

fn hex(value: &Bits) -> String {
    let bytes = value.to_bytes_be();
    let digits = bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("0x{}", if digits.is_empty() { "0" } else { &digits })
}

fn match_text(given: &FieldMatch) -> String {
    match given {
        FieldMatch::Exact(value) => hex(value),
        FieldMatch::Lpm { value, prefix_len } => format!("{}/{prefix_len}", hex(value)),
        FieldMatch::Ternary { value, mask } => format!("{}&&&{}", hex(value), hex(mask)),
        FieldMatch::Range { low, high } => format!("{}->{}", hex(low), hex(high)),
        FieldMatch::Optional(Some(value)) => {
            format!("{}&&&{}", hex(value), hex(&Bits::ones(value.width())))
        }
        FieldMatch::Optional(None) => "0&&&0".to_owned(),
    }
}
