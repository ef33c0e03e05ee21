//! Why the control plane is refused: a canonical code and a message that says which field and what
//! was expected.

use entries::Problem;
use p4exec::StateError;
use p4exec::tables::TableError;
use p4exec::tables::key::KeyError;
use p4exec::tables::profile::ProfileError;
use p4runtime::NameError;
use p4runtime::p4::v1;
use thiserror::Error;
use tonic::Code;

use crate::engine::EngineError;

/// The space of [`v1::Error::code`] (P4Runtime 1.5, chapter 10); the codes in it are canonical
/// ones.
const SPACE: &str = "switchwright";

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    /// The canonical code.
    pub code: Code,
    /// Which field, and what was expected.
    pub message: String,
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $code:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(message: impl Into<String>) -> Self {
            Self { code: Code::$code, message: message.into() }
        }
    )*};
}

impl Refusal {
    refusals! {
        /// The request contradicts itself or P4Info.
        invalid = InvalidArgument;
        /// A value or index does not fit.
        out_of_range = OutOfRange;
        /// The thing named is not there.
        not_found = NotFound;
        /// The thing is there already.
        exists = AlreadyExists;
        /// No room.
        exhausted = ResourceExhausted;
        /// The program or the role forbids it.
        denied = PermissionDenied;
        /// Not now: something has to be done first.
        precondition = FailedPrecondition;
        /// This switch cannot.
        unimplemented = Unimplemented;
        /// Not tried, because another update of an atomic batch failed.
        aborted = Aborted;
        /// The switch is going down.
        unavailable = Unavailable;
        /// A bug of the switch.
        internal = Internal;
    }

    /// The same with the place in front: "match field `dst`: ...".
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// As a part of the details of a failed batch.
    #[must_use]
    pub fn to_error(&self) -> v1::Error {
        v1::Error {
            canonical_code: self.code as i32,
            message: self.message.clone(),
            space: SPACE.to_owned(),
            code: self.code as i32,
            details: None,
        }
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.message)
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::NoProgram => Self::precondition(error.to_string()),
            EngineError::NoPort(_) => Self::not_found(error.to_string()),
            EngineError::Stopped
            | EngineError::Start(_)
            | EngineError::OneThread(_)
            | EngineError::Lossless(_) => Self::unavailable(error.to_string()),
        }
    }
}

fn table_code(error: &TableError) -> Code {
    match error {
        TableError::Key {
            source: KeyError::TooWide { .. },
            ..
        } => Code::OutOfRange,
        TableError::ActionNotAllowed { .. }
        | TableError::ConstEntries { .. }
        | TableError::ConstDefault { .. } => Code::PermissionDenied,
        TableError::ArgumentTooWide { .. } => Code::OutOfRange,
        TableError::Duplicate { .. } => Code::AlreadyExists,
        TableError::NotFound { .. } => Code::NotFound,
        TableError::Full { .. } => Code::ResourceExhausted,
        _ => Code::InvalidArgument,
    }
}

fn profile_code(error: &ProfileError) -> Code {
    match error {
        ProfileError::NoMember { .. } | ProfileError::NoGroup { .. } => Code::NotFound,
        ProfileError::Duplicate { what, .. } if *what == "group member" => Code::InvalidArgument,
        ProfileError::Duplicate { .. } => Code::AlreadyExists,
        ProfileError::InUse { .. } => Code::FailedPrecondition,
        ProfileError::Full { .. } => Code::ResourceExhausted,
        _ => Code::InvalidArgument,
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let code = match &problem {
            Problem::Value { .. } => Code::OutOfRange,
            Problem::ConstEntries | Problem::ConstDefault => Code::PermissionDenied,
            Problem::ActionNotAllowed { listed: true, .. } => Code::PermissionDenied,
            Problem::NoSuchMember { .. } => Code::NotFound,
            Problem::Name(error) => match **error {
                NameError::UnknownName { .. } | NameError::UnknownId { .. } => Code::NotFound,
                _ => Code::InvalidArgument,
            },
            Problem::Full { .. } => Code::ResourceExhausted,
            _ => Code::InvalidArgument,
        };
        Self {
            code,
            message: problem.to_string(),
        }
    }
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Self {
        let code = match &error {
            StateError::Table(table) => table_code(table),
            StateError::Profile(profile) => profile_code(profile),
            StateError::ValueSetFull { .. } => Code::ResourceExhausted,
            StateError::NoSuch { .. } | StateError::NoReplication { .. } => Code::NotFound,
            StateError::Index { .. } => Code::OutOfRange,
            _ => Code::InvalidArgument,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}
