//! Members that the language itself gives to values of some types (P4_16 sections 8.17, 8.18, 8.20,
//! 13.2, 14.2).

use crate::types::{RecordKind, Ty};

/// A member that no program declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BuiltIn {
    /// Its name.
    pub(crate) name: &'static str,
    /// How it is declared, if it were.
    pub(crate) signature: &'static str,
    /// What it does.
    pub(crate) meaning: &'static str,
    /// It is called; otherwise it is read.
    pub(crate) method: bool,
}

macro_rules! members {
    ($($group:ident = [$($name:literal $method:literal $signature:literal $meaning:literal,)*];)*) => {
        $(const $group: &[BuiltIn] = &[$(BuiltIn {
            name: $name, signature: $signature, meaning: $meaning, method: $method,
        },)*];)*
        const ALL: &[&[BuiltIn]] = &[$($group,)*];
    };
}

members! {
    VALIDITY = [
        "isValid" true "bool isValid()" "Whether the header is valid.",
        "setValid" true "void setValid()" "Makes the header valid. Its fields keep unspecified values.",
        "setInvalid" true "void setInvalid()" "Makes the header invalid.",
    ];
    UNION = [
        "isValid" true "bool isValid()" "Whether one of the headers of the union is valid.",
    ];
    SIZES = [
        "minSizeInBits" true "int minSizeInBits()" "The smallest size of a value, in bits. Known at compile time.",
        "minSizeInBytes" true "int minSizeInBytes()" "The smallest size of a value, in bytes, rounded up. Known at compile time.",
        "maxSizeInBits" true "int maxSizeInBits()" "The largest size of a value, in bits. Known at compile time.",
        "maxSizeInBytes" true "int maxSizeInBytes()" "The largest size of a value, in bytes, rounded up. Known at compile time.",
    ];
    STACK_IN_PARSER = [
        "next" false "next" "The first element that is not used yet. Only in parsers; ends in `StackOutOfBounds` if the stack is full.",
        "last" false "last" "The element that was extracted last. Only in parsers; ends in `StackOutOfBounds` if the stack is empty.",
        "lastIndex" false "bit<32> lastIndex" "The index of the element that was extracted last. Only in parsers.",
    ];
    STACK = [
        "size" false "bit<32> size" "The number of elements. Known at compile time.",
        "push_front" true "void push_front(int count)" "Moves all elements to higher indices by `count`. The first `count` elements become invalid, the last ones are lost.",
        "pop_front" true "void pop_front(int count)" "Moves all elements to lower indices by `count`. The first `count` elements are lost, the last ones become invalid.",
    ];
    TABLE = [
        "apply" true "apply_result apply()" "Looks the key up and runs the action that matches.",
    ];
    BLOCK = [
        "apply" true "void apply(...)" "Runs the parser or control with these arguments.",
    ];
    RESULT = [
        "hit" false "bool hit" "Whether an entry matched.",
        "miss" false "bool miss" "Whether no entry matched.",
        "action_run" false "action_run" "The action that ran: only as the subject of a `switch`.",
    ];
    STATES = [
        "accept" false "state accept" "Ends the parser: the packet is accepted.",
        "reject" false "state reject" "Ends the parser: the packet is rejected.",
    ];
}

/// The members that the language gives to values of a type, where they may be used: in a parser or
/// elsewhere.
pub(crate) fn members_of(ty: &Ty, in_parser: bool) -> Vec<&'static BuiltIn> {
    let groups: &[&[BuiltIn]] = match ty {
        Ty::Record(r) => match r.kind {
            RecordKind::Header => &[VALIDITY, SIZES],
            RecordKind::Union => &[UNION, SIZES],
            RecordKind::Struct if r.fields.is_empty() => &[],
            RecordKind::Struct => &[SIZES],
        },
        Ty::Stack(..) if in_parser => &[STACK_IN_PARSER, STACK],
        Ty::Stack(..) => &[STACK],
        Ty::Table => &[TABLE],
        Ty::Block(..) => &[BLOCK],
        Ty::ApplyResult => &[RESULT],
        _ => &[],
    };
    groups.iter().flat_map(|group| group.iter()).collect()
}

/// What the member of this name is, or the state.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    let mut all = ALL.iter().flat_map(|group| group.iter());
    all.find(|member| member.name == name)
}
