//! Why an entry does not fit its program.

use p4ir::MatchKind;
use p4runtime::{BytestringError, NameError};

/// Why an entry does not fit its program, and which entry it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct EntryError {
    /// Which entry, such as "s1, entry 3 (ingress.classify)".
    pub at: String,
    /// What does not fit, and how to mend it.
    pub problem: Problem,
}

/// How an entry does not fit its table, action or profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The program has no such table, match field, action, parameter or profile.
    #[error(transparent)]
    Name(Box<NameError>),
    /// An exact match field is left out; only it has no "don't care".
    #[error("the match field `{0}` is exact and must be given")]
    ExactKeyMissing(String),
    /// A match field is there twice.
    #[error("the match field `{0}` is given twice")]
    KeyTwice(String),
    /// A match is of another kind than the table's.
    #[error("the match field `{field}` is matched as {}; {} is given", kind_name(*.expected), .given)]
    MatchKind {
        /// The match field.
        field: String,
        /// The table's kind; `None` for a way that only its architecture knows.
        expected: Option<MatchKind>,
        /// What is given instead, such as "lpm" or "a mask".
        given: &'static str,
    },
    /// A value does not fit its match field or parameter.
    #[error("{what}: {source}")]
    Value {
        /// Match field or parameter.
        what: String,
        /// Why not.
        source: BytestringError,
    },
    /// A prefix is longer than its match field, or negative.
    #[error(
        "the match field `{field}` has {width} bits; the prefix length {given} is not in 0..{width}"
    )]
    PrefixLength {
        /// The match field.
        field: String,
        /// Its width.
        width: u32,
        /// The prefix length.
        given: i64,
    },
    /// Bits outside prefix or mask are set.
    #[error(
        "the match field `{field}`: the value {value} has bits set outside {outside}; clear them"
    )]
    StrayBits {
        /// The match field.
        field: String,
        /// The value.
        value: String,
        /// The mask, or the prefix.
        outside: String,
    },
    /// A range ends before it starts.
    #[error(
        "the match field `{field}`: the range {low}..{high} ends before it starts; swap its ends"
    )]
    EmptyRange {
        /// The match field.
        field: String,
        /// The first value.
        low: String,
        /// The last value.
        high: String,
    },
    /// A match that everything passes is written by leaving the match field out.
    #[error("the match field `{0}` matches everything; leave it out")]
    DontCareWritten(String),
    /// The table needs priorities, and this one is not positive.
    #[error(
        "the table has a ternary, range or optional match field; give the entry a priority of at \
         least 1"
    )]
    PriorityMissing,
    /// The table has no priorities.
    #[error("the table has only exact and LPM match fields; leave out the priority {0}")]
    PriorityUnexpected(i32),
    /// The table does not list the action, or not for this use.
    #[error("the table has no action {action} for {usage}; it has {allowed}")]
    ActionNotAllowed {
        /// The action.
        action: String,
        /// "entries" or "the default entry".
        usage: &'static str,
        /// Those that it lists.
        allowed: String,
        /// Whether the table lists the action for the other use.
        listed: bool,
    },
    /// A parameter is missing.
    #[error("the parameter `{param}` of {action} is missing")]
    ParamMissing {
        /// The action.
        action: String,
        /// The parameter.
        param: String,
    },
    /// A parameter has two values.
    #[error("the parameter {0} is given twice")]
    ParamTwice(String),
    /// The entry breaks a rule of its kind; [`check`] has the rules of tables.
    ///
    /// [`check`]: crate::check
    #[error("{0}")]
    Rule(&'static str),
    /// The program declares the entries `const`.
    #[error("the entries of the table are const: the program alone decides them")]
    ConstEntries,
    /// The program declares the default action `const`.
    #[error("the default action of the table is const: the program alone decides it")]
    ConstDefault,
    /// The entry or group refers to a member or group that is not there.
    #[error("there is no {kind} {id} in {profile}")]
    NoSuchMember {
        /// "member" or "group".
        kind: &'static str,
        /// The id.
        id: u32,
        /// The profile.
        profile: String,
    },
    /// Ids of a profile's members or groups do not count from 1.
    #[error(
        "{kind}s of a profile are numbered 1, 2, 3, ... in order, for BMv2's command line numbers \
         them itself; here {expected} is due and {found} comes"
    )]
    NotNumbered {
        /// "member" or "group".
        kind: &'static str,
        /// The id that is due.
        expected: u32,
        /// The id that is there.
        found: u32,
    },
    /// A table or profile has more entries than the program gives it room.
    #[error("{what} has room for {size} and gets {count}")]
    Full {
        /// Table, profile or group.
        what: String,
        /// Room.
        size: u64,
        /// Entries, members, or members of the group.
        count: u64,
    },
    /// The program's description lacks something that the entry needs.
    #[error("the program's description is incomplete: {0}")]
    Incomplete(String),
}

impl Problem {
    /// The problem with its place.
    #[must_use]
    pub fn at(self, at: impl Into<String>) -> EntryError {
        let at = at.into();
        EntryError { at, problem: self }
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        Self::Name(Box::new(error))
    }
}

fn kind_name(kind: Option<MatchKind>) -> &'static str {
    kind.map_or("its architecture says", MatchKind::name)
}
