//! Who a call claims to come from.

use std::fmt;

use crate::p4::v1::{
    self, set_forwarding_pipeline_config_request, stream_message_request, write_request,
};
use serde::{Deserialize, Serialize};

/// An election id: 128 bits, the highest is primary (P4Runtime 1.5, chapter 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "ElectionText", into = "ElectionText")]
pub struct ElectionId(pub u128);

/// As it is written in files: a number, or `[high, low]`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ElectionText {
    Low(u64),
    Both([u64; 2]),
}

impl From<ElectionText> for ElectionId {
    fn from(text: ElectionText) -> Self {
        match text {
            ElectionText::Low(low) => Self(low.into()),
            ElectionText::Both([high, low]) => Self(u128::from(high) << 64 | u128::from(low)),
        }
    }
}

impl From<ElectionId> for ElectionText {
    fn from(id: ElectionId) -> Self {
        // The two halves; truncation is what is meant.
        match ((id.0 >> 64) as u64, id.0 as u64) {
            (0, low) => Self::Low(low),
            (high, low) => Self::Both([high, low]),
        }
    }
}

impl ElectionId {
    /// As the wire has it.
    #[must_use]
    pub const fn message(self) -> v1::Uint128 {
        v1::Uint128 {
            high: (self.0 >> 64) as u64,
            low: self.0 as u64,
        }
    }

    /// From the wire.
    #[must_use]
    pub fn from_message(id: v1::Uint128) -> Self {
        Self(u128::from(id.high) << 64 | u128::from(id.low))
    }

    /// The next higher id; the highest of all has none.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ElectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A client of a device, as its calls name it (P4Runtime 1.5, chapter 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The device.
    pub device_id: u64,
    /// The role's name; empty for full access.
    pub role: String,
    /// The id with which it asks to be primary; `None` is never primary.
    pub election_id: Option<ElectionId>,
}

impl Identity {
    /// The bid to be primary, with which a stream begins.
    #[must_use]
    pub fn arbitration(&self) -> stream_message_request::Update {
        stream_message_request::Update::Arbitration(v1::MasterArbitrationUpdate {
            device_id: self.device_id,
            role: (!self.role.is_empty()).then(|| v1::Role {
                name: self.role.clone(),
                ..Default::default()
            }),
            election_id: self.election(),
            status: None,
        })
    }

    /// A Write of one batch.
    #[must_use]
    pub fn write(
        &self,
        updates: Vec<v1::Update>,
        atomicity: write_request::Atomicity,
    ) -> v1::WriteRequest {
        v1::WriteRequest {
            device_id: self.device_id,
            role: self.role.clone(),
            election_id: self.election(),
            updates,
            atomicity: atomicity.into(),
            ..Default::default()
        }
    }

    /// A Read of everything that answers to these entities.
    #[must_use]
    pub fn read(&self, entities: Vec<v1::Entity>) -> v1::ReadRequest {
        v1::ReadRequest {
            device_id: self.device_id,
            role: self.role.clone(),
            entities,
        }
    }

    /// A SetForwardingPipelineConfig.
    #[must_use]
    pub fn set_pipeline(
        &self,
        action: set_forwarding_pipeline_config_request::Action,
        config: Option<v1::ForwardingPipelineConfig>,
    ) -> v1::SetForwardingPipelineConfigRequest {
        v1::SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            role: self.role.clone(),
            election_id: self.election(),
            action: action.into(),
            config,
            ..Default::default()
        }
    }

    fn election(&self) -> Option<v1::Uint128> {
        self.election_id.map(ElectionId::message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn election_ids_keep_both_halves() {
        let id = ElectionId(3 << 64 | 7);
        assert_eq!(id.message(), v1::Uint128 { high: 3, low: 7 });
        assert_eq!(ElectionId::from_message(id.message()), id);
        assert_eq!(ElectionId(u128::MAX).next(), ElectionId(u128::MAX));
    }

    #[test]
    fn messages_name_their_client() {
        let backup = Identity {
            device_id: 4,
            role: "reader".to_owned(),
            election_id: None,
        };
        let stream_message_request::Update::Arbitration(bid) = backup.arbitration() else {
            unreachable!("a bid is an arbitration");
        };
        assert_eq!((bid.device_id, bid.election_id), (4, None));
        assert_eq!(bid.role.map(|role| role.name), Some("reader".to_owned()));
        let full = Identity::default();
        let stream_message_request::Update::Arbitration(bid) = full.arbitration() else {
            unreachable!("a bid is an arbitration");
        };
        // An empty name and no role are two things to some servers.
        assert_eq!(bid.role, None);
    }
}
