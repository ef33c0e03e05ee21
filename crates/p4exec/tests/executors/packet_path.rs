//! What becomes of a packet that is sent, dropped, multicast, cloned, resubmitted, recirculated,
//! cut, too short, or never stops. Ingress and egress of the test program do what the header's `op`
//! says.

use std::sync::Arc;

use p4exec::state::CloneSession;
use p4exec::value::Bits;
use p4exec::{DropReason, ExecutorKind, Outputs, TraceEvent, Update, executor};
use p4ir::*;
use quantities::{Nanos, PortId, Priority};

use super::build::*;

/// Operations of the test program.
mod op {
    pub(super) const UNICAST: u8 = 0;
    pub(super) const DROP: u8 = 1;
    pub(super) const MULTICAST: u8 = 2;
    pub(super) const CLONE_I2E: u8 = 3;
    pub(super) const RESUBMIT: u8 = 4;
    pub(super) const RECIRCULATE: u8 = 5;
    pub(super) const CLONE_E2E: u8 = 6;
    pub(super) const TRUNCATE: u8 = 7;
    pub(super) const EGRESS_DROP: u8 = 8;
    pub(super) const LOOP: u8 = 9;
    pub(super) const RESUBMIT_FOREVER: u8 = 10;
    pub(super) const PORT_STATUS: u8 = 11;
    pub(super) const SPIN_PARSER: u8 = 99;
}

/// Ingress: `lost = 7`, `kept = arg` for a new packet, output port = `arg`; then by op.
pub(crate) fn program() -> Arc<ValidProgram> {
    let mut b = Build::new();
    let (op, arg) = (Build::header().field(0), Build::header().field(1));
    let kind = b.standard("instance_type");
    let keep = vec![
        b.copy(Build::meta(KEPT), &arg),
        b.set(Build::meta(LOST), 7),
        b.set(Build::meta(ING_PRIO), 2),
    ];
    let new = b.is(&kind, 0);
    let mut ingress = vec![
        stmt(StmtKind::If {
            cond: new,
            then: keep,
            other: vec![],
        }),
        b.copy(b.standard("egress_spec"), &arg),
        b.set(Build::header().field(1), 0xee),
    ];
    let set_group = b.set(b.standard("mcast_grp"), 5);
    ingress.push(b.when(&op, u64::from(op::DROP), vec![Build::drop_call()]));
    ingress.push(b.when(&op, u64::from(op::MULTICAST), vec![set_group]));
    let clone = b.clone_call(0, 3);
    ingress.push(b.when(&op, u64::from(op::CLONE_I2E), vec![clone]));
    let again = b.number_call("resubmit_preserving_field_list", 8, 1);
    let once = b.when(&kind, 0, vec![again.clone()]);
    ingress.push(b.when(&op, u64::from(op::RESUBMIT), vec![once]));
    ingress.push(b.when(&op, u64::from(op::RESUBMIT_FOREVER), vec![again]));
    let cut = b.number_call("truncate", 32, 3);
    ingress.push(b.when(&op, u64::from(op::TRUNCATE), vec![cut]));
    let spin = b.forever();
    ingress.push(b.when(&op, u64::from(op::LOOP), vec![spin]));
    let show = b.copy(Build::header().field(1), &Build::meta(PORTS));
    ingress.push(b.when(&op, u64::from(op::PORT_STATUS), vec![show]));

    // Egress writes what it sees: op = instance type, arg = kept, eg_prio = lost.
    let mut egress = vec![];
    egress.push(b.when(&op, u64::from(op::EGRESS_DROP), vec![Build::drop_call()]));
    let around = b.number_call("recirculate_preserving_field_list", 8, 1);
    // Unicast packets enter egress with instance type 0 even when ingress saw another.
    let once = b.when(&Build::meta(LOST), 7, vec![around]);
    egress.push(b.when(&op, u64::from(op::RECIRCULATE), vec![once]));
    let clone = b.clone_call(1, 4);
    let once = b.when(&kind, 0, vec![clone, Build::drop_call()]);
    egress.push(b.when(&op, u64::from(op::CLONE_E2E), vec![once]));
    let show = vec![
        b.copy(Build::header().field(0), &kind),
        b.copy(arg.clone(), &Build::meta(KEPT)),
    ];
    let fresh = b.is(&kind, 0);
    egress.push(stmt(StmtKind::If {
        cond: fresh,
        then: vec![],
        other: show,
    }));
    egress.push(b.copy(Build::meta(EG_PRIO), &Build::meta(LOST)));
    b.finish(ingress, egress)
}

