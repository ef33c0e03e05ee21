//! The simulator: hosts of a fat-tree of four ports that each send to another one, through the
//! generated program in every switch.

use quantities::BitRate;
use schemes::TaggerOptions;
use simulator::embedded::Network;
use simulator::simulate::Session;
use spec::Scenario;
use topology::generate::{Cables, FatTree};

use super::{Failure, Kernel};

const SCENARIO: &str = "name: counts\nduration: 120us\nflows:\n  - { pattern: permutation }\n";

/// Where the counted slices begin and end, in nanoseconds.
const SLICE: u64 = 20_000;
/// Events of a slice, and a few more.
const EVENTS: u64 = 10_000;

/// Events while all hosts send at full rate.
pub(super) fn event() -> Result<Kernel, Failure> {
    let rate = BitRate::gbps(40);
    let cables = Cables {
        host_rate: rate,
        fabric_rate: rate,
        ..Cables::default()
    };
    let topology = FatTree { k: 4, cables }.generate()?;
    let tables = schemes::tagger(&topology, &TaggerOptions::default())?;
    let plan = plan::check(tables, &plan::check::Options::default())?;
    let network = Network::of(plan)?;
    let mut session = Session::new(&network, &Scenario::from_yaml(SCENARIO)?, false)?;
    // Until buffers hold what they hold from then on.
    session.run(SLICE, u64::MAX)?;
    let run = move || {
        let before = session.events();
        let ended = session.run(u64::MAX, EVENTS);
        // A scenario that ends or fails does no events.
        match ended {
            Ok(false) => session.events() - before,
            Ok(true) | Err(_) => 0,
        }
    };
    Ok(Kernel {
        unit: "event",
        run: Box::new(run),
    })
}
