//! `switch --threads`: several data-plane threads forward what one does.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::support::{Switch, WAIT};

/// From port 1 to port 2, counted by the last byte of the source address.
const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
header front_t { bit<208> before; bit<24> network; bit<8> host; }
struct H { front_t front; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.front); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    counter(256, CounterType.packets) hosts;
    apply { hosts.count((bit<32>) h.front.host); s.egress_spec = 2; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.front); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

fn datagram(host: u8, number: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, host, 10, 9, 0, 2, 0, 7, 0, 53, 0, 9, 0, 0, number]);
    frame
}

/// A capture file with these frames.
fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for frame in frames {
        let length = frame.len() as u32;
        for number in [1, 0, length, length] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend_from_slice(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// The frames of a capture file, when there are so many.
fn read_capture(path: &Path, count: usize) -> Vec<Vec<u8>> {
    let start = Instant::now();
    loop {
        let bytes = std::fs::read(path).unwrap();
        let (mut rest, mut frames) = (&bytes[24..], Vec::new());
        while let Some(length) = rest.get(8..12) {
            let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
            let Some(frame) = rest.get(16..16 + length) else {
                break;
            };
            frames.push(frame.to_vec());
            rest = &rest[16 + length..];
        }
        if frames.len() >= count || start.elapsed() > WAIT {
            return frames;
        }
        std::thread::yield_now();
    }
}

/// Frames by host, in their order.
fn by_host(frames: &[Vec<u8>]) -> BTreeMap<u8, Vec<Vec<u8>>> {
    let mut flows: BTreeMap<u8, Vec<Vec<u8>>> = BTreeMap::new();
    for frame in frames {
        flows.entry(frame[29]).or_default().push(frame.clone());
    }
    flows
}

#[test]
fn two_threads_forward_what_one_does_and_flows_stay_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("count.p4"), PROGRAM).unwrap();
    let frames: Vec<Vec<u8>> = (0..40)
        .flat_map(|number| (0..50).map(move |host| datagram(host, number)))
        .collect();
    write_capture(&file("in.pcap"), &frames);
    let mut outcomes = Vec::new();
    for threads in ["1", "2"] {
        let out = file(&format!("out{threads}.pcap"));
        let program = file("count.p4").display().to_string();
        let port = format!("2@pcap:,{}", out.display());
        let arguments = ["-i", &port, &program, "--threads", threads];
        let address = ["--grpc-server-addr", "127.0.0.1:0"];
        let switch = Switch::start(folder.path(), &[arguments.as_slice(), &address].concat());
        assert_eq!(switch.ready["threads"].to_string(), threads);
        // The program runs: what is played in now is not lost.
        switch.done(&format!("port_add 1@pcap:{}\n", file("in.pcap").display()));
        let came = read_capture(&out, frames.len());
        let counted = switch.done("counter_read I.hosts 7\ncounter_read I.hosts 49\n");
        assert_eq!(counted.matches(" 40 packets").count(), 2, "{counted}");
        let ports = switch.done("show_ports\n");
        assert!(ports.contains("2000"), "{ports}");
        assert_eq!(switch.stop(), Some(0));
        assert_eq!(by_host(&came), by_host(&frames));
        outcomes.push(by_host(&came));
    }
    assert_eq!(outcomes[0], outcomes[1]);
}
