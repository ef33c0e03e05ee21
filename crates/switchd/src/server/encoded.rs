//! A Write as it came: its updates are read where they are made, most of them without ever becoming
//! messages.

use p4runtime::p4::v1;
use prost::bytes::Bytes;

/// A `WriteRequest` whose updates are still encoded: on the wire a message and its bytes are the
/// same.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EncodedWrite {
    /// The device.
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    /// Who writes.
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<v1::Uint128>,
    /// Encoded `Update`s.
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub updates: Vec<Bytes>,
    /// What is to become of the batch if an update fails.
    #[prost(enumeration = "v1::write_request::Atomicity", tag = "5")]
    pub atomicity: i32,
    /// As whom.
    #[prost(string, tag = "6")]
    pub role: String,
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn a_write_is_the_same_with_its_updates_decoded_and_not() {
        let update = |kind: i32| v1::Update {
            r#type: kind,
            entity: Some(v1::Entity::default()),
        };
        let request = v1::WriteRequest {
            device_id: 3,
            role: "a".to_owned(),
            election_id: Some(v1::Uint128 { high: 1, low: 2 }),
            updates: vec![update(1), update(2)],
            atomicity: 1,
            ..Default::default()
        };
        let bytes = request.encode_to_vec();
        let encoded = EncodedWrite::decode(bytes.as_slice()).unwrap();
        assert_eq!(encoded.updates.len(), 2);
        assert_eq!(
            v1::Update::decode(encoded.updates[1].clone()).unwrap(),
            update(2)
        );
        let back = v1::WriteRequest::decode(encoded.encode_to_vec().as_slice()).unwrap();
        assert_eq!(back, request);
    }
}
