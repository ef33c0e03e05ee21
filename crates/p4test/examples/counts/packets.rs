//! Compiled programs on packets that they have not seen one right after the other:
//! `benches/p4/counts.p4`.

use p4exec::ExecutorKind;
use p4exec::exec::Batch;
use p4front::Options;
use quantities::{Nanos, PortId};

use super::{Failure, Kernel};

/// Packets of one run: so many that few follow one of their flow.
const PACKETS: u32 = 4096;

/// Ethernet, VLAN, IPv4 with a right checksum, UDP; each its own flow.
fn packet(number: u32) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x81, 0, 0x20, 1, 8, 0];
    bytes.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0]);
    bytes.extend((number as u16).to_be_bytes());
    bytes.extend([10, 1, 2, 3]);
    let sum = p4exec::externs::hash::internet_checksum(&bytes[18..38]);
    bytes[28..30].copy_from_slice(&sum.to_be_bytes());
    bytes.extend([0x12, 0x34, 0x56, 0x78]);
    bytes.resize(68, 0);
    bytes
}

/// A program in which `defined` is defined, with `entries`; it sends all packets on or none.
fn kernel(defined: &str, entries: &str, sends: bool) -> Result<Kernel, Failure> {
    let mut options = Options::on_disk();
    options.defines.push((defined.to_owned(), "1".to_owned()));
    let path = p4test::root().join("benches/p4/counts.p4");
    let program = p4test::compile(&path, &options)?;
    let mut executor = p4exec::executor(ExecutorKind::Compile, program)?;
    let entries = stf::parse(entries)?;
    stf::run(&entries, executor.as_mut()).map_err(|failures| format!("{failures:?}"))?;
    let packets: Vec<Vec<u8>> = (0..PACKETS).map(packet).collect();
    let mut batch = Batch::default();
    let run = move || {
        let arrivals: Vec<(PortId, &[u8])> =
            packets.iter().map(|p| (PortId::new(1), &**p)).collect();
        batch.clear();
        executor.process_batch(Nanos::new(0), &arrivals, &mut batch);
        let done = if sends {
            batch.sent.len()
        } else {
            batch.dropped.len()
        };
        done as u64
    };
    Ok(Kernel {
        unit: "packet",
        run: Box::new(run),
    })
}

/// Headers are found and taken apart; then the packet is dropped.
pub(super) fn parse() -> Result<Kernel, Failure> {
    kernel("PARSE", "", false)
}

/// The same, and the key of a five-tuple is made and looked up in a table of one other flow.
pub(super) fn key() -> Result<Kernel, Failure> {
    let entry =
        "add flows ipv4.src:1 ipv4.dst:2 ipv4.protocol:6 ports.src:3 ports.dst:4 permit(port:2)";
    kernel("KEY", entry, false)
}

/// Headers are parsed, both checksums made, three fields changed, and the packet is put together
/// and sent.
pub(super) fn deparse() -> Result<Kernel, Failure> {
    kernel("DEPARSE", "", true)
}
