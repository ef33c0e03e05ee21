//! What failover rules cost: TCAM bits as Stephens15 section 4.7 counts them, and as Tofino 1 would
//! allot them.

use serde::Serialize;

use super::table::{RuleRef, SwitchTable};
use super::{Failover, LabelKind, Output};

/// Width of the port status in Stephens15: its switches have 64 ports.
const PORT_BITS: u64 = 64;
/// Width of a destination in Stephens15: a MAC address and a VXLAN tag, in exact-match memory.
const DESTINATION_BITS: u64 = 72;
/// Width of a failure set's or a route's number in Stephens15, in exact-match memory.
const TAG_BITS: u64 = 24;
/// Width of a hop.
const HOP_BITS: u64 = 8;
/// Width of an input port or the number of a tree, which Stephens15 does not count as TCAM (its
/// sections 4.7 and 5.3).
const TREE_BITS: u64 = 8;

/// A Tofino TCAM block: 512 entries of 44 bits.
const BLOCK_ROWS: u64 = 512;
const BLOCK_BITS: u64 = 44;
/// TCAM blocks of a stage.
const STAGE_BLOCKS: u64 = 24;

/// What Tofino 1 would allot to a table of ternary rules of one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TofinoTcam {
    /// Width of the key in bits: the widest rule decides.
    pub key_bits: u64,
    /// Blocks of 512 entries of 44 bits.
    pub blocks: u64,
    /// Bits of those blocks.
    pub bits: u64,
    /// Stages of 24 blocks that they fill.
    pub stages: u64,
}

/// The rules of one switch in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateCounts {
    /// Rules.
    pub rules: u64,
    /// Rules that drop.
    pub drops: u64,
    /// TCAM bits as Stephens15 counts them: 64 of port status, and 8 per hop of the longest reverse
    /// route that a rule asks about or a bit per tree. Destinations and numbers of failure sets and
    /// routes are not counted: they are in exact-match memory there.
    pub tcam_bits: u64,
    /// Distinct (output, action) pairs: no compression can go below.
    pub actions: u64,
    /// What Tofino 1 would allot.
    pub tofino: TofinoTcam,
}

/// Bits of a key that tell of failures.
#[derive(Clone, Copy, Debug, Default)]
struct LabelBits {
    hops: u64,
    /// Which trees have failed.
    trees: u64,
    /// The number of a failure set or a route; not counted as TCAM by Stephens15.
    number: u64,
    /// Not counted as TCAM by Stephens15.
    tree: u64,
}

impl LabelBits {
    fn of(label: LabelKind, trees: u64, rule: &RuleRef<'_>) -> Self {
        let none = Self::default();
        match label {
            LabelKind::ReverseRoute => Self {
                hops: HOP_BITS * rule.reverse.hops.len() as u64,
                ..none
            },
            LabelKind::FailureSet | LabelKind::RouteId => Self {
                number: TAG_BITS,
                ..none
            },
            LabelKind::FailedTrees => Self {
                trees,
                tree: TREE_BITS,
                ..none
            },
        }
    }

    /// A key that holds both.
    fn or(self, other: Self) -> Self {
        Self {
            hops: self.hops.max(other.hops),
            trees: self.trees.max(other.trees),
            number: self.number.max(other.number),
            tree: self.tree.max(other.tree),
        }
    }
}

impl Failover {
    /// What the header of packets says that a rule is for; of several kinds the first
    /// destination's.
    fn label_of_rule(&self, rule: &RuleRef<'_>) -> LabelKind {
        let own = match rule.destination.as_exact() {
            Some(code) => {
                let place = self.destinations.binary_search_by_key(&code, |d| d.code);
                place.ok().and_then(|place| self.destinations.get(place))
            }
            None => {
                let mut all = self.destinations.iter();
                all.find(|d| rule.destination.matches(d.code))
            }
        };
        own.map_or(self.label, |own| self.protection(own).label)
    }

