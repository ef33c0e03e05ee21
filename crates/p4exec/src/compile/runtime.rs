//! What compiled code calls: everything that touches the state of the switch, and everything rare.
//! The interpreter's counterparts of these functions say what they must do.

use p4ir::{Entity as _, ExternId, LeafKind, TableId, ValidProgram, ValueSetId};
use units::{Bytes, Nanos, PortId};

use super::frame::{FrameLayout, Slot, bits_of, words_of};
use super::site::{Algorithm, Call, Payload, Site};
use crate::bitio::{BitWriter, read_bits};
use crate::exec::DropReason;
use crate::externs::digest::Digest;
use crate::externs::hash::HashAlgorithm;
use crate::externs::meter::Colour;
use crate::interp::MAX_ROUNDS;
use crate::path::Requests;
use crate::state::{ExternState, RuntimeState, hash_algorithm};
use crate::tables::{ActionCall, EntryAction, EntryHandle, Selector};
use crate::v1model::{V1Info, enum_member, leaf_width};
use crate::value::Bits;

/// What blocks leave behind besides storage and state; its memory is kept from packet to packet.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) requests: Requests,
    /// Whether `requests` is not empty.
    pub(super) requested: bool,
    /// Why the block was aborted.
    pub(super) abort: Option<DropReason>,
    /// What the deparser wrote, where it does not write to the packet at once.
    pub(super) writer: BitWriter,
    /// What the direct meters said when their table was last applied.
    colours: Vec<(ExternId, Colour)>,
    /// The action data of the last table applied.
    args: Vec<u64>,
    values: Vec<Bits>,
}

impl Scratch {
    /// Forgets what the last block left.
    pub(super) fn start_block(&mut self) {
        self.colours.clear();
    }
}

/// What a table application came to.
pub(super) struct Applied<'a> {
    pub(super) hit: bool,
    /// The action's place in the table's list and its data, `None` if there is nothing to run.
    pub(super) action: Option<(usize, &'a [u64])>,
}

/// See the module documentation.
pub(super) struct Runtime<'a> {
    pub(super) program: &'a ValidProgram,
    pub(super) info: &'a V1Info,
    pub(super) layout: &'a FrameLayout,
    pub(super) sites: &'a [Site],
    pub(super) frame: &'a mut [u64],
    pub(super) state: &'a mut RuntimeState,
    pub(super) scratch: &'a mut Scratch,
    pub(super) now: Nanos,
    /// What counters and meters count.
    pub(super) length: Bytes,
}

