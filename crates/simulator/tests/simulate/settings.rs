//! Buffers as files say what the plan says.

use plan::{CheckedPlan, check};
use quantities::{BitRate, Metres, PortId};
use schemes::TaggerOptions;
use simulator::simulate::{LosslessFile, SwitchBuffer, lossless_of_plan};
use topology::generate::{Cables, Clos};

/// A Clos whose cables to hosts are slower and shorter than those of the fabric.
fn plan() -> CheckedPlan {
    let cables = Cables {
        host_rate: BitRate::gbps(25),
        fabric_rate: BitRate::gbps(100),
        host_length: Metres::new(3),
        fabric_length: Metres::new(200),
    };
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables,
    };
    let tables = schemes::tagger(&clos.generate().unwrap(), &TaggerOptions::default()).unwrap();
    check(tables, &check::Options::default()).unwrap()
}

#[test]
fn the_file_of_a_switch_makes_that_switch() {
    let plan = plan();
    for switch in plan.topology().switch_ids() {
        let file = LosslessFile::of_plan(&plan, switch).unwrap();
        let read = LosslessFile::from_yaml(&file.to_yaml()).unwrap();
        assert_eq!(read, file);
        let mut wanted = lossless_of_plan(&plan, switch, None).unwrap();
        let ports: Vec<PortId> = wanted.ports.iter().map(|p| p.port).collect();
        let made = read.config(&ports, 7).unwrap();
        // A process has addresses of its own.
        for (port, own) in wanted.ports.iter_mut().zip(&made.ports) {
            port.mac = own.mac;
        }
        assert_eq!(made, wanted);
    }
}

#[test]
fn headroom_and_what_is_shared_make_the_buffer() {
    let plan = plan();
    let leaf = plan.topology().switch_named("leaf1").unwrap();
    let buffer = SwitchBuffer::of_plan(&plan, leaf).unwrap();
    let classes = buffer.lossless_priorities.len() as u64;
    assert!(classes > 0);
    let headroom: u64 = buffer.ports.iter().map(|p| p.headroom_bytes).sum();
    assert_eq!(
        buffer.shared_bytes + headroom * classes,
        buffer.buffer_bytes
    );
    let of = |peer: &str| {
        let port = buffer.ports.iter().find(|p| p.peer.starts_with(peer));
        port.unwrap().headroom_bytes
    };
    assert!(of("spine1") > of("h1"), "long and fast cables take more");
}
