//! A lossless switch of two ports that sends frames back where they came from. It prints what the
//! switch transmits, and when.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use device::buffer::{BufferConfig, PortConfig};
use device::{Device, Egress, Frame};
use p4exec::Interpreter;
use p4front::{Options, source::SourceMap};
use quantities::{BitRate, Bytes, Nanos, PortId, Priority};
use wire::MacAddr;

const REFLECT: &str = r"
#include <core.p4>
#include <v1model.p4>
struct H { }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply { s.egress_spec = s.ingress_port; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut map = SourceMap::new();
    let file = map.add("reflect.p4", REFLECT)?;
    let program = p4front::compile(&mut map, file, &Options::default()).map_err(|_| "P4 errors")?;
    let ports = [1, 2].map(PortId::new);
    let mut device = Device::new(Interpreter::new(Arc::new(program.ir))?, ports);

    let port = |port| PortConfig {
        port,
        rate: BitRate::gbps(10),
        headroom: Bytes::new(10_000),
        mac: MacAddr::from([2, 0, 0, 0, 0, 1]),
        reaction: Nanos::new(0),
    };
    let lossless = [Priority::new(1)].into_iter().collect();
    let ports = ports.map(port).to_vec();
    let config = BufferConfig::usual(Bytes::new(1_000_000), lossless, ports);
    device.set_egress(Egress::buffer(config)?);

    let frames = [(1, 'a'), (2, 'b'), (1, 'c'), (1, 'd')];
    let frames = frames.map(|(port, text)| (PortId::new(port), [text as u8; 1_000]));
    let burst = frames
        .each_ref()
        .map(|(port, bytes)| Frame::new(*port, bytes));
    let mut now = Nanos::new(0);
    device.accept(now, &burst);
    loop {
        while let Some(sent) = device.poll_transmit(now) {
            let (port, length, text) = (sent.port, sent.bytes.len(), sent.bytes[0] as char);
            println!(
                "{now} ns: port {port} starts {length} bytes of `{text}`, until {} ns",
                sent.until
            );
        }
        let Some(next) = device.poll_timeout() else {
            return Ok(());
        };
        now = next;
    }
}