impl Runtime<'_> {
    // ----- tables -----

    /// Words of a table's key.
    pub(super) fn key_words(&self, table: usize) -> usize {
        let table = self.state.table(TableId::new(table));
        table.map_or(0, |t| t.layout().words())
    }

    /// Looks a key up, counts, and finds the action to run.
    pub(super) fn apply(&mut self, table: usize, key: &[u64], selector: &[u8]) -> Applied<'_> {
        let id = TableId::new(table);
        let Ok(table) = self.state.table(id) else {
            return Applied {
                hit: false,
                action: None,
            };
        };
        let found = if table.layout().fields().is_empty() {
            None
        } else {
            table.lookup(key)
        };
        let entry = found.and_then(|handle| Some((handle, table.entry(handle)?.action.clone())));
        let default = table.default_action().cloned();
        let handle = entry.as_ref().map(|(handle, _)| *handle);
        let call = match entry {
            Some((_, EntryAction::Call(call))) => Some(call),
            Some((_, indirect)) => self.resolve(id, &indirect, selector).or(default),
            None => default,
        };
        self.count_direct(id, handle);
        let action = call.and_then(|call| self.take_call(id, &call));
        Applied {
            hit: handle.is_some(),
            action: action.map(|position| (position, self.scratch.args.as_slice())),
        }
    }

    /// Lays out the data of a call and finds its place in the table's list.
    fn take_call(&mut self, table: TableId, call: &ActionCall) -> Option<usize> {
        let actions = &self.program.tables[table].actions;
        let position = actions.iter().position(|a| a.action == call.action)?;
        self.scratch.args.clear();
        for arg in &call.args {
            let start = self.scratch.args.len();
            let words = arg.width().div_ceil(64).max(1) as usize;
            self.scratch.args.resize(start + words, 0);
            words_of(arg, &mut self.scratch.args[start..]);
        }
        Some(position)
    }

    /// The action behind a member, group or set. Nothing if a group has no live member.
    fn resolve(
        &mut self,
        table: TableId,
        action: &EntryAction,
        selector: &[u8],
    ) -> Option<ActionCall> {
        let profile_id = self.program.tables[table].implementation?;
        let hash = self.selector_hash(profile_id, selector);
        let state = &*self.state;
        let up = |port: PortId| state.is_port_up(port);
        let profile = state.profile(profile_id).ok()?;
        match action {
            EntryAction::Member(member) => profile.member(*member).ok().cloned(),
            EntryAction::Group(group) => {
                let (_, call) = profile.pick(*group, hash, &up)?;
                Some(call.clone())
            }
            EntryAction::OneShot(set) => Selector::pick_one_shot(set, hash, &up).cloned(),
            EntryAction::Call(call) => Some(call.clone()),
        }
    }

    /// The selector's hash of its key, cut to the width the program gives it.
    fn selector_hash(&mut self, profile: ExternId, selector: &[u8]) -> u64 {
        let Some(ExternState::Profile {
            algorithm,
            hash_width,
            ..
        }) = self.state.extern_state(profile)
        else {
            return 0;
        };
        let (algorithm, width) = (*algorithm, *hash_width);
        let hash = self.hash(algorithm, selector);
        if width < 64 {
            hash & ((1 << width) - 1)
        } else {
            hash
        }
    }

    /// Updates the entry's time, and the direct counters and meters of the table.
    fn count_direct(&mut self, id: TableId, entry: Option<EntryHandle>) {
        let (now, length) = (self.now, self.length);
        for extern_id in &self.program.tables[id].direct {
            let kind = match self.state.extern_state(*extern_id) {
                Some(ExternState::DirectMeter(kind)) => Some(*kind),
                _ => None,
            };
            let Some(table) = self.state.table_mut(id) else {
                continue;
            };
            match (kind, entry.and_then(|handle| table.entry_mut(handle))) {
                (Some(kind), Some(entry)) => {
                    let colour = entry.meter.execute(now, kind, length);
                    self.set_colour(*extern_id, colour);
                }
                (Some(_), None) => self.set_colour(*extern_id, Colour::Green),
                (None, Some(entry)) => entry.counter.count(length),
                (None, None) => table.default_counter.count(length),
            }
        }
        if let Some(handle) = entry
            && let Some(table) = self.state.table_mut(id)
            && let Some(entry) = table.entry_mut(handle)
        {
            entry.last_hit = now;
        }
    }

    fn set_colour(&mut self, id: ExternId, colour: Colour) {
        self.scratch.colours.retain(|(known, _)| *known != id);
        self.scratch.colours.push((id, colour));
    }

    // ----- externs -----

    /// The hash of some bytes; random numbers come from the state's generator.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match self.state.hashers.compute(algorithm, data) {
            Some(hash) => hash,
            None => self.state.random.next_u64(),
        }
    }

    /// Counts the packet in a cell of a counter.
    pub(super) fn count(&mut self, counter: usize, index: u64) {
        let length = self.length;
        if let Some(ExternState::Counter(counter)) = self.state.extern_mut(ExternId::new(counter)) {
            counter.count(usize::try_from(index).unwrap_or(usize::MAX), length);
        }
    }

    /// Whether a value set holds values of these types, one after the other in `keys`.
    pub(super) fn in_value_set(&mut self, set: usize, slots: &[Slot], keys: &[u64]) -> bool {
        self.scratch.values.clear();
        self.scratch
            .values
            .extend(slots.iter().map(|s| s.read(keys)));
        let set = self.state.value_set(ValueSetId::new(set));
        set.is_ok_and(|set| set.contains(&self.scratch.values))
    }

    /// The packet ran a loop too often.
    pub(super) fn abort_loop(&mut self) {
        self.scratch.abort = Some(DropReason::LoopBound(MAX_ROUNDS));
    }

    /// Makes an extern call; what is returned and written to `out` depends on the call.
    pub(super) fn call(
        &mut self,
        call: &Call,
        slots: &[Slot],
        args: &[u64],
        out: &mut [u64],
        payload: (&[u8], usize),
    ) -> u64 {
        let kept = |args: &[u64]| self.kept_leaves(args);
        let requests = match call {
            Call::CloneKept => {
                let kept = kept(&args[1..]);
                self.requests().clone = Some((args[0] as u32, kept));
                return 0;
            }
            Call::CloneList => {
                let kept = self.field_list(args[1]);
                self.requests().clone = Some((args[0] as u32, kept));
                return 0;
            }
            Call::ResubmitKept => {
                let kept = kept(args);
                self.requests().resubmit = Some(kept);
                return 0;
            }
            Call::ResubmitList => {
                let kept = self.field_list(args[0]);
                self.requests().resubmit = Some(kept);
                return 0;
            }
            Call::RecirculateKept => {
                let kept = kept(args);
                self.requests().recirculate = Some(kept);
                return 0;
            }
            Call::RecirculateList => {
                let kept = self.field_list(args[0]);
                self.requests().recirculate = Some(kept);
                return 0;
            }
            other => other,
        };
        self.call_rest(requests, slots, args, out, payload)
    }

    fn call_rest(
        &mut self,
        call: &Call,
        slots: &[Slot],
        args: &[u64],
        out: &mut [u64],
        payload: (&[u8], usize),
    ) -> u64 {
        match call {
            Call::Truncate => {
                let limit = usize::try_from(args[0]).unwrap_or(usize::MAX);
                self.requests().truncate = Some(limit);
            }
            Call::Digest(name) => {
                let (name, fields) = (name.clone(), slots.iter().map(|s| s.read(args)).collect());
                self.requests().digests.push(Digest { name, fields });
            }
            Call::Hash(algorithm, covers) => {
                let (algorithm, slots) = match algorithm {
                    Algorithm::Known(algorithm) => (*algorithm, slots),
                    Algorithm::Member(ty) => {
                        let member = enum_member(self.program, *ty, args[0]);
                        let known = member.and_then(hash_algorithm);
                        (known.unwrap_or(HashAlgorithm::Crc16), &slots[1..])
                    }
                };
                let mut writer = BitWriter::new();
                for slot in slots {
                    writer.push(&slot.read(args));
                }
                if *covers == Payload::With {
                    append_payload(&mut writer, payload.0, payload.1);
                }
                return self.hash(algorithm, &writer.into_bytes());
            }
            Call::Random => {
                let (low, high) = (slots[0].read(args), slots[1].read(args));
                let Some(value) = self.state.random.between(&low, &high) else {
                    return 0;
                };
                words_of(&value, out);
                return 1;
            }
            Call::RegisterRead(id, leaves) => return self.read_register(*id, leaves, args[0], out),
            Call::RegisterWrite(id) => self.write_register(*id, slots, args),
            Call::Meter(id) => {
                let (now, length) = (self.now, self.length);
                let index = usize::try_from(args[0]).unwrap_or(usize::MAX);
                let colour = match self.state.extern_mut(*id) {
                    Some(ExternState::Meter(meter)) => meter.execute(index, now, length),
                    _ => None,
                };
                return colour.map_or(u64::MAX, |colour| colour as u64);
            }
            Call::DirectMeter(id) => {
                let known = self.scratch.colours.iter().find(|(known, _)| known == id);
                return known.map_or(Colour::Green, |(_, colour)| *colour) as u64;
            }
            Call::Assertion(place) => {
                self.scratch.abort = Some(DropReason::Assertion(place.clone()));
            }
            // `call` took the others.
            _ => {}
        }
        0
    }

    fn requests(&mut self) -> &mut Requests {
        self.scratch.requested = true;
        &mut self.scratch.requests
    }

    fn kept_leaves(&self, leaves: &[u64]) -> Vec<usize> {
        let outlives = |leaf: &usize| {
            self.info.metadata.contains(leaf) || self.info.standard_metadata.contains(leaf)
        };
        leaves
            .iter()
            .filter_map(|leaf| usize::try_from(*leaf).ok())
            .filter(outlives)
            .collect()
    }

    fn field_list(&self, list: u64) -> Vec<usize> {
        let list = self.info.field_lists.get(&list);
        list.cloned().unwrap_or_default()
    }

    fn read_register(&self, id: ExternId, leaves: &[Slot], index: u64, out: &mut [u64]) -> u64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let value = match self.state.extern_state(id) {
            Some(ExternState::Register(register)) => register.read(index),
            _ => None,
        };
        let Some(value) = value else { return 0 };
        if let [leaf] = leaves {
            leaf.write(out, &value.resize_unsigned(leaf.width));
            return 1;
        }
        // The first leaf takes the highest bits.
        let mut rest = value.width();
        for leaf in leaves {
            let low = rest.saturating_sub(leaf.width);
            leaf.write(out, &value.shr_unsigned(low).resize_unsigned(leaf.width));
            rest = low;
        }
        1
    }

    fn write_register(&mut self, id: ExternId, slots: &[Slot], args: &[u64]) {
        let index = usize::try_from(args[0]).unwrap_or(usize::MAX);
        let value = match &slots[1..] {
            [slot] => slot.read(args),
            slots => slots.iter().fold(Bits::zero(0), |joined, slot| {
                joined.concat(&slot.read(args))
            }),
        };
        if let Some(ExternState::Register(register)) = self.state.extern_mut(id) {
            register.write(index, &value);
        }
    }

    // ----- packets -----

    fn error(&self, name: &str) -> u32 {
        self.program.error_index(name).unwrap_or(0)
    }

    /// Reads the leaves of a header (validity left out) from a packet at a bit; the bit behind them,
    /// or the error. Nothing changes unless all of it is there.
    pub(super) fn extract(
        &mut self,
        leaves: &[(Slot, LeafKind)],
        base: u32,
        bytes: &[u8],
        cursor: usize,
        varbit: u64,
    ) -> Result<usize, u32> {
        let mut values = std::mem::take(&mut self.scratch.values);
        values.clear();
        let end = read_leaves(leaves, bytes, cursor, varbit, &mut values);
        if end.is_ok() {
            for ((slot, kind), value) in leaves.iter().zip(&values) {
                let slot = Slot {
                    word: base + slot.word,
                    ..*slot
                };
                if *kind == LeafKind::Valid {
                    self.frame[slot.word as usize] = 1;
                } else {
                    slot.write(self.frame, value);
                }
            }
        }
        self.scratch.values = values;
        end.map_err(|name| self.error(name))
    }

    /// Appends the leaves of a header (validity left out) to what the deparser wrote.
    pub(super) fn emit(&mut self, leaves: &[(Slot, LeafKind)], base: u32) {
        for (slot, kind) in leaves {
            if *kind != LeafKind::Valid {
                let slot = Slot {
                    word: base + slot.word,
                    ..*slot
                };
                self.scratch.writer.push(&slot.read(self.frame));
            }
        }
    }

    /// Moves the elements of a stack up (`push`) or down, with its next index kept in bounds.
    pub(super) fn shift_stack(
        &mut self,
        at: usize,
        size: usize,
        words: usize,
        count: usize,
        push: bool,
    ) {
        let count = count.min(size);
        let elements = &mut self.frame[at + 1..at + 1 + size * words];
        if push {
            elements.rotate_right(count * words);
            elements[..count * words].fill(0);
        } else {
            elements.rotate_left(count * words);
            elements[(size - count) * words..].fill(0);
        }
        let next = self.frame[at];
        self.frame[at] = if push {
            (next + count as u64).min(size as u64)
        } else {
            next.saturating_sub(count as u64)
        };
    }

    /// A leaf of the program's layout.
    pub(super) fn leaf(&self, leaf: usize) -> Bits {
        self.layout.slot(leaf).read(self.frame)
    }
}

