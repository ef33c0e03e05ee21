//! One batch through both executors.

use p4exec::{Batch, Executor};
use quantities::{Nanos, PortId};

/// What packets of port 1 come to, which must be the same on the first executor and on the second; `what` says of what, if it is not.
pub(super) fn both_send(
    executors: &mut [Box<dyn Executor + Send>; 2],
    packets: &[Vec<u8>],
    what: &dyn std::fmt::Display,
) -> Batch {
    let list: Vec<(PortId, &[u8])> = packets.iter().map(|p| (PortId::new(1), &p[..])).collect();
    let [expected, other] = executors.each_mut().map(|executor| {
        let mut batch = Batch::default();
        executor.process_batch(Nanos::new(0), &list, &mut batch);
        batch
    });
    assert_eq!(other.sent, expected.sent, "{what}");
    assert_eq!(other.bytes, expected.bytes, "{what}");
    assert_eq!(other.dropped, expected.dropped, "{what}");
    expected
}
