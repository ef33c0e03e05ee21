//! The steps of a `tagger` program for Tofino, for the estimate of its stages.

use plan::{CarrierKind, RuleForm};

use super::{ROUTES_MEND, TaggerFeatures};
use crate::capabilities::TableMemory::{Exact, Small, Ternary};
use crate::capabilities::{EXACT_OVERHEAD, Ingress, Pipeline, Step, TableMemory};
use crate::family::SPLIT_MEND;
use crate::layout::{Layout, table};

/// Name of the step that holds `classify` and `rewrite`.
const TAGS: &str = "tag rules";
/// Name of the step that holds the routes.
const ROUTES: &str = "admit and route";
/// Name of the step that puts the shim on.
const SHIM: &str = "put the shim on";
/// Bits of `next_hop`'s data, as the action memory holds them.
const NEXT_HOP_BITS: u32 = 128;

/// What the program does in a pipeline.
pub(super) fn ingress(features: &TaggerFeatures, layout: &Layout, pipeline: &Pipeline) -> Ingress {
    let sets = features.form == RuleForm::PortSets;
    let mut steps = all_steps(features, layout);
    if pipeline.edge_spread > 0 && !sets {
        // Measured: where no bitmaps take its place, the shim is put on beside the first tag.
        steps.retain(|step| step.name != SHIM);
    }
    Ingress {
        steps,
        spread: if features.has_edge() && sets {
            pipeline.edge_spread
        } else {
            0
        },
        // The new tag is written beside the counter; taking the carrier off comes after it.
        egress: if features.has_edge() { 2 } else { 1 },
    }
}

fn step(name: &'static str, tables: Vec<TableMemory>) -> Step {
    let mend = match name {
        TAGS => {
            "plan with fewer or narrower tag rules: exact ports for wide switches (`plan --rules exact`), fewer bounces or classes"
        }
        ROUTES => ROUTES_MEND,
        _ => SPLIT_MEND,
    };
    Step { name, mend, tables }
}

/// The steps of ingress with their tables.
fn all_steps(features: &TaggerFeatures, layout: &Layout) -> Vec<Step> {
    let ports = Exact {
        key_bits: 9,
        entries: 512,
        data_bits: 48,
    };
    let route = |key_bits, entries| Ternary {
        key_bits,
        entries,
        data_bits: NEXT_HOP_BITS,
    };
    // `arp_request`, and what drops or goes on.
    let mut admit = vec![
        Ternary {
            key_bits: 114,
            entries: 3,
            data_bits: 0,
        },
        route(32, layout.size(table::IPV4_ROUTE)),
        route(128, layout.size(table::IPV6_ROUTE)),
    ];
    admit.extend([Small; 12]);
    let group = Exact {
        key_bits: 16,
        entries: layout.size(table::ECMP_GROUP),
        data_bits: 16,
    };
    let back = Exact {
        key_bits: 16 + 9,
        entries: layout.size(table::ECMP_RETURN),
        data_bits: NEXT_HOP_BITS,
    };
    let members = Exact {
        key_bits: 0,
        entries: layout.selector_size,
        data_bits: NEXT_HOP_BITS - EXACT_OVERHEAD,
    };
    let mut steps = vec![
        step("read the carrier", vec![ports, Small, Small]),
        step("compare addresses", vec![Small, Small]),
        step(ROUTES, admit),
        step("shift the hash, or turn back", vec![Small, back]),
        step("choose a next hop", vec![group, members]),
    ];
    if features.has_edge() {
        let class = Exact {
            key_bits: 6,
            entries: 64,
            data_bits: features.code_bits().into(),
        };
        steps.push(step("first tag", vec![class, Small]));
    }
    if features.carrier == CarrierKind::Shim {
        // All of its fields are written, and then one of them read.
        steps.push(step(SHIM, vec![Small]));
    }
    steps.extend(rule_steps(features, layout, 0));
    steps.push(step("count", vec![Small, Small]));
    steps
}