/// Reads leaves one behind the other; 1 for validity, which is not in the packet.
fn read_leaves(
    leaves: &[(Slot, LeafKind)],
    bytes: &[u8],
    mut cursor: usize,
    varbit: u64,
    values: &mut Vec<Bits>,
) -> Result<usize, &'static str> {
    for (_, kind) in leaves {
        let width = match kind {
            LeafKind::Valid => {
                values.push(Bits::from_bool(true));
                continue;
            }
            LeafKind::Varbit { max } => u32::try_from(varbit)
                .ok()
                .filter(|w| w <= max)
                .ok_or("HeaderTooShort")?,
            other => leaf_width(*other),
        };
        values.push(read_bits(bytes, cursor, width).ok_or("PacketTooShort")?);
        cursor += width as usize;
    }
    Ok(cursor)
}

/// Appends what the parser did not take.
pub(super) fn append_payload(writer: &mut BitWriter, bytes: &[u8], cursor: usize) {
    let aligned = cursor.next_multiple_of(8).min(bytes.len() * 8);
    let odd = (aligned - cursor) as u32;
    if let Some(bits) = read_bits(bytes, cursor, odd) {
        writer.push(&bits);
    }
    writer.push_bytes(&bytes[aligned / 8..]);
}

/// Operations on values wider than a word that are not worth code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum WideOp {
    Mul,
    Div,
    Mod,
    AddSat,
    AddSatSigned,
    SubSat,
    SubSatSigned,
    Shl,
    Shr,
    ShrSigned,
}

