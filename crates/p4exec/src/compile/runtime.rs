//! What compiled code calls: everything that touches the state of the switch, and everything rare.
//! The interpreter's counterparts of these functions say what they must do.

use p4ir::{Entity as _, ExternId, LeafKind, TableId, ValidProgram, ValueSetId};
use quantities::{Bytes, Nanos};

use super::frame::{FrameLayout, Slot, bits_of, words_of};
use super::memo::Memo;
use super::site::{Algorithm, Call, Payload, Site};
use crate::bitio::{BitWriter, read_bits};
use crate::exec::DropReason;
use crate::externs::digest::Digest;
use crate::externs::hash::HashAlgorithm;
use crate::info::ProgramInfo;
use crate::interp::MAX_ROUNDS;
use crate::path::Requests;
use crate::state::{
    ControlState, DataState, ExternConfig, ExternState, ProfileState, RuntimeState, entry_cell,
    hash_algorithm,
};
use crate::tables::{ActionWord, GroupId, MemberId, RowKind, Slot as EntrySlot, TOGETHER, Table};
use crate::v1model::{enum_member, leaf_width, set_by_reading};
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
    /// What direct objects said when their table was last applied: meters the colour, registers the
    /// cell.
    direct: Vec<(ExternId, u64)>,
    values: Vec<Bits>,
}

impl Scratch {
    /// Forgets what the last block left.
    pub(super) fn start_block(&mut self) {
        self.direct.clear();
    }
}

/// A table, and what its look-up finds; or nothing. The upper half is the table's number, from 1
/// on, the lower half the slot.
///
/// One word: it is written shortly before it is read, and a processor waits where it reads together
/// what was written in parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Foreseen(u64);

impl Foreseen {
    /// The slot of a look-up that finds nothing.
    const NO_SLOT: EntrySlot = EntrySlot::MAX;

    #[inline]
    pub(super) fn new(table: TableId, slot: Option<EntrySlot>) -> Self {
        let slot = slot.unwrap_or(Self::NO_SLOT);
        Self((table.index() as u64 + 1) << 32 | u64::from(slot))
    }

    /// What a look-up in this table finds, if that is known.
    #[inline]
    fn of(self, table: TableId) -> Option<Option<EntrySlot>> {
        let slot = self.0 as EntrySlot;
        let is = self.0 >> 32 == table.index() as u64 + 1;
        is.then(|| (slot != Self::NO_SLOT).then_some(slot))
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
    pub(super) info: &'a ProgramInfo,
    pub(super) layout: &'a FrameLayout,
    pub(super) sites: &'a [Site],
    pub(super) frame: &'a mut [u64],
    pub(super) state: &'a mut RuntimeState,
    pub(super) scratch: &'a mut Scratch,
    pub(super) memo: &'a mut Memo,
    /// What the first look-ups here find of [`TOGETHER`] packets, and in which table, if that was
    /// looked up ahead; by the lowest bits of the packet's number.
    pub(super) foreseen: [Foreseen; TOGETHER],
    pub(super) now: Nanos,
    /// What counters and meters count; set where one is asked.
    pub(super) length: Bytes,
}

impl Runtime<'_> {
    // ----- tables -----

