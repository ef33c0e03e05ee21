//! The steps of a `failover` program for Tofino, for the estimate of its stages.

use super::estimate::{Estimate, Table};
use crate::layout::{FailoverFeatures, FailoverRoom, HeaderState};
use crate::targets::capabilities::Pipeline;

/// Name of the step that holds the plan's rules.
pub const RULES: &str = "failover rules";

/// Bits of an ARP request as a table of constant entries matches it.
const ARP_BITS: u32 = 113;
/// Bits of a key of `security`.
const SECURITY_BITS: u32 = 121;
const PORT_BITS: u32 = 9;
const BYTE: u32 = 8;

impl Estimate {
    /// The estimate for a `failover` program.
    #[must_use]
    pub fn of_failover(
        features: &FailoverFeatures,
        room: &FailoverRoom,
        pipeline: &Pipeline,
    ) -> Self {
        // Nothing is done in egress.
        Self::of_steps(ingress(features, room), pipeline.edge_spread, 0, pipeline)
    }
}

/// Bits of a key of `res_forward`.
fn rule_bits(features: &FailoverFeatures, status: u32) -> u32 {
    let label = match features.state {
        HeaderState::ReverseRoute => BYTE + BYTE * u32::from(features.stack),
        HeaderState::Tag => 24,
        HeaderState::Trees => 24 + BYTE,
    };
    BYTE + 16 + PORT_BITS + status + label
}

/// Bits of what its widest action writes.
fn rule_data(features: &FailoverFeatures) -> u32 {
    let label = match features.state {
        HeaderState::ReverseRoute => 0,
        HeaderState::Tag => 2 * 24,
        HeaderState::Trees => 2 * (24 + BYTE),
    };
    PORT_BITS + label + BYTE * u32::from(features.most_rest())
}

/// The steps of ingress with their tables.
fn ingress(features: &FailoverFeatures, room: &FailoverRoom) -> Vec<(&'static str, Vec<Table>)> {
    use Table::{Exact, Small, Ternary};

    let status = 32 * u32::try_from(features.status_words()).unwrap_or(2);
    let port = |data_bits| Exact {
        key_bits: PORT_BITS,
        entries: 512,
        data_bits,
    };
    let ternary = |key_bits, entries, data_bits| Ternary {
        key_bits,
        entries,
        data_bits,
    };
    let mut steps = vec![
        ("ports that went down", vec![port(status), Small, Small]),
        (
            "port status, and where from",
            vec![port(16), ternary(ARP_BITS, 3, 0), ternary(11, 4, 0), Small],
        ),
        (
            "admit and encapsulate",
            vec![
                ternary(SECURITY_BITS, room.security, 0),
                Exact {
                    key_bits: 32,
                    entries: room.neighbors,
                    data_bits: 48,
                },
                Exact {
                    key_bits: 56,
                    entries: room.destinations,
                    data_bits: 32,
                },
                Small,
                Small,
            ],
        ),
    ];
    let mut choose = Vec::new();
    if features.multipath {
        choose.push(ternary(32, room.ways, 16));
    }
    if features.source_routes {
        choose.push(ternary(16 + status, room.next_hops, 16));
    }
    if !choose.is_empty() {
        steps.push(("choose a routing, or follow the route", choose));
    }
    steps.push((
        RULES,
        vec![
            ternary(BYTE + 16 + 48 + status, room.local_hosts, 16),
            ternary(rule_bits(features, status), room.rules, rule_data(features)),
        ],
    ));
    steps.push((
        "look again, and write the header",
        vec![ternary(PORT_BITS + status, 512, 0), Small, Small],
    ));
    steps.push(("take the header off, or count", vec![port(0), Small]));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::capabilities::{TNA, TNA2};

    fn features(state: HeaderState, source_routes: bool, multipath: bool) -> FailoverFeatures {
        FailoverFeatures {
            state,
            source_routes,
            stack: 4,
            port_bits: 5,
            multipath,
            rules: 16_384,
        }
    }

    /// `docs/on-tofino.md` has the compiler's figures.
    #[test]
    fn ordinary_programs_take_what_the_compiler_takes_give_or_take_one() {
        let measured = [
            (HeaderState::Tag, false, false, 6, 7),
            (HeaderState::Tag, true, false, 6, 7),
            (HeaderState::ReverseRoute, false, false, 7, 7),
            (HeaderState::ReverseRoute, true, true, 7, 9),
            (HeaderState::Trees, false, true, 7, 8),
        ];
        for (state, routes, multipath, tna, tna2) in measured {
            for (target, stages) in [(&TNA, tna), (&TNA2, tna2)] {
                let pipeline = target.pipeline.expect("Tofino has one");
                let estimate = Estimate::of_failover(
                    &features(state, routes, multipath),
                    &FailoverRoom::default(),
                    &pipeline,
                );
                assert!(
                    estimate.stages.abs_diff(stages) <= 1,
                    "{state:?}, {routes}, {multipath}, {}: {} and {stages}",
                    target.target,
                    estimate.stages
                );
            }
        }
    }

    #[test]
    fn wide_rules_stand_in_columns() {
        let pipeline = TNA.pipeline.expect("Tofino has one");
        let stages = |source_routes| {
            let features = FailoverFeatures {
                stack: 16,
                ..features(HeaderState::ReverseRoute, source_routes, source_routes)
            };
            Estimate::of_failover(&features, &FailoverRoom::default(), &pipeline).stages
        };
        assert_eq!((stages(false), stages(true)), (7, 8), "as compiled");
    }

    #[test]
    fn more_rules_take_more_stages_until_there_are_none_left() {
        let pipeline = TNA.pipeline.expect("Tofino has one");
        let wide = FailoverFeatures {
            stack: 16,
            ..features(HeaderState::ReverseRoute, true, true)
        };
        let mut last = 0;
        for doubled in 0..7 {
            let room = FailoverRoom {
                rules: 2048 << doubled,
                ..FailoverRoom::default()
            };
            let estimate = Estimate::of_failover(&wide, &room, &pipeline);
            assert!(estimate.stages >= last);
            last = estimate.stages;
            if last > 12 {
                assert_eq!(estimate.largest_step(), RULES);
                let refusals = TNA.pipeline_refusals(&estimate);
                assert!(
                    refusals.iter().any(|r| r.resource == "stages"),
                    "{refusals:?}"
                );
                assert!(refusals[0].mend.contains("--compress"), "{}", refusals[0]);
            }
        }
        assert!(last > 12, "a plan of that size does not fit");
    }
}
