//! Both executors on one program: the program around an ingress, one change, one batch.

use std::sync::Arc;

use p4exec::{Batch, Executor, ExecutorKind, Update, executor};
use p4front::Options;
use p4test::compile_text;
use quantities::{Nanos, PortId};

/// The interpreter and the compiled executor of a program.
pub(super) fn both_of(name: &str, text: &str) -> [Box<dyn Executor + Send>; 2] {
    let program = compile_text(name, text, &Options::default());
    let program = program.expect("the program compiles");
    [ExecutorKind::Interp, ExecutorKind::Compile]
        .map(|kind| executor(kind, Arc::clone(&program)).expect("it starts"))
}

/// A program whose packets are one header `h.h` of these fields, with these declarations and
/// statements in ingress.
pub(super) fn of_one_header(fields: &str, declared: &str, applied: &str) -> String {
    format!(
        "
#include <core.p4>
#include <v1model.p4>
header h_t {{ {fields} }}
struct headers {{ h_t h; }}
struct meta {{ }}
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.h); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{}} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    {declared}
    apply {{ s.egress_spec = 1; {applied} }}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{}} }}
control C(inout headers h, inout meta m) {{ apply {{}} }}
control D(packet_out packet, in headers h) {{ apply {{ packet.emit(h.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// Whether both take a change, which must be the same.
pub(super) fn both_take(executors: &mut [Box<dyn Executor + Send>; 2], update: Update) -> bool {
    let [one, other] = executors;
    let taken = one.state_mut().apply(update.clone(), Nanos::new(0)).is_ok();
    let also = other.state_mut().apply(update, Nanos::new(0)).is_ok();
    assert_eq!(taken, also);
    taken
}

/// What packets of port 1 come to, which must be the same on the first executor and on the second;
/// `what` says of what, if it is not.
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