    /// Looks a dense key up for the packet of a batch that has this number, counts, and finds the
    /// action to run. What was found lately is remembered, if asked for.
    pub(super) fn apply(
        &mut self,
        (table, remembers): (usize, bool),
        key: &[u64],
        selector: &[u8],
        packet: usize,
    ) -> Applied<'_> {
        let id = TableId::new(table);
        let RuntimeState { control, data } = &mut *self.state;
        let Some(table) = control.known_table(id) else {
            return Applied {
                hit: false,
                action: None,
            };
        };
        let foreseen = std::mem::take(&mut self.foreseen[packet % TOGETHER]);
        let slot = if let Some(slot) = foreseen.of(id) {
            debug_assert_eq!(slot, table.lookup_dense(key), "looked up ahead");
            slot
        } else if table.is_quick() || !remembers {
            table.lookup_dense(key)
        } else {
            let find = || table.lookup_dense(key);
            self.memo.find(id.index(), key, find)
        };
        let program = &self.program.tables[id];
        let row = match slot {
            Some(slot) => {
                let row = table.action_row(slot);
                if ActionWord(row[0]).kind() == RowKind::Call {
                    Some(row)
                } else {
                    let row = resolve(
                        control,
                        data,
                        program.implementation,
                        (table, slot),
                        selector,
                    );
                    row.or(table.default_row())
                }
            }
            None => table.default_row(),
        };
        let (now, length) = (self.now, self.length);
        if let Some(cells) = data.cells_mut(id) {
            for direct in &program.direct {
                match control.extern_config(*direct) {
                    Some(ExternConfig::DirectMeter(kind)) => {
                        let colour = cells.meter(slot, now, *kind, length);
                        set_direct(&mut self.scratch.direct, *direct, colour as u64);
                    }
                    Some(ExternConfig::DirectRegister) => {
                        set_direct(&mut self.scratch.direct, *direct, entry_cell(slot));
                    }
                    _ => cells.count(slot, length),
                }
            }
            if let Some(slot) = slot {
                cells.hit(slot, now);
            }
        }
        let action = row.and_then(|row| {
            let word = ActionWord(row[0]);
            // Members know their place in one table's list, and others may share the profile.
            let position = match slot {
                Some(_) if program.implementation.is_some() => table.position_in_list(word)?,
                _ => word.position(),
            };
            Some((position as usize, &row[1..]))
        });
        Applied {
            hit: slot.is_some(),
            action,
        }
    }

    // ----- externs -----

    /// The hash of some bytes; random numbers come from the state's generator.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match self.state.control.hashers.compute(algorithm, data) {
            Some(hash) => hash,
            None => self.state.data.random.next_u64(),
        }
    }

    /// Words of a value set's key.
    pub(super) fn value_set_words(&self, set: usize) -> usize {
        let set = self.state.control.value_set(ValueSetId::new(set));
        set.map_or(0, |set| set.layout().words())
    }

    /// Whether a value set holds a key.
    pub(super) fn in_value_set(&self, set: usize, key: &[u64]) -> bool {
        let set = self.state.control.value_set(ValueSetId::new(set));
        set.is_ok_and(|set| set.contains_words(key))
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
                self.requests().truncate_to(limit);
            }
            Call::Digest(name) => {
                let (name, fields) = (name.clone(), slots.iter().map(|s| s.read(args)).collect());
                self.requests().digests.push(Digest { name, fields });
            }
            Call::Mirror => {
                let header = side_by_side(&slots[1..], args);
                self.requests().mirrors.push((args[0] as u32, header));
            }
            Call::ResubmitWith => {
                let header = side_by_side(slots, args);
                self.requests().resubmit_with = Some(header);
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
                let Some(value) = self.state.data.random.between(&low, &high) else {
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
                let colour = match self.state.data.extern_mut(*id) {
                    Some(ExternState::Meter(meter)) => meter.execute(index, now, length),
                    _ => None,
                };
                return colour.map_or(u64::MAX, |colour| colour as u64);
            }
            Call::Direct(id) => {
                let known = self.scratch.direct.iter().find(|(known, _)| known == id);
                return known.map_or(0, |(_, said)| *said);
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
        let Some(info) = self.info.v1model() else {
            return Vec::new();
        };
        let outlives =
            |leaf: &usize| info.metadata.contains(leaf) || info.standard_metadata.contains(leaf);
        leaves
            .iter()
            .filter_map(|leaf| usize::try_from(*leaf).ok())
            .filter(outlives)
            .collect()
    }

    fn field_list(&self, list: u64) -> Vec<usize> {
        let info = self.info.v1model();
        let list = info.and_then(|info| info.field_lists.get(&list));
        list.cloned().unwrap_or_default()
    }

    fn read_register(&self, id: ExternId, leaves: &[Slot], index: u64, out: &mut [u64]) -> u64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let value = match self.state.data.extern_state(id) {
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
        if let Some(ExternState::Register(register)) = self.state.data.extern_mut(id) {
            register.write(index, &value);
        }
    }

    // ----- packets -----

    fn error(&self, name: &str) -> u32 {
        self.program.error_index(name).unwrap_or(0)
    }

    /// Reads the leaves of a header (validity left out) from a packet at a bit; the bit behind
    /// them, or the error. Nothing changes unless all of it is there.
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
            for ((slot, _), value) in leaves.iter().zip(&values) {
                let slot = Slot {
                    word: base + slot.word,
                    ..*slot
                };
                slot.write(self.frame, value);
            }
        }
        self.scratch.values = values;
        end.map_err(|name| self.error(name))
    }

    /// Appends the leaves of a header (validity left out) to what the deparser wrote.
    pub(super) fn emit(&mut self, leaves: &[(Slot, LeafKind)], base: u32) {
        for (slot, kind) in leaves {
            if kind.is_data() {
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

/// The row behind a member, group or set. Nothing if a group has no live member.
fn resolve<'c>(
    control: &'c ControlState,
    data: &mut DataState,
    profile: Option<ExternId>,
    (table, slot): (&'c Table, EntrySlot),
    selector: &[u8],
) -> Option<&'c [u64]> {
    let state = control.profile_state(profile?).ok()?;
    let hash = match control.hashers.compute(state.algorithm, selector) {
        Some(hash) => hash,
        None => data.random.next_u64(),
    };
    let hash = ProfileState::cut(hash);
    let word = ActionWord(table.action_row(slot)[0]);
    match word.kind() {
        RowKind::Call => None,
        RowKind::Member => state.profile.member_row(MemberId(word.id())),
        RowKind::Group => {
            let picked = state
                .profile
                .pick_row(GroupId(word.id()), hash, data.ports());
            picked.map(|(_, row)| row)
        }
        RowKind::OneShot => table.one_shot_row(slot, hash, data.ports()),
    }
}

fn set_direct(direct: &mut Vec<(ExternId, u64)>, id: ExternId, said: u64) {
    direct.retain(|(known, _)| *known != id);
    direct.push((id, said));
}

/// Reads leaves one behind the other; what is not in the packet gets the value it then has.
fn read_leaves(
    leaves: &[(Slot, LeafKind)],
    bytes: &[u8],
    mut cursor: usize,
    varbit: u64,
    values: &mut Vec<Bits>,
) -> Result<usize, &'static str> {
    for (_, kind) in leaves {
        if let Some(value) = set_by_reading(*kind) {
            values.push(value);
            continue;
        }
        let width = match kind {
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

/// Argument words as they lie in a packet.
fn side_by_side(slots: &[Slot], args: &[u64]) -> Vec<u8> {
    let mut writer = BitWriter::new();
    for slot in slots {
        writer.push(&slot.read(args));
    }
    writer.into_bytes()
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