/// The test program with its clone sessions and groups.
pub(crate) fn configured(kind: ExecutorKind) -> Switch {
    let mut switch = executor(kind, program()).unwrap();
    let session = |replicas| {
        Some(CloneSession {
            replicas,
            ..CloneSession::default()
        })
    };
    let updates = vec![
        Update::SetMulticastGroup {
            group: 5,
            replicas: Some(vec![replica(6, 1), replica(8, 2)]),
        },
        Update::SetCloneSession {
            session: 3,
            config: session(vec![replica(30, 0)]),
        },
        Update::SetCloneSession {
            session: 4,
            config: session(vec![replica(40, 0)]),
        },
    ];
    switch
        .state_mut()
        .apply_batch(updates, Nanos::default())
        .unwrap();
    switch
}

fn run(kind: ExecutorKind, bytes: &[u8]) -> (Vec<(u16, Vec<u8>)>, Vec<DropReason>) {
    send(&mut configured(kind), bytes)
}

#[test]
fn unicast_and_its_metadata() {
    for kind in ExecutorKind::ALL {
        let mut out = Outputs::default();
        let mut switch = configured(kind);
        switch.process(
            Nanos::new(0),
            &[op::UNICAST, 17, 0xaa, 0xbb],
            PortId::new(1),
            &mut out,
        );
        assert_eq!(out.dropped, []);
        let sent = &out.sent[0];
        assert_eq!(
            (sent.port.get(), &sent.bytes[..]),
            (17, &[op::UNICAST, 0xee, 0xaa, 0xbb][..])
        );
        assert_eq!(sent.metadata.ing_prio, Some(Priority::new(2)));
        assert_eq!(sent.metadata.eg_prio, Some(Priority::new(7)));
    }
}

#[test]
fn drops_have_reasons() {
    for kind in ExecutorKind::ALL {
        assert_eq!(
            run(kind, &[op::DROP, 1]),
            (vec![], vec![DropReason::Ingress])
        );
        assert_eq!(
            run(kind, &[op::EGRESS_DROP, 1]),
            (vec![], vec![DropReason::Egress])
        );
        let mut switch = configured(kind);
        let gone = Update::SetMulticastGroup {
            group: 5,
            replicas: None,
        };
        switch.state_mut().apply(gone, Nanos::default()).unwrap();
        let (sent, dropped) = send(&mut switch, &[op::MULTICAST, 1]);
        assert_eq!(
            (sent, dropped),
            (vec![], vec![DropReason::EmptyMulticastGroup(5)])
        );
    }
}

#[test]
fn multicast_copies_carry_all_metadata() {
    for kind in ExecutorKind::ALL {
        let (sent, dropped) = run(kind, &[op::MULTICAST, 1, 0xaa]);
        // Instance type 5, `kept` as ingress set it.
        assert_eq!(sent, [(6, vec![5, 1, 0xaa]), (8, vec![5, 1, 0xaa])]);
        assert_eq!(dropped, []);
    }
}

#[test]
fn an_ingress_clone_is_the_packet_as_it_came() {
    for kind in ExecutorKind::ALL {
        let (sent, _) = run(kind, &[op::CLONE_I2E, 9, 0xaa]);
        // The clone is taken first; it keeps `kept` only, and its header was parsed again.
        assert_eq!(
            sent,
            [(30, vec![1, 9, 0xaa]), (9, vec![op::CLONE_I2E, 0xee, 0xaa])]
        );
        let mut out = Outputs::default();
        configured(kind).process(Nanos::new(0), &[op::CLONE_I2E, 9], PortId::new(1), &mut out);
        assert_eq!(
            out.sent[0].metadata.eg_prio,
            Some(Priority::new(0)),
            "`lost` is lost"
        );
    }
}

