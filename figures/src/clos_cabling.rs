//! Cables and cost of the Clos networks that FC23's Table 4 sets beside Flattened Clos, by its
//! layout of appendix A.4.2.

use std::collections::BTreeMap;

use topology::cabling::{PriceError, Prices};

/// A Clos of leaves, aggregation switches and spines, cabled. All switches have [`PORTS`] ports.
///
/// What FC23 says of their sizes leaves much open. The following makes all its numbers of switches,
/// transceivers and metres:
/// - A pod has as many aggregation switches as a leaf has links up, and at most half as many leaves
///   as a switch has ports; hosts are spread over as few pods as hold them, and each pod is cabled
///   for as many leaves.
/// - Every spine has the same number of links to every pod: as many as its ports allow. That gives
///   the number of spines.
/// - If there are more pods than ports, a spine is a Clos of two layers itself, with copper within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosCabling {
    /// Layers of switches: 3, or 4 where spines are networks themselves.
    pub layers: u32,
    /// Switches.
    pub switches: u64,
    /// Copper cables: of hosts, and within spines.
    pub copper_cables: u64,
    /// Fibers by the distance that they cross, from rack to rack.
    pub fibers: BTreeMap<u64, u64>,
    /// Links that the best halving of the network cuts: half of those between pods and spines, on
    /// whole multiples of half a switch's ports of pods where spines are networks.
    pub bisection: u64,
}

/// Ports of a switch.
const PORTS: u64 = 32;
/// Leaves of a pod at most, and links up of an aggregation switch.
const HALF: u64 = PORTS / 2;
/// Ports, and switches, of a spine that is a network itself.
const NETWORK_PORTS: u64 = PORTS * HALF;
const NETWORK_SWITCHES: u64 = PORTS + HALF;
/// Spines on a place of the floor. FC23's text says 24, but its lengths of fiber are those of 48.
const SPINES_PER_PLACE: u64 = 48;
/// Metres of a copper cable.
const COPPER: f64 = 2.0;
/// Metres from rack to rack. FC23 does not say it: this makes its lengths of fiber in all rows.
pub const CLOS_PITCH: f64 = 2.0;

impl ClosCabling {
    /// The Clos for so many hosts with so many of them at a leaf; `None` if it takes more layers,
    /// or leaves have no links up or no hosts.
    #[must_use]
    pub fn new(hosts: u32, hosts_per_leaf: u16) -> Option<Self> {
        let (hosts, per_leaf) = (u64::from(hosts), u64::from(hosts_per_leaf));
        let up = PORTS.checked_sub(per_leaf).filter(|&up| up > 0)?;
        if per_leaf == 0 || hosts == 0 {
            return None;
        }
        let leaves = hosts.div_ceil(per_leaf);
        let pods = leaves.div_ceil(HALF);
        let layers = if pods <= PORTS { 3 } else { 4 };
        let (ports, switches_of_spine) = match layers {
            3 => (PORTS, 1),
            _ => (NETWORK_PORTS, NETWORK_SWITCHES),
        };
        let most_links = ports.checked_div(pods).filter(|&links| links > 0)?;
        // A single switch serves one aggregation switch of every pod, a network any of them.
        let (uplinks, planes) = if layers == 3 {
            (HALF, up)
        } else {
            (HALF * up, 1)
        };
        let spines_of_plane = uplinks.div_ceil(most_links);
        let links = uplinks.div_ceil(spines_of_plane);
        let spines = spines_of_plane * planes;
        let mut fibers = BTreeMap::new();
        for leaf in 0..leaves.div_ceil(pods) {
            *fibers.entry(leaf / 2 + 1).or_default() += pods * up;
        }
        for pod in 0..pods {
            for spine in 0..spines {
                *fibers.entry(pod / 2 + 1 + spine_row(spine)).or_default() += links;
            }
        }
        let (within, bisected) = if layers == 3 {
            (0, pods)
        } else {
            (spines * NETWORK_PORTS, pods.next_multiple_of(HALF))
        };
        Some(Self {
            layers,
            switches: leaves + pods * up + spines * switches_of_spine,
            copper_cables: hosts + within,
            fibers,
            bisection: bisected * HALF * up / 2,
        })
    }

    /// How many hosts a leaf has at least so that the Clos for `hosts` hosts carries no more than
    /// `bisection` from half to half, as FC23's section A.4.3 chooses it.
    #[must_use]
    pub fn hosts_per_leaf_within(hosts: u32, bisection: u64) -> Option<u16> {
        let ports = u16::try_from(PORTS).ok()?;
        (1..ports).find(|&per_leaf| {
            Self::new(hosts, per_leaf).is_some_and(|clos| clos.bisection <= bisection)
        })
    }

    /// Transceivers: two of every fiber.
    #[must_use]
    pub fn transceivers(&self) -> u64 {
        2 * self.fibers.values().sum::<u64>()
    }

    /// Kilometres of copper.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn copper_km(&self) -> f64 {
        self.copper_cables as f64 * COPPER / 1000.0
    }

    /// Kilometres of fiber.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn fiber_km(&self) -> f64 {
        let crossed = self.fibers.iter().map(|(racks, count)| racks * count);
        crossed.sum::<u64>() as f64 * CLOS_PITCH / 1000.0
    }

    /// Cost.
    ///
    /// # Errors
    /// [`PriceError`] if no fiber or transceiver is long enough.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn cost(&self, prices: &Prices) -> Result<f64, PriceError> {
        prices.check()?;
        let switches = self.switches as f64 * prices.switch;
        let mut cost = switches + self.copper_cables as f64 * prices.copper;
        for (&racks, &count) in &self.fibers {
            let metres = racks as f64 * CLOS_PITCH;
            let ends = 2.0 * prices.transceiver(metres)?;
            cost += count as f64 * (prices.fiber(metres)? + ends);
        }
        Ok(cost)
    }
}

/// How far from the row of aggregation switches a spine stands: spines stand on both sides of it.
fn spine_row(spine: u64) -> u64 {
    (spine + SPINES_PER_PLACE) / (2 * SPINES_PER_PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_layers_are_those_of_the_paper() {
        let clos = ClosCabling::new(2400, 22).unwrap();
        assert_eq!(
            (
                clos.layers,
                clos.switches,
                clos.transceivers(),
                clos.bisection
            ),
            (3, 220, 4480, 560)
        );
        assert!((clos.copper_km() - 4.8).abs() < 1e-9);
        assert!((clos.fiber_km() - 15.2).abs() < 0.05);
    }

    #[test]
    fn four_layers_have_networks_for_spines() {
        let clos = ClosCabling::new(24_000, 16).unwrap();
        assert_eq!(
            (
                clos.layers,
                clos.switches,
                clos.transceivers(),
                clos.bisection
            ),
            (4, 5500, 97_008, 12_288)
        );
        assert_eq!(clos.copper_cables, 24_000 + 52 * 512);
        assert!((clos.fiber_km() - 1393.5).abs() < 0.05);
    }

    #[test]
    fn more_hosts_at_a_leaf_carry_no_more() {
        assert_eq!(ClosCabling::hosts_per_leaf_within(2400, 1292), Some(16));
        assert_eq!(ClosCabling::hosts_per_leaf_within(2400, 1), None);
        assert_eq!(ClosCabling::new(2400, 32), None);
        assert_eq!(ClosCabling::new(2400, 0), None);
        assert_eq!(ClosCabling::new(1_000_000, 16), None);
    }
}