impl WideOp {
    /// The operation of a number that compiled code passed.
    pub(super) fn from_number(number: u64) -> Option<Self> {
        use WideOp::*;
        [
            Mul,
            Div,
            Mod,
            AddSat,
            AddSatSigned,
            SubSat,
            SubSatSigned,
            Shl,
            Shr,
            ShrSigned,
        ]
        .into_iter()
        .find(|op| *op as u64 == number)
    }

    /// Computes it; operands and result as words, the lowest first.
    pub(super) fn compute(self, widths: (u32, u32), a: &[u64], b: &[u64], out: &mut [u64]) {
        let (a, b) = (bits_of(widths.0, a), bits_of(widths.1, b));
        let zero = || Bits::zero(widths.0);
        let value = match self {
            Self::Mul => a.wrapping_mul(&b),
            Self::Div => a.checked_div_unsigned(&b).unwrap_or_else(zero),
            Self::Mod => a.checked_rem_unsigned(&b).unwrap_or_else(zero),
            Self::AddSat => a.saturating_add_unsigned(&b),
            Self::AddSatSigned => a.saturating_add_signed(&b),
            Self::SubSat => a.saturating_sub_unsigned(&b),
            Self::SubSatSigned => a.saturating_sub_signed(&b),
            Self::Shl => a.shl(b.as_shift_amount()),
            Self::Shr => a.shr_unsigned(b.as_shift_amount()),
            Self::ShrSigned => a.shr_signed(b.as_shift_amount()),
        };
        words_of(&value, out);
    }
}
