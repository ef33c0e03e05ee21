//! What goes wrong between us and a switch.

use std::fmt;

use p4runtime::google::rpc;
use p4runtime::p4::v1;
use prost::Message as _;
use thiserror::Error;
use tonic::{Code, Status};

use p4gen::capabilities::Api;
use p4runtime::client::{ConnectError, ElectionId};

/// The most failed updates that a message lists.
const LISTED_MAX: usize = 5;

/// Why a switch could not be talked to, or would not do it.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// No connection, or it broke, or no answer came in time; or a certificate or key that cannot
    /// be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Somebody else is primary.
    #[error(
        "{address} has another primary client: the highest election id it has seen is {highest}, ours is {own}; \
         give a higher `election_id` in the devices file, or push with --take-over"
    )]
    NotPrimary {
        /// The switch.
        address: String,
        /// The highest id that the switch has seen.
        highest: ElectionId,
        /// Ours.
        own: ElectionId,
    },
    /// An RPC was answered with an error.
    #[error("{rpc} was refused: {} ({message})", code_name(*.code))]
    Refused {
        /// The RPC.
        rpc: &'static str,
        /// The code.
        code: Code,
        /// The switch's words.
        message: String,
    },
    /// Updates of a Write were refused.
    #[error("{}", Failures(.failures, *.of))]
    Updates {
        /// Those that failed, by position in the batch.
        failures: Vec<UpdateFailure>,
        /// How many there were.
        of: usize,
    },
    /// Files of ours cannot be read: the build directory's, or the journal's.
    #[error("{0}")]
    Files(String),
    /// Somebody else changed it while the push was under way.
    #[error("somebody else changed it since it was asked what it holds: push again")]
    Meanwhile,
    /// The program is another client's (BF Runtime).
    #[error("{program} is bound to another client ({words}): end it, or push with --take-over")]
    Taken {
        /// Its name, and where it is.
        program: String,
        /// The switch's words.
        words: String,
    },
    /// It runs what the build is not for.
    #[error("{found}, and the build is for {wanted}; {mend}")]
    OtherProgram {
        /// The switch and what it runs: "10.0.0.1:50052 has no program".
        found: String,
        /// What the build is for.
        wanted: String,
        /// What to do.
        mend: &'static str,
    },
    /// The switch said something that its API does not allow.
    #[error("{address} does not speak {api} as we know it: {what}")]
    Protocol {
        /// The switch.
        address: String,
        /// The API.
        api: &'static str,
        /// What it said.
        what: String,
    },
    /// It does not know the API over which the build's tables are filled.
    #[error("{address} does not speak {api} ({rpc}: UNIMPLEMENTED); {mend}")]
    OtherApi {
        /// The switch.
        address: String,
        /// The API.
        api: &'static str,
        /// The RPC that every server of the API has.
        rpc: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// What it needs, it cannot.
    #[error("the switch cannot {what}")]
    Cannot {
        /// "read back clone sessions (UNIMPLEMENTED)".
        what: String,
    },
    /// After the push it did not hold what was sent.
    #[error("the switch took every update but reads back differently: {what}")]
    ReadBack {
        /// The first differences.
        what: String,
    },
    /// Its program or entries cannot be understood.
    #[error("what the switch holds cannot be understood: {0}")]
    Foreign(String),
    /// No device config for it.
    #[error("{0}")]
    Config(String),
}

/// One refused update of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateFailure {
    /// Position in the batch.
    pub index: usize,
    /// The code.
    pub code: Code,
    /// The switch's words.
    pub message: String,
    /// The update in names, once somebody knows the program.
    pub update: Option<String>,
}

impl RemoteError {
    /// An error status of an RPC, with the details of a Write unpacked (P4Runtime 1.5, chapter 10).
    pub fn of(address: &str, rpc: &'static str, status: &Status, updates: usize) -> Self {
        let failures = update_failures(status);
        if updates > 0 && !failures.is_empty() {
            return Self::Updates {
                failures,
                of: updates,
            };
        }
        // A server that wants to say UNAVAILABLE itself reached us; the transport adds its cause.
        let transport = std::error::Error::source(status).is_some();
        if transport || matches!(status.code(), Code::Unavailable | Code::Cancelled) {
            return Self::Connect(ConnectError::Unreachable {
                address: address.to_owned(),
                reason: format!("{rpc}: {}", words(status)),
            });
        }
        Self::Refused {
            rpc,
            code: status.code(),
            message: words(status),
        }
    }

    /// As [`RemoteError::of`], for an RPC that every server of `api` has: one that does not know it
    /// speaks another API.
    pub(crate) fn of_required(address: &str, api: Api, rpc: &'static str, status: &Status) -> Self {
        if status.code() != Code::Unimplemented {
            return Self::of(address, rpc, status, 0);
        }
        Self::OtherApi {
            address: address.to_owned(),
            api: api.name(),
            rpc,
            mend: match api {
                Api::P4Runtime => {
                    "a device that speaks BF Runtime takes a build for Tofino: `switchwright build PLAN --target tna`, \
                     or `tna2`"
                }
                Api::BfRuntime => {
                    "a switch that speaks P4Runtime takes a build for it: `switchwright build PLAN --target v1model`"
                }
            },
        }
    }

    /// The gRPC code, where there is one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Updates { failures, .. } => failures.first().map(|failure| failure.code),
            _ => None,
        }
    }

    /// Whether the switch is out of reach, rather than unwilling.
    #[must_use]
    pub const fn unreachable(&self) -> bool {
        matches!(self, Self::Connect(ConnectError::Unreachable { .. }))
    }
}

/// The failed updates that a status lists; empty if it lists none.
pub fn update_failures(status: &Status) -> Vec<UpdateFailure> {
    let Ok(details) = rpc::Status::decode(status.details()) else {
        return Vec::new();
    };
    let errors = details
        .details
        .iter()
        .map(|any| v1::Error::decode(any.value.as_slice()).ok());
    errors
        .enumerate()
        .filter_map(|(index, error)| {
            let error = error?;
            (error.canonical_code != 0).then(|| UpdateFailure {
                index,
                code: Code::from_i32(error.canonical_code),
                message: error.message,
                update: None,
            })
        })
        .collect()
}

/// A status' message, or the cause of a broken transport.
fn words(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    if text.is_empty() {
        "it gave no reason".to_owned()
    } else {
        text
    }
}

/// A code as the specification spells it.
#[must_use]
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// The failed updates, the first few in full.
struct Failures<'a>(&'a [UpdateFailure], usize);

impl fmt::Display for Failures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} updates were refused", self.0.len(), self.1)?;
        for failure in self.0.iter().take(LISTED_MAX) {
            write!(f, "\n  update {}", failure.index)?;
            if let Some(update) = &failure.update {
                write!(f, ", {update}")?;
            }
            write!(f, ": {}", code_name(failure.code))?;
            if !failure.message.is_empty() {
                write!(f, " ({})", failure.message)?;
            }
        }
        if self.0.len() > LISTED_MAX {
            write!(f, "\n  and {} more", self.0.len() - LISTED_MAX)?;
        }
        Ok(())
    }
}
