//! The steps of a `failover` program for Tofino, for the estimate of its stages.

use super::{FailoverFeatures, HeaderState, RULES_MEND};
use crate::capabilities::TableMemory::{Exact, Small, Ternary};
use crate::capabilities::{Ingress, Pipeline, Step, TableMemory};
use crate::family::SPLIT_MEND;
use crate::family::tagger::steps as tagger;
use crate::layout::{Layout, table};

/// Name of the step that holds the plan's rules.
const RULES: &str = "failover rules";
/// Bits of an ARP request as a table of constant entries matches it.
const ARP_BITS: u32 = 113;
/// Bits of a key of `security`.
const SECURITY_BITS: u32 = 121;
const PORT_BITS: u32 = 9;
const BYTE: u32 = 8;

/// What the program does in a pipeline.
pub(super) fn ingress(
    features: &FailoverFeatures,
    layout: &Layout,
    pipeline: &Pipeline,
) -> Ingress {
    Ingress {
        steps: all_steps(features, layout),
        spread: pipeline.edge_spread,
        // Nothing is done in egress.
        egress: 0,
    }
}

fn step(name: &'static str, tables: Vec<TableMemory>) -> Step {
    let mend = match name {
        RULES => RULES_MEND,
        _ => SPLIT_MEND,
    };
    Step { name, mend, tables }
}

/// Bits of a key of `res_forward`.
fn rule_bits(features: &FailoverFeatures, status: u32) -> u32 {
    let label = match features.state {
        HeaderState::ReverseRoute => BYTE + BYTE * u32::from(features.stack),
        HeaderState::Tag => 24,
        HeaderState::Trees => 24 + BYTE,
        HeaderState::WayOrTrees => BYTE + BYTE * u32::from(features.stack) + 24 + BYTE,
    };
    BYTE + 16 + PORT_BITS + status + label
}

/// Bits of what its widest action writes.
fn rule_data(features: &FailoverFeatures) -> u32 {
    let label = match features.state {
        HeaderState::ReverseRoute => 0,
        HeaderState::Tag => 2 * 24,
        HeaderState::Trees | HeaderState::WayOrTrees => 2 * (24 + BYTE),
    };
    PORT_BITS + label + BYTE * u32::from(features.most_rest())
}

/// The steps of ingress with their tables.
fn all_steps(features: &FailoverFeatures, layout: &Layout) -> Vec<Step> {
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
        step("ports that went down", vec![port(status), Small, Small]),
        step(
            "port status, and where from",
            vec![port(16), ternary(ARP_BITS, 3, 0), ternary(11, 4, 0), Small],
        ),
        step(
            "admit and encapsulate",
            vec![
                ternary(SECURITY_BITS, layout.size(table::SECURITY), 0),
                Exact {
                    key_bits: 32,
                    entries: layout.size(table::NEIGHBOR),
                    data_bits: 48,
                },
                Exact {
                    key_bits: 56,
                    entries: layout.size(table::ENCAP),
                    data_bits: 32,
                },
                Small,
                Small,
            ],
        ),
    ];
    let mut choose = Vec::new();
    if features.multipath {
        choose.push(ternary(32, layout.size(table::WAY), 16));
    }
    if features.source_routes {
        choose.push(ternary(16 + status, layout.size(table::SRC_FORWARD), 16));
    }
    if !choose.is_empty() {
        steps.push(step("choose a routing, or follow the route", choose));
    }
    steps.push(step(
        RULES,
        vec![
            ternary(BYTE + 16 + 48 + status, layout.size(table::LOCAL_HOST), 16),
            ternary(
                rule_bits(features, status),
                layout.size(table::RES_FORWARD),
                rule_data(features),
            ),
        ],
    ));
    steps.push(step(
        "check the output port, and write the header",
        vec![ternary(PORT_BITS + status, 512, 0), Small, Small],
    ));
    if let Some(tags) = &features.tags {
        // The first tag is looked up beside the rules.
        let channel_bits = u32::from(features.channel_bits().unwrap_or(0));
        steps.extend(tagger::rule_steps(tags, layout, BYTE + channel_bits));
    }
    steps.push(step("take the header off, or count", vec![port(0), Small]));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::{Architecture, Capabilities, Estimate};
    use crate::family::Family;
    use crate::targets::tofino::{TNA, TNA2};

    fn features(state: HeaderState, source_routes: bool, multipath: bool) -> FailoverFeatures {
        FailoverFeatures {
            state,
            source_routes,
            stack: 4,
            port_bits: 5,
            multipath,
            tags: None,
            channels: false,
            rules: 16_384,
        }
    }

    fn estimate(target: &Capabilities, features: &FailoverFeatures, rules: u32) -> Estimate {
        let mut layout = features.layout(Architecture::Tofino);
        let tables = layout.tables.iter_mut();
        for table in tables.filter(|t| t.name == table::RES_FORWARD) {
            table.size = rules;
        }
        let pipeline = target.pipeline.expect("Tofino has one");
        Estimate::of(&ingress(features, &layout, &pipeline), &pipeline)
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
            for (target, stages) in [(&TNA.capabilities, tna), (&TNA2.capabilities, tna2)] {
                let estimate = estimate(target, &features(state, routes, multipath), 2048);
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
        let stages = |source_routes| {
            let features = FailoverFeatures {
                stack: 16,
                ..features(HeaderState::ReverseRoute, source_routes, source_routes)
            };
            estimate(&TNA.capabilities, &features, 2048).stages
        };
        assert_eq!((stages(false), stages(true)), (7, 8), "as compiled");
    }

    #[test]
    fn more_rules_take_more_stages_until_there_are_none_left() {
        let wide = FailoverFeatures {
            stack: 16,
            ..features(HeaderState::ReverseRoute, true, true)
        };
        let mut last = 0;
        for doubled in 0..7 {
            let estimate = estimate(&TNA.capabilities, &wide, 2048 << doubled);
            assert!(estimate.stages >= last);
            last = estimate.stages;
            if last > 12 {
                assert_eq!(estimate.largest_step().map(|s| s.name), Some(RULES));
                let refusals = TNA.capabilities.pipeline_refusals(&estimate);
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
