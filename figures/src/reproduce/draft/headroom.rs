//! PFC headroom (TaggerDraft section 3.3).

use plan::check::{Options, check};
use plan::headroom;
use quantities::{BitRate, Bytes, Metres};
use schemes::{TaggerOptions, tagger};
use topology::generate::{Cables, FatTree};

use super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};

const PORT: &str = "bytes of one port and priority";
const SWITCH: &str = "KB of 32 ports and 8 priorities";
const TREE: &str = "part of that in a tree";
const SHARE: &str = "percent of a 12 MB buffer in a tree";

/// Equation 1 and what follows from it.
pub(super) fn rows() -> Vec<Row> {
    const REASON: &str = "packets of two priorities do enter the same switch: what has bounced at a leaf comes back from above with the second priority \
                          beside packets that have not bounced; only ports of hosts need headroom for the first alone";
    vec![
        Row::exact("headroom", PORT, 21_968.0),
        // The draft rounds 21,968 bytes to 22 KB first.
        Row::new("headroom", SWITCH, Said::Number(5632.0))
            .within(Tolerance::Part(0.01))
            .lower(),
        Row::new("headroom", TREE, Said::Number(0.5))
            .within(Tolerance::By(0.01))
            .lower()
            .because(REASON),
        Row::new("headroom", SHARE, Said::Number(22.9))
            .within(Tolerance::Part(0.02))
            .lower()
            .because(REASON),
    ]
}

/// Ports and priorities of the draft's switch.
const PORTS: u32 = 32;
const PRIORITIES: u32 = 8;

/// Ours.
pub(super) fn measure(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let port = headroom(BitRate::gbps(40), Metres::new(300), Bytes::new(1500));
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let port = port.get() as f64;
    let switch = port * f64::from(PORTS * PRIORITIES) / 1000.0;
    let part = part_in_a_tree()?;
    Ok(vec![
        Value::of(PORT, port),
        Value::of(SWITCH, switch),
        Value::of(TREE, part),
        Value::of(SHARE, 100.0 * part * switch / 12_288.0),
    ])
}

/// What headroom the switches of a fat-tree need if no port keeps any for priorities that cannot
/// come in there, over what all ports and priorities need: of all switches together.
fn part_in_a_tree() -> Result<f64, ItemError> {
    let cables = Cables::default();
    let topology = FatTree { k: 4, cables }.generate().told()?;
    let tables = tagger(&topology, &TaggerOptions::default()).told()?;
    let plan = check(tables, &Options::default()).told()?;
    let switches = plan.headroom_needed();
    let sum = |read: fn(&plan::HeadroomNeeded) -> Bytes| {
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let sum = switches.iter().map(|own| read(own).get()).sum::<u64>() as f64;
        sum
    };
    Ok(sum(|own| own.needed) / sum(|own| own.all))
}
