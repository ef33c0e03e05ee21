//! Failed batches: one `p4.Error` per update in the details of the status (P4Runtime 1.5, chapters
//! 10 and 12.3).
//!
//! gRPC sends details in a trailer, which clients bound: to 8 KB by default, or, as the
//! specification advises (appendix "gRPC Metadata Maximum Size"), to 8192 bytes and 100 more per
//! update. Messages are kept whole as long as they fit, those of the first failures before the
//! others; the codes are always all there.

use p4runtime::google::rpc;
use p4runtime::p4::v1;
use prost::Message as _;
use tonic::{Code, Status};

use crate::translate::refusal::Refusal;

const TYPE_URL: &str = "type.googleapis.com/p4.v1.Error";

/// What gRPC's clients accept unless told otherwise, and what else is in a trailer.
const DEFAULT_LIMIT: usize = 8192 - 512;

/// What the specification adds per update.
const LIMIT_PER_UPDATE: usize = 100;

/// Bytes of base64 for bytes of details.
const fn encoded(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

fn any(error: &v1::Error) -> prost_types::Any {
    prost_types::Any {
        type_url: TYPE_URL.to_owned(),
        value: error.encode_to_vec(),
    }
}

/// The status of a batch of `count` updates or requests, of which some were refused.
#[must_use]
pub fn batch_status(count: usize, refusals: &[(usize, Refusal)]) -> Status {
    // The one that failed says more than those aborted because of it.
    let told = refusals.iter().find(|(_, r)| r.code != Code::Aborted);
    let summary = match told.or(refusals.first()) {
        Some((index, first)) => {
            let failed = refusals.len();
            format!(
                "{failed} of {count} failed; the first, number {index}: {}",
                cut(first, 300)
            )
        }
        None => "failed".to_owned(),
    };
    let mut errors = vec![v1::Error::default(); count];
    for (index, refusal) in refusals {
        if let Some(place) = errors.get_mut(*index) {
            *place = refusal.to_error();
        }
    }
    shorten(&mut errors, summary.len());
    let status = rpc::Status {
        code: Code::Unknown as i32,
        message: summary.clone(),
        details: errors.iter().map(any).collect(),
    };
    Status::with_details(Code::Unknown, summary, status.encode_to_vec().into())
}

fn cut(refusal: &Refusal, length: usize) -> &str {
    let text = &refusal.message;
    text.char_indices()
        .nth(length)
        .map_or(text, |(end, _)| &text[..end])
}

/// Bytes of the details with these errors.
fn size(errors: &[v1::Error]) -> usize {
    let one = |e: &v1::Error| {
        let value = e.encoded_len();
        let any = TYPE_URL.len() + 2 + value + if value > 0 { 3 } else { 0 };
        any + 3
    };
    errors.iter().map(one).sum()
}

/// Drops what the codes do not need, from the last failure on, until the details fit.
fn shorten(errors: &mut [v1::Error], summary: usize) {
    let room = |limit: usize| limit.saturating_sub(encoded(summary) * 2) / 4 * 3;
    let bare: Vec<v1::Error> = errors
        .iter()
        .map(|e| v1::Error {
            canonical_code: e.canonical_code,
            ..Default::default()
        })
        .collect();
    let least = size(&bare);
    let mut limit = room(DEFAULT_LIMIT);
    if least > limit {
        limit = room(DEFAULT_LIMIT + LIMIT_PER_UPDATE * errors.len());
    }
    let mut total = size(errors);
    for (error, bare) in errors.iter_mut().zip(bare).rev() {
        if total <= limit {
            return;
        }
        if error.canonical_code != 0 {
            total -= error.encoded_len() - bare.encoded_len();
            *error = bare;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(count: usize, failed: usize) -> (rpc::Status, usize) {
        let refusals: Vec<_> = (0..failed)
            .map(|i| (i, Refusal::invalid("x".repeat(80))))
            .collect();
        let status = batch_status(count, &refusals);
        assert_eq!(status.code(), Code::Unknown);
        let length = encoded(status.details().len()) + status.message().len();
        let decoded = rpc::Status::decode(status.details()).unwrap_or_default();
        (decoded, length)
    }

    #[test]
    fn a_few_failures_keep_their_messages_within_the_default_limit() {
        for (count, failed) in [(1, 1), (30, 30), (100, 1), (100, 100), (120, 60)] {
            let (status, length) = details(count, failed);
            assert_eq!(status.details.len(), count);
            assert!(
                length <= 8192,
                "{count} updates, {failed} failed: {length} bytes"
            );
            let first = v1::Error::decode(status.details[0].value.as_slice()).unwrap_or_default();
            assert_eq!(first.message.len(), 80, "{count}");
        }
    }

    #[test]
    fn many_failures_keep_their_codes_within_the_advised_limit() {
        let (status, length) = details(1000, 1000);
        assert_eq!(status.details.len(), 1000);
        assert!(length <= 8192 + 100 * 1000, "{length}");
        for any in &status.details {
            let error = v1::Error::decode(any.value.as_slice()).unwrap_or_default();
            assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
        }
    }
}
