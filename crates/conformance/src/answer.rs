//! What a server answers: on its stream, and to calls.

use std::fmt;

use p4runtime::client::ElectionId;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use tonic::{Code, Status};

/// What came on a stream.
#[derive(Clone, Debug)]
pub(super) enum StreamEvent {
    /// A message.
    Said(Answer),
    /// The server ended the stream with this.
    Ended(Code, String),
    /// Nothing in time.
    Nothing,
}

impl StreamEvent {
    /// The code of an arbitration answer, or the one that the stream ended with.
    pub(super) fn code(&self) -> Option<Code> {
        match self {
            Self::Said(Answer::Arbitration(update)) => Some(Code::from_i32(
                update.status.as_ref().map_or(0, |status| status.code),
            )),
            Self::Ended(code, _) => Some(*code),
            _ => None,
        }
    }

    /// The election id of an arbitration answer.
    pub(super) fn election_id(&self) -> Option<ElectionId> {
        match self {
            Self::Said(Answer::Arbitration(update)) => {
                update.election_id.map(ElectionId::from_message)
            }
            _ => None,
        }
    }

    /// For tables.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Said(Answer::Arbitration(update)) => format!(
                "{}, election id {}",
                self.code().map_or("?", name),
                update.election_id.map_or_else(
                    || "unset".to_owned(),
                    |id| ElectionId::from_message(id).to_string()
                )
            ),
            Self::Said(Answer::Packet(_)) => "a packet in".to_owned(),
            Self::Said(Answer::Digest(_)) => "a digest list".to_owned(),
            Self::Said(Answer::IdleTimeoutNotification(_)) => {
                "an idle timeout notification".to_owned()
            }
            Self::Said(Answer::Error(error)) => {
                format!(
                    "a stream error, {}",
                    name(Code::from_i32(error.canonical_code))
                )
            }
            Self::Said(Answer::Other(_)) => "another message".to_owned(),
            Self::Ended(code, words) => format!("the stream ended with {} ({words})", name(*code)),
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

pub(super) fn name(code: Code) -> &'static str {
    controlplane::code_name(code)
}

/// How a call came out.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The code of the update, if the answer names one, else of the call.
    pub(super) code: Code,
    /// The server's words.
    pub(super) words: String,
    /// Whether the server was no longer there.
    pub(super) gone: bool,
}

impl Outcome {
    pub(super) fn of(result: Result<(), Status>) -> Self {
        let Err(status) = result else {
            return Self {
                code: Code::Ok,
                words: String::new(),
                gone: false,
            };
        };
        let gone = status.code() == Code::Unavailable;
        match controlplane::update_failures(&status).into_iter().next() {
            Some(failure) => Self {
                code: failure.code,
                words: failure.message,
                gone: false,
            },
            None => Self {
                code: status.code(),
                words: status.message().to_owned(),
                gone,
            },
        }
    }

    /// Of a call with a result.
    pub(super) fn of_any<T>(result: &Result<T, Status>) -> Self {
        match result {
            Ok(_) => Self::of(Ok(())),
            Err(status) => Self::of(Err(status.clone())),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self.code))?;
        if !self.words.is_empty() {
            let short: String = self.words.chars().take(80).collect();
            write!(f, " ({short})")?;
        }
        Ok(())
    }
}