#[test]
fn an_egress_clone_has_the_headers_egress_left() {
    for kind in ExecutorKind::ALL {
        let (sent, dropped) = run(kind, &[op::CLONE_E2E, 9, 0xaa]);
        assert_eq!(sent, [(40, vec![2, 9, 0xaa])]);
        assert_eq!(
            dropped,
            [DropReason::Egress],
            "the original was dropped after it was cloned"
        );
    }
}

#[test]
fn resubmitted_and_recirculated_packets_start_over() {
    for kind in ExecutorKind::ALL {
        assert_eq!(
            run(kind, &[op::RESUBMIT, 9, 0xaa]).0,
            [(9, vec![op::RESUBMIT, 0xee, 0xaa])]
        );
        // The recirculated packet has `arg` 0xee, the port it then asks for.
        assert_eq!(
            run(kind, &[op::RECIRCULATE, 9, 0xaa]).0,
            [(0xee, vec![op::RECIRCULATE, 0xee, 0xaa])]
        );
    }
}

#[test]
fn nothing_runs_for_ever() {
    for kind in ExecutorKind::ALL {
        assert_eq!(
            run(kind, &[op::LOOP, 1]).1,
            [DropReason::LoopBound(1 << 16)]
        );
        assert_eq!(
            run(kind, &[op::RESUBMIT_FOREVER, 1]).1,
            [DropReason::PassBound(4096)]
        );
        let mut trace: Vec<TraceEvent> = Vec::new();
        let mut out = Outputs::default();
        let packet = [op::SPIN_PARSER, 4];
        configured(kind).process_traced(
            Nanos::new(0),
            &packet,
            PortId::new(1),
            &mut out,
            &mut trace,
        );
        let timeout = TraceEvent::ParserError {
            error: "ParserTimeout".into(),
        };
        assert!(trace.contains(&timeout));
        assert_eq!(out.sent[0].port.get(), 4, "ingress gets it all the same");
    }
}

#[test]
fn truncation_and_short_packets() {
    for kind in ExecutorKind::ALL {
        assert_eq!(
            run(kind, &[op::TRUNCATE, 4, 1, 2, 3]).0,
            [(4, vec![op::TRUNCATE, 0xee, 1])]
        );
        let mut trace: Vec<TraceEvent> = Vec::new();
        let mut out = Outputs::default();
        configured(kind).process_traced(Nanos::new(0), &[5], PortId::new(1), &mut out, &mut trace);
        assert!(trace.contains(&TraceEvent::ParserError {
            error: "PacketTooShort".into()
        }));
        let Some(TraceEvent::EndOfIngress { fields }) = trace
            .iter()
            .find(|e| matches!(e, TraceEvent::EndOfIngress { .. }))
        else {
            panic!("no end of ingress in {trace:?}");
        };
        let error = fields
            .iter()
            .find(|(name, _)| name == "standard_metadata.parser_error")
            .unwrap();
        assert_eq!(error.1, Bits::from_u64(32, 1));
        assert!(
            !fields.iter().any(|(name, _)| name == "hdr.h.op"),
            "the header is not valid"
        );
        assert_eq!(out.sent[0].bytes, [5], "what was not parsed is payload");
        assert_eq!(run(kind, &[]).0, [(0, vec![])]);
    }
}

#[test]
fn programs_see_which_ports_are_up() {
    for kind in ExecutorKind::ALL {
        let mut switch = configured(kind);
        switch.state_mut().set_port_count(6);
        switch.state_mut().set_port_up(PortId::new(2), false);
        assert_eq!(
            send(&mut switch, &[op::PORT_STATUS, 4]).0,
            [(4, vec![op::PORT_STATUS, 0b11_1011])]
        );
        switch.state_mut().set_port_up(PortId::new(2), true);
        assert_eq!(
            send(&mut switch, &[op::PORT_STATUS, 4]).0,
            [(4, vec![op::PORT_STATUS, 0b11_1111])]
        );
    }
}

#[test]
fn foreign_programs_are_refused() {
    for kind in ExecutorKind::ALL {
        let mut b = Build::new();
        let call = b.number_call("launch_rocket", 8, 1);
        let error = executor(kind, b.finish(vec![call], vec![])).err().unwrap();
        assert_eq!(
            error.to_string(),
            "extern function `launch_rocket` is not one that the embedded switch can run"
        );
        let empty = Arc::new(validate(Program::default()).unwrap());
        assert!(executor(kind, empty).is_err());
    }
}
