//! Descriptions of places in the program where compiled code calls out: what the call means and how
//! its words are laid out. Compiled code names them by index.

use p4ir::{ExternId, KeySet, LeafKind, TypeId};
use serde::{Deserialize, Serialize};

use super::frame::Slot;
use crate::externs::hash::HashAlgorithm;
use crate::key_set;
use crate::value::Bits;

/// How a call site knows its hash algorithm.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Algorithm {
    /// At compile time.
    Known(HashAlgorithm),
    /// From the first argument word: a member of this enum.
    Member(TypeId),
}

/// What an extern call does. "Kept" leaves are numbers of leaves, `u64::MAX` for none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Call {
    /// `clone3` and `clone`: session, then kept leaves.
    CloneKept,
    /// `clone_preserving_field_list`: session, list.
    CloneList,
    /// `resubmit`: kept leaves.
    ResubmitKept,
    /// `resubmit_preserving_field_list`: list.
    ResubmitList,
    /// `recirculate`: kept leaves.
    RecirculateKept,
    /// `recirculate_preserving_field_list`: list.
    RecirculateList,
    /// `truncate`: bytes.
    Truncate,
    /// `digest`: the fields.
    Digest(String),
    /// `mirror`: session, then the header's fields.
    Mirror,
    /// `resubmit_with`: the header's fields.
    ResubmitWith,
    /// Any hash or checksum: the data; the answer is the hash.
    Hash(Algorithm, Payload),
    /// `random`: low, high; true if the answer is set.
    Random,
    /// `register.read`: index; true if the answer, the leaves of the destination, is set.
    RegisterRead(ExternId, Vec<Slot>),
    /// `register.write`: index, then the value's scalars.
    RegisterWrite(ExternId),
    /// `execute_meter`: index; the answer is the colour, `u64::MAX` for none.
    Meter(ExternId),
    /// What a direct object said when its table was last applied: the colour of a meter, the cell
    /// of a register.
    Direct(ExternId),
    /// `assert`, `assume`: ends the packet; the place in the source.
    Assertion(String),
}

impl Call {
    /// Whether the switch is asked for something that it does when a block has ended.
    pub(super) const fn is_request(&self) -> bool {
        matches!(
            self,
            Self::CloneKept
                | Self::CloneList
                | Self::ResubmitKept
                | Self::ResubmitList
                | Self::RecirculateKept
                | Self::RecirculateList
                | Self::Truncate
                | Self::Digest(_)
                | Self::Mirror
                | Self::ResubmitWith
        )
    }
}

/// Whether a hash covers the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Payload {
    With,
    Without,
}

/// A place that calls out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Site {
    /// An extern call with its arguments, laid out from word 0.
    Extern {
        call: Call,
        args: Vec<Slot>,
        arg_words: usize,
        out_words: usize,
    },
    /// The leaves of a type that is read from or written to a packet, as if it began at word 0.
    Leaves(Vec<(Slot, LeafKind)>),
    /// Cases of a `select` that are searched one after the other, with its keys laid out from word
    /// 0.
    Cases {
        keys: Vec<SelectSlot>,
        key_words: usize,
        cases: Vec<SearchedCase>,
    },
}

/// Where a key of a `select` lies, and how ranges compare it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SelectSlot {
    pub(super) slot: Slot,
    pub(super) signed: bool,
}

/// A case of a `select`: a set for each key, and the number of its target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SearchedCase {
    pub(super) sets: Vec<KeySet>,
    pub(super) target: usize,
}

/// The number of the first case's target whose sets hold the keys.
pub(super) fn first_case(
    keys: &[SelectSlot],
    cases: &[SearchedCase],
    words: &[u64],
) -> Option<usize> {
    let values: Vec<Bits> = keys.iter().map(|key| key.slot.read(words)).collect();
    let holds = |case: &&SearchedCase| {
        let sets = case.sets.iter().zip(keys).zip(&values);
        sets.into_iter()
            .all(|((set, key), value)| key_set::holds(set, value, key.signed))
    };
    cases.iter().find(holds).map(|case| case.target)
}