    /// By rule of a table: what the header of its packets says.
    fn labels_of<'a>(
        &'a self,
        table: &'a SwitchTable,
    ) -> impl Iterator<Item = (RuleRef<'a>, LabelKind)> {
        let differ = self.destinations.iter().any(|d| d.own.is_some());
        table.iter().map(move |rule| {
            let label = if differ {
                self.label_of_rule(&rule)
            } else {
                self.label
            };
            (rule, label)
        })
    }

    /// How many trees the rules know, where labels are failed trees.
    fn trees(&self) -> u64 {
        if !self.labels().contains(&LabelKind::FailedTrees) {
            return 0;
        }
        let rules = self.tables.iter().flat_map(|table| self.labels_of(table));
        let of_trees = rules.filter(|(_, label)| *label == LabelKind::FailedTrees);
        let bits = of_trees.fold(0u32, |bits, (rule, _)| bits | rule.tag.mask());
        u64::from(bits.count_ones())
    }

    /// The rules of every switch in numbers, in switch order.
    #[must_use]
    pub fn counts(&self) -> Vec<StateCounts> {
        let trees = self.trees();
        let tables = self.tables.iter();
        tables.map(|table| self.count(table, trees)).collect()
    }

    fn count(&self, table: &SwitchTable, trees: u64) -> StateCounts {
        let mut counts = StateCounts {
            rules: table.len() as u64,
            actions: table.actions().len() as u64,
            ..StateCounts::default()
        };
        // One table holds all rules, so its key has room for whatever any of them asks.
        let mut key = LabelBits::default();
        for (rule, label) in self.labels_of(table) {
            let own = LabelBits::of(label, trees, &rule);
            counts.tcam_bits += PORT_BITS + own.hops + own.trees;
            key = key.or(own);
            counts.drops += u64::from(rule.action.out().is_none());
        }
        let widest = match counts.rules {
            0 => 0,
            // The tag holds one or the other.
            _ => PORT_BITS + DESTINATION_BITS + key.hops + key.number.max(key.trees) + key.tree,
        };
        let blocks = widest.div_ceil(BLOCK_BITS) * counts.rules.div_ceil(BLOCK_ROWS);
        counts.tofino = TofinoTcam {
            key_bits: widest,
            blocks,
            bits: blocks * BLOCK_BITS * BLOCK_ROWS,
            stages: blocks.div_ceil(STAGE_BLOCKS),
        };
        counts
    }
}

/// The longest reverse and forward routes that the rules name: what the header must hold at least.
#[must_use]
pub fn longest_hops(failover: &Failover) -> (usize, usize) {
    let reverse = failover.tables.iter().map(SwitchTable::longest_reverse);
    let route = |table: &SwitchTable| {
        let routes = table.actions().filter_map(|action| action.out());
        routes.map(|(_, rest)| rest.len()).max().unwrap_or(0)
    };
    let forward = match failover.output {
        Output::HopByHop => 0,
        Output::SourceRoutes => failover.tables.iter().map(route).max().unwrap_or(0),
    };
    (reverse.max().unwrap_or(0), forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failover::{
        Action, Claim, Element, PortMask, PortMatch, ReverseMatch, Rule, Ternary, Write,
    };
    use quantities::PortId;

    fn table(rules: usize, hops: u8, tag: u32) -> SwitchTable {
        let mut table = SwitchTable::default();
        for number in 0..rules {
            let action = Action::Forward {
                route: Box::new([1]),
                write: Write::default(),
            };
            table.push(Rule {
                reverse: ReverseMatch::exact(0..hops),
                tag: Ternary::new(0, tag),
                ports: PortMatch {
                    up: PortMask::single(PortId::new(1)),
                    down: PortMask::EMPTY,
                },
                ..Rule::to(u32::try_from(number).expect("few rules"), action)
            });
        }
        table
    }

    fn counts(label: LabelKind, table: SwitchTable) -> StateCounts {
        let failover = Failover {
            label,
            output: Output::HopByHop,
            claim: Claim {
                failures: 1,
                element: Element::Link,
            },
            stack: 16,
            destinations: Vec::new(),
            tables: vec![table],
        };
        failover.counts()[0]
    }

    #[test]
    fn bits_are_those_of_003_and_of_tofino() {
        // 64 of port status and 8 a hop; with 72 of destination 176 bits take four blocks of 44,
        // 3,072 rules a stage.
        let plinko = counts(LabelKind::ReverseRoute, table(3072, 5, 0));
        assert_eq!(plinko.tcam_bits, 3072 * (64 + 5 * 8));
        assert_eq!((plinko.tofino.key_bits, plinko.tofino.blocks), (176, 24));
        assert_eq!(plinko.tofino.stages, 1);
        assert_eq!(plinko.tofino.bits, 24 * 512 * 44);
        let more = counts(LabelKind::ReverseRoute, table(3073, 5, 0));
        assert_eq!(more.tofino.stages, 2);
        // 24 of tag instead: 160 bits, of which 64 are TCAM.
        let fcp = counts(LabelKind::FailureSet, table(10, 0, u32::MAX));
        assert_eq!((fcp.tcam_bits, fcp.tofino.blocks), (640, 4));
        // A bit per tree, and the input port in the key alone.
        let trees = counts(LabelKind::FailedTrees, table(10, 0, 0b111));
        assert_eq!((trees.tcam_bits, trees.tofino.key_bits), (670, 147));
    }
}