/// The steps that look tags up by rules whose keys have so many bits beside tag and ports.
pub(in crate::family) fn rule_steps(
    features: &TaggerFeatures,
    layout: &Layout,
    more_bits: u32,
) -> Vec<Step> {
    let mut steps = Vec::new();
    let port_bits = u32::from(features.port_bits);
    let tag_bits = u32::from(features.code_bits()) + more_bits;
    let entries = layout.size(table::CLASSIFY);
    let tags = match features.form {
        RuleForm::PortSets => {
            let bit = Exact {
                key_bits: 9,
                entries: 512,
                data_bits: port_bits,
            };
            steps.push(step("bits of the ports", vec![bit, bit, Small]));
            steps.push(step("ports without bit", vec![Small, Small]));
            Ternary {
                key_bits: tag_bits + 2 * port_bits,
                entries,
                data_bits: 0,
            }
        }
        RuleForm::Exact if features.class_bits() > 0 => Ternary {
            key_bits: tag_bits + 18,
            entries,
            data_bits: 0,
        },
        RuleForm::Exact => Exact {
            key_bits: tag_bits + 18,
            entries,
            data_bits: 16,
        },
    };
    steps.push(step(TAGS, vec![tags, tags]));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::{Architecture, Capabilities, Estimate};
    use crate::family::Family;
    use crate::targets::tofino::{TNA, TNA2};
    use plan::TagCode;

    fn features(carrier: CarrierKind, form: RuleForm, port_bits: u16) -> TaggerFeatures {
        TaggerFeatures {
            carrier,
            class_shift: None,
            lossy: TagCode::new(0),
            form,
            port_bits,
            maps: false,
        }
    }

    /// The estimate with tables of these sizes.
    fn estimate(
        target: &Capabilities,
        features: &TaggerFeatures,
        sizes: &[(&str, u32)],
    ) -> Estimate {
        let mut layout = features.layout(Architecture::Tofino);
        for table in &mut layout.tables {
            let given = sizes.iter().find(|(name, _)| *name == table.name);
            table.size = given.map_or(table.size, |(_, size)| *size);
        }
        let pipeline = target.pipeline.expect("Tofino has one");
        Estimate::of(&ingress(features, &layout, &pipeline), &pipeline)
    }

    fn stages(target: &Capabilities, carrier: CarrierKind, form: RuleForm, port_bits: u16) -> u64 {
        estimate(target, &features(carrier, form, port_bits), &[]).stages
    }

    #[test]
    fn ordinary_programs_take_what_the_compiler_takes() {
        let on = |carrier, form, bits| stages(&TNA.capabilities, carrier, form, bits);
        assert_eq!(on(CarrierKind::Dscp, RuleForm::PortSets, 33), 9);
        assert_eq!(on(CarrierKind::Dscp, RuleForm::Exact, 9), 7);
        assert_eq!(on(CarrierKind::VlanVid, RuleForm::PortSets, 33), 10);
        assert_eq!(on(CarrierKind::VlanPcp, RuleForm::Exact, 9), 8);
        assert_eq!(on(CarrierKind::Shim, RuleForm::PortSets, 33), 11);
        assert_eq!(on(CarrierKind::Shim, RuleForm::Exact, 9), 9);
    }

    #[test]
    fn tofino_2_spreads_programs_with_bitmaps_and_an_edge() {
        let on = |carrier, form, bits| stages(&TNA2.capabilities, carrier, form, bits);
        assert_eq!(on(CarrierKind::Dscp, RuleForm::PortSets, 33), 9);
        assert_eq!(on(CarrierKind::VlanVid, RuleForm::PortSets, 33), 11);
        assert_eq!(on(CarrierKind::Shim, RuleForm::PortSets, 33), 12);
        assert_eq!(on(CarrierKind::VlanVid, RuleForm::Exact, 9), 8);
        assert_eq!(on(CarrierKind::Shim, RuleForm::Exact, 9), 8);
    }

    #[test]
    fn more_entries_and_wider_keys_take_more_stages_and_never_fewer() {
        let wide = |bits| features(CarrierKind::Dscp, RuleForm::PortSets, bits);
        let mut last = 0;
        for doubled in 0..8 {
            let sizes = [
                (table::IPV4_ROUTE, 1024 << doubled),
                (table::CLASSIFY, 512 << doubled),
            ];
            let now = estimate(&TNA.capabilities, &wide(65), &sizes).stages;
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        assert!(last > 12, "a plan of that size does not fit");
        let of = |bits| estimate(&TNA.capabilities, &wide(bits), &[]).stages;
        assert!(of(254) > of(33));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_nearly_does_not_is_warned_of() {
        let wide = features(CarrierKind::Dscp, RuleForm::PortSets, 65);
        let large = [(table::IPV4_ROUTE, 65_536), (table::CLASSIFY, 8192)];
        let refusals =
            |target: &Capabilities| target.pipeline_refusals(&estimate(target, &wide, &large));
        let refused = refusals(&TNA.capabilities);
        assert!(!refused.is_empty());
        for refusal in &refused {
            assert!(refusal.need > refusal.limit, "{refusal}");
            assert!(!refusal.mend.is_empty());
        }
        assert_eq!(refusals(&TNA2.capabilities), []);
        let near = (1..=64)
            .map(|step| {
                estimate(
                    &TNA.capabilities,
                    &wide,
                    &[(table::IPV4_ROUTE, 4096 * step)],
                )
            })
            .find(|estimate| estimate.stages == estimate.stages_limit)
            .expect("one of them takes all stages");
        assert_eq!(near.warnings.len(), 1);
    }
}
