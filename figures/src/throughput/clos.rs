//! The folded Clos that carries most with so many switches (FC23 appendix A.3).

use serde::Serialize;

/// Layers of switches that are tried at most: switches at the top of six layers join more pods than
/// there are addresses.
const MOST_LAYERS: u32 = 6;

/// A folded Clos of equal switches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClosSize {
    /// Layers of switches.
    pub layers: u32,
    /// Switches in all.
    pub switches: u64,
    /// Hosts of a leaf.
    pub hosts_per_leaf: u16,
    /// By which factor hosts' line rates can be carried, whatever the pattern of traffic.
    pub throughput: f64,
}

impl ClosSize {
    /// The Clos for `hosts` hosts of at most `most_switches` switches with `ports` ports that
    /// carries most; `None` if none has so few switches.
    pub(super) fn best(hosts: u64, ports: u16, most_switches: u64) -> Option<Self> {
        let mut best: Option<Self> = None;
        for layers in 2..=MOST_LAYERS {
            let sizes = (1..ports).filter_map(|per_leaf| Self::new(hosts, ports, per_leaf, layers));
            let found = sizes
                .into_iter()
                .find(|size| size.switches <= most_switches);
            let better =
                |found: &Self| best.is_none_or(|best| found.hosts_per_leaf < best.hosts_per_leaf);
            best = found.filter(better).or(best);
        }
        best
    }

    /// The Clos with so many hosts at each leaf; `None` if it joins too few leaves.
    fn new(hosts: u64, ports: u16, hosts_per_leaf: u16, layers: u32) -> Option<Self> {
        let (half, up) = (u64::from(ports / 2), u64::from(ports - hosts_per_leaf));
        let leaves = hosts.div_ceil(u64::from(hosts_per_leaf));
        let switches = if layers == 2 {
            (leaves <= u64::from(ports)).then_some(leaves + up)
        } else {
            // Half as many leaves as ports share a pod of as many aggregation switches as a leaf
            // has links up; each of those joins the spines of its own plane. A spine is one switch,
            // or a Clos itself with as many ports down as it has all in all.
            let pods = leaves.div_ceil(half);
            let below = layers - 2;
            let spine_ports = 2 * half.checked_pow(below)?;
            let spine_switches = u64::from(2 * below - 1) * half.checked_pow(below - 1)?;
            let spines = up * (pods * half).div_ceil(spine_ports);
            (pods <= spine_ports).then_some(leaves + pods * up + spines * spine_switches)
        }?;
        Some(Self {
            layers,
            switches,
            hosts_per_leaf,
            throughput: f64::from(ports - hosts_per_leaf) / f64::from(hosts_per_leaf),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_paper() {
        // Table 3: 64 leaves, 56 aggregation switches, 28 spines.
        let clos = ClosSize::best(1152, 32, 148).unwrap();
        assert_eq!(
            (clos.layers, clos.switches, clos.hosts_per_leaf),
            (3, 148, 18)
        );
        assert!((clos.throughput - 0.78).abs() < 0.005);
        // Section 4.3: two layers serve 700 hosts, three are needed for 1,400.
        assert_eq!(ClosSize::best(700, 32, 50).unwrap().layers, 2);
        assert_eq!(ClosSize::best(1400, 32, 100).unwrap().layers, 3);
    }

    #[test]
    fn more_switches_never_carry_less() {
        let mut last = 0.0;
        for most in 0..400 {
            let carried = ClosSize::best(1152, 32, most).map_or(0.0, |clos| {
                assert!(clos.switches <= most);
                clos.throughput
            });
            assert!(carried >= last, "{most}");
            last = carried;
        }
        assert!(last >= 1.0);
    }
}
