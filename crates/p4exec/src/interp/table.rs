//! Applying a table.

use p4ir::{ExternId, KeyKind, TableId, VarId};

use super::machine::{Flow, Machine};
use crate::bitio::BitWriter;
use crate::externs::hash::HashAlgorithm;
use crate::state::{ExternConfig, ProfileState, entry_cell};
use crate::tables::{ActionCall, EntryAction, EntryHandle, MemberId};
use crate::trace::{EntryTrace, TableTrace, TraceEvent};
use crate::value::Bits;

/// What a lookup came to.
struct Outcome {
    entry: Option<EntryHandle>,
    member: Option<MemberId>,
    /// Empty only if the table has no action at all.
    call: Option<ActionCall>,
}

impl Machine<'_> {
    pub(super) fn apply_table(
        &mut self,
        id: TableId,
        hit: Option<VarId>,
        action_run: Option<VarId>,
    ) -> Flow {
        let program = self.program;
        let table = &program.tables[id];
        match self.run_block(&table.prologue) {
            Flow::Next => {}
            other => return other,
        }
        let (selectors, matched): (Vec<_>, Vec<_>) =
            table.keys.iter().partition(|k| k.kind == KeyKind::Selector);
        let key: Vec<Bits> = matched.iter().map(|k| self.eval(k.expr)).collect();
        let selector: Vec<Bits> = selectors.iter().map(|k| self.eval(k.expr)).collect();
        let outcome = self.look_up(id, &key, &selector);
        self.count_direct(id, outcome.entry);
        self.trace_table(id, &key, &outcome);

        let mut flow = Flow::Next;
        let mut index = 0;
        if let Some(call) = &outcome.call
            && let Some(at) = table.actions.iter().position(|a| a.action == call.action)
        {
            index = at;
            let bound = &table.actions[at];
            let action = &program.actions[call.action];
            for (param, arg) in action.data_params().zip(&call.args) {
                self.store_place(&p4ir::Place::var(param.var), arg.clone());
            }
            self.assign_all(&bound.copy_in);
            flow = self.run_block(&action.body);
            if matches!(flow, Flow::Abort(_)) {
                return flow;
            }
            self.run_block(&bound.copy_out);
        }
        if let Some(var) = hit {
            let value = Bits::from_bool(outcome.entry.is_some());
            self.store_place(&p4ir::Place::var(var), value);
        }
        if let Some(var) = action_run {
            self.store_place(&p4ir::Place::var(var), Bits::from_u64(32, index as u64));
        }
        if flow == Flow::Exit {
            Flow::Exit
        } else {
            Flow::Next
        }
    }

    fn look_up(&mut self, id: TableId, key: &[Bits], selector: &[Bits]) -> Outcome {
        let miss = |call: Option<ActionCall>| Outcome {
            entry: None,
            member: None,
            call,
        };
        let Ok(table) = self.state.table(id) else {
            return miss(None);
        };
        let mut words = Vec::new();
        table.layout().pack(key, &mut words);
        let default = table.default_action();
        // A table without keys always runs its default action.
        let found = if table.layout().fields().is_empty() {
            None
        } else {
            table.lookup(&words).map(EntryHandle)
        };
        let Some(view) = found.and_then(|handle| table.view(handle)) else {
            return miss(default);
        };
        let (member, call) = match view.action() {
            EntryAction::Call(call) => (None, Some(call)),
            indirect => self.resolve(id, found, &indirect, selector),
        };
        Outcome {
            entry: found,
            member,
            call: call.or(default),
        }
    }

    /// The action behind a member, group or set. Nothing if a group has no live member.
    fn resolve(
        &mut self,
        table: TableId,
        entry: Option<EntryHandle>,
        action: &EntryAction,
        selector: &[Bits],
    ) -> (Option<MemberId>, Option<ActionCall>) {
        let Some(profile_id) = self.program.tables[table].implementation else {
            return (None, None);
        };
        let hash = self.selector_hash(profile_id, selector);
        let state = &*self.state;
        let ports = state.data.ports();
        let (Ok(profile), Ok(entries)) = (state.profile(profile_id), state.table(table)) else {
            return (None, None);
        };
        let member = |id: MemberId| Some(profile.member(id).ok()?.call().clone());
        match action {
            EntryAction::Member(id) => (Some(*id), member(*id)),
            EntryAction::Group(group) => match profile.pick_row(*group, hash, ports) {
                Some((id, _)) => (Some(id), member(id)),
                None => (None, None),
            },
            EntryAction::OneShot(_) => {
                let row = entry.and_then(|e| entries.one_shot_row(e.0, hash, ports));
                (None, row.map(|row| entries.unpack_row(row)))
            }
            EntryAction::Call(call) => (None, Some(call.clone())),
        }
    }

    /// The selector's hash of its key fields.
    fn selector_hash(&mut self, profile: ExternId, selector: &[Bits]) -> u64 {
        let Ok(state) = self.state.control.profile_state(profile) else {
            return 0;
        };
        let algorithm = state.algorithm;
        let mut writer = BitWriter::new();
        for bits in selector {
            writer.push(bits);
        }
        ProfileState::cut(self.hash(algorithm, &writer.into_bytes()))
    }

    /// The hash of some bytes; random numbers come from the state's generator.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match self.state.control.hashers.compute(algorithm, data) {
            Some(hash) => hash,
            None => self.state.data.random.next_u64(),
        }
    }

    /// Updates the entry's time, and the direct counters and meters of the table. What meters say,
    /// and the cells of direct registers, are kept for those who ask.
    fn count_direct(&mut self, id: TableId, entry: Option<EntryHandle>) {
        let program = self.program;
        let (now, length) = (self.now, self.length);
        let slot = entry.map(|handle| handle.0);
        for extern_id in &program.tables[id].direct {
            let state = &mut *self.state;
            let Some(cells) = state.data.cells_mut(id) else {
                continue;
            };
            match state.control.extern_config(*extern_id) {
                Some(ExternConfig::DirectMeter(kind)) => {
                    let colour = cells.meter(slot, now, *kind, length);
                    self.set_direct(*extern_id, colour as u64);
                }
                Some(ExternConfig::DirectRegister) => {
                    self.set_direct(*extern_id, entry_cell(slot));
                }
                _ => cells.count(slot, length),
            }
        }
        if let Some(slot) = slot
            && let Some(cells) = self.state.data.cells_mut(id)
        {
            cells.hit(slot, now);
        }
    }

    fn set_direct(&mut self, id: ExternId, said: u64) {
        self.direct.retain(|(known, _)| *known != id);
        self.direct.push((id, said));
    }

    fn trace_table(&mut self, id: TableId, key: &[Bits], outcome: &Outcome) {
        if self.tracer.is_none() {
            return;
        }
        let program = self.program;
        let table = &program.tables[id];
        let names = table.keys.iter().filter(|k| k.kind != KeyKind::Selector);
        let hit = outcome.entry.and_then(|handle| {
            let entry = self.state.table(id).ok()?.view(handle)?;
            Some(EntryTrace {
                handle,
                priority: entry.priority(),
                key: entry.key(),
            })
        });
        let action = outcome
            .call
            .as_ref()
            .map(|call| &program.actions[call.action]);
        let args = match (&outcome.call, action) {
            (Some(call), Some(action)) => {
                let names = action.data_params().map(|p| p.name.clone());
                names.zip(call.args.iter().cloned()).collect()
            }
            _ => Vec::new(),
        };
        let trace = TableTrace {
            table: table.name.clone(),
            key: names
                .map(|k| k.name.clone())
                .zip(key.iter().cloned())
                .collect(),
            hit,
            member: outcome.member,
            action: action.map(|a| a.name.clone()),
            args,
        };
        self.trace(|| TraceEvent::Table(trace));
    }
}
