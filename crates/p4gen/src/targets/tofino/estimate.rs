//! How many stages of Tofino's pipeline a program takes, and how much of their memory, before the vendor's
//! compiler is asked.
//!
//! The program is a chain of steps: a step's tables need what the step before found out, so they begin in a later stage.
//! A step takes one stage, or as many as its tables need memory: TCAM blocks (rows by 512, bits by 44), bytes of the
//! ternary crossbar, SRAM blocks, table ids. Tables of one step stand side by side. That is how the compiler places these
//! programs too; `docs/on-tofino.md` has its figures beside ours.

use plan::{CarrierKind, RuleForm};
use serde::Serialize;

use crate::layout::{Features, Room};
use crate::targets::capabilities::Pipeline;

/// Name of the step that holds `classify` and `rewrite`.
pub const TAGS: &str = "tag rules";
/// Name of the step that holds the routes.
pub const ROUTES: &str = "admit and route";
/// Name of the step that puts the shim on.
const SHIM: &str = "put the shim on";
/// Bits of a row of SRAM that an exact entry takes beside key and immediate data (version and pointer).
const EXACT_OVERHEAD: u32 = 16;
/// Bits of `next_hop`'s data, as the action memory holds them.
const NEXT_HOP_BITS: u32 = 128;
/// Ways of a cuckoo hash: the fewest SRAM blocks of an exact table.
const WAYS: u64 = 4;
/// How near to its last stage a program is worth a warning: the compiler may need one more than estimated.
const MARGIN: u64 = 1;

/// What a program takes of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Stages, of ingress and egress whichever takes more.
    pub stages: u64,
    /// Stages that there are.
    pub stages_limit: u64,
    /// TCAM blocks over all stages.
    pub tcam_blocks: u64,
    /// TCAM blocks that there are.
    pub tcam_blocks_limit: u64,
    /// Bits of those blocks.
    pub tcam_bits: u64,
    /// SRAM blocks over all stages.
    pub sram_blocks: u64,
    /// SRAM blocks that there are.
    pub sram_blocks_limit: u64,
    /// The steps of ingress, in order.
    pub steps: Vec<Step>,
    /// What may go wrong with the vendor's compiler.
    pub warnings: Vec<String>,
}

/// A step of ingress: tables that stand side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it does.
    pub name: &'static str,
    /// Its first stage, from 0.
    pub first: u64,
    /// How many stages it takes.
    pub stages: u64,
    /// Its TCAM blocks.
    pub tcam_blocks: u64,
    /// Its SRAM blocks.
    pub sram_blocks: u64,
}

impl Estimate {
    /// The estimate for a `tagger` program.
    #[must_use]
    pub fn of(features: &Features, room: &Room, pipeline: &Pipeline) -> Self {
        let sets = features.form == RuleForm::PortSets;
        let spread = if features.has_edge() && sets {
            pipeline.edge_spread
        } else {
            0
        };
        // The new tag is written beside the counter; taking the carrier off comes after it.
        let egress = if features.has_edge() { 2 } else { 1 };
        let mut steps = ingress(features, room);
        if pipeline.edge_spread > 0 && !sets {
            // Measured: where no bitmaps take its place, the shim is put on beside the first tag.
            steps.retain(|(name, _)| *name != SHIM);
        }
        Self::of_steps(steps, spread, egress, pipeline)
    }

    /// The estimate for steps of ingress that follow on each other, and so many stages of egress.
    pub(super) fn of_steps(
        ingress: Vec<(&'static str, Vec<Table>)>,
        spread: u16,
        egress: u64,
        pipeline: &Pipeline,
    ) -> Self {
        let mut steps = Vec::new();
        let mut first = 0;
        for (name, tables) in ingress {
            let step = place(name, first, &tables, pipeline);
            first += step.stages;
            steps.push(step);
        }
        let sum = |of: fn(&Step) -> u64| steps.iter().map(of).sum::<u64>();
        let limit = |blocks: u16| u64::from(blocks) * u64::from(pipeline.stages);
        let tcam_blocks = sum(|s| s.tcam_blocks);
        let stages = (first + u64::from(spread)).max(egress);
        let mut estimate = Self {
            stages,
            stages_limit: pipeline.stages.into(),
            tcam_blocks,
            tcam_blocks_limit: limit(pipeline.tcam_blocks),
            tcam_bits: tcam_blocks * u64::from(pipeline.tcam_rows) * u64::from(pipeline.tcam_bits),
            sram_blocks: sum(|s| s.sram_blocks),
            sram_blocks_limit: limit(pipeline.sram_blocks),
            steps,
            warnings: Vec::new(),
        };
        if stages <= estimate.stages_limit && stages + MARGIN > estimate.stages_limit {
            estimate.warnings.push(format!(
                "The program is estimated at {stages} of {} stages, and the vendor's compiler may need one more: it may \
                 refuse it. Most go into `{}`.",
                estimate.stages_limit,
                estimate.largest_step()
            ));
        }
        estimate
    }

    /// The step that takes most stages, and of those most TCAM.
    #[must_use]
    pub fn largest_step(&self) -> &'static str {
        let largest = self.steps.iter().max_by_key(|s| (s.stages, s.tcam_blocks));
        largest.map_or(ROUTES, |step| step.name)
    }

    /// The estimate as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "Estimated: {} of {} stages, {} of {} TCAM blocks, {} of {} SRAM blocks.",
            self.stages,
            self.stages_limit,
            self.tcam_blocks,
            self.tcam_blocks_limit,
            self.sram_blocks,
            self.sram_blocks_limit
        )
    }
}

/// A table as the pipeline sees it.
#[derive(Clone, Copy)]
pub(super) enum Table {
    /// No memory to speak of: an action, a gateway, a few constant entries.
    Small,
    /// In TCAM.
    Ternary {
        key_bits: u32,
        entries: u32,
        data_bits: u32,
    },
    /// A hash table.
    Exact {
        key_bits: u32,
        entries: u32,
        data_bits: u32,
    },
}

/// The steps of a `tagger` program's ingress with their tables.
fn ingress(features: &Features, room: &Room) -> Vec<(&'static str, Vec<Table>)> {
    use Table::{Exact, Small, Ternary};

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
        route(32, room.ipv4_routes),
        route(128, room.ipv6_routes),
    ];
    admit.extend([Small; 12]);
    let group = Exact {
        key_bits: 16,
        entries: room.ecmp_groups,
        data_bits: 16,
    };
    let members = Exact {
        key_bits: 0,
        entries: room.ecmp_members,
        data_bits: NEXT_HOP_BITS - EXACT_OVERHEAD,
    };
    let mut steps = vec![
        ("read the carrier", vec![ports, Small, Small]),
        ("compare addresses", vec![Small, Small]),
        (ROUTES, admit),
        ("shift the hash", vec![Small]),
        ("choose a next hop", vec![group, members]),
    ];
    if features.has_edge() {
        let class = Exact {
            key_bits: 6,
            entries: 64,
            data_bits: features.code_bits().into(),
        };
        steps.push(("first tag", vec![class, Small]));
    }
    if features.carrier == CarrierKind::Shim {
        // All of its fields are written, and then one of them read.
        steps.push((SHIM, vec![Small]));
    }
    let port_bits = u32::from(features.port_bits);
    let tag_bits = u32::from(features.code_bits());
    let tags = match features.form {
        RuleForm::PortSets => {
            let bit = Exact {
                key_bits: 9,
                entries: 512,
                data_bits: port_bits,
            };
            steps.push(("bits of the ports", vec![bit, bit, Small]));
            steps.push(("ports without bit", vec![Small, Small]));
            Ternary {
                key_bits: tag_bits + 2 * port_bits,
                entries: room.tag_rules,
                data_bits: 0,
            }
        }
        RuleForm::Exact if features.class_bits() > 0 => Ternary {
            key_bits: tag_bits + 18,
            entries: room.tag_rules,
            data_bits: 0,
        },
        RuleForm::Exact => Exact {
            key_bits: tag_bits + 18,
            entries: room.tag_rules,
            data_bits: 16,
        },
    };
    steps.push((TAGS, vec![tags, tags]));
    steps.push(("count", vec![Small, Small]));
    steps
}

/// TCAM blocks of a stage stand in so many columns; a row that is wider than a block takes neighbours in one of them.
const TCAM_COLUMNS: usize = 2;

/// What is left of a stage.
struct Left {
    tables: u64,
    /// By column.
    tcam: [u64; TCAM_COLUMNS],
    crossbar: u64,
    sram: u64,
}

impl Left {
    fn all(pipeline: &Pipeline) -> Self {
        Self {
            tables: pipeline.logical_tables.into(),
            tcam: [u64::from(pipeline.tcam_blocks) / TCAM_COLUMNS as u64; TCAM_COLUMNS],
            crossbar: pipeline.crossbar_bytes.into(),
            sram: pipeline.sram_blocks.into(),
        }
    }
}

/// Fills stages with a step's tables, each table as far as it goes; what is over goes into the next stage.
fn place(name: &'static str, first: u64, tables: &[Table], pipeline: &Pipeline) -> Step {
    let mut step = Step {
        name,
        first,
        stages: 0,
        tcam_blocks: 0,
        sram_blocks: 0,
    };
    let mut rest: Vec<Piece> = tables.iter().map(|t| Piece::of(*t, pipeline)).collect();
    while !rest.is_empty() {
        let mut left = Left::all(pipeline);
        step.stages += 1;
        let before: u64 = rest.iter().map(|p| p.slices).sum();
        for piece in &mut rest {
            let taken = piece.take(&mut left);
            step.tcam_blocks += taken * piece.tcam;
            step.sram_blocks += taken * piece.sram;
        }
        rest.retain(|piece| piece.slices > 0);
        let after: u64 = rest.iter().map(|p| p.slices).sum();
        if after == before {
            // A slice that no stage holds: as if it took one for itself, for the refusal to count.
            for piece in &mut rest {
                step.tcam_blocks += piece.tcam;
                piece.slices -= 1;
            }
            rest.retain(|piece| piece.slices > 0);
        }
    }
    step.stages = step.stages.max(1);
    step
}

/// A table in slices that fit a stage or do not; what every slice takes.
struct Piece {
    slices: u64,
    tcam: u64,
    crossbar: u64,
    sram: u64,
}

impl Piece {
    fn of(table: Table, pipeline: &Pipeline) -> Self {
        let sram_bits = u64::from(pipeline.sram_bits);
        let sram_rows = u64::from(pipeline.sram_rows);
        match table {
            Table::Small => Self {
                slices: 1,
                tcam: 0,
                crossbar: 0,
                sram: 0,
            },
            Table::Ternary {
                key_bits,
                entries,
                data_bits,
            } => {
                let rows = u64::from(pipeline.tcam_rows);
                let data = (rows * u64::from(data_bits)).div_ceil(sram_rows * sram_bits);
                Self {
                    slices: u64::from(entries).div_ceil(rows).max(1),
                    tcam: u64::from(key_bits.div_ceil(pipeline.tcam_bits.into())),
                    crossbar: u64::from(key_bits.div_ceil(8)),
                    sram: data.max(u64::from(data_bits > 0)),
                }
            }
            Table::Exact {
                key_bits,
                entries,
                data_bits,
            } => {
                let entry = u64::from(key_bits + data_bits + EXACT_OVERHEAD);
                let in_block = if entry <= sram_bits {
                    sram_bits / entry * sram_rows
                } else {
                    (sram_rows * sram_bits / entry).max(1)
                };
                Self {
                    slices: u64::from(entries).div_ceil(in_block).max(WAYS),
                    tcam: 0,
                    crossbar: 0,
                    sram: 1,
                }
            }
        }
    }

    /// Puts as many slices as fit into what is left of a stage.
    fn take(&mut self, left: &mut Left) -> u64 {
        if left.tables == 0 || self.crossbar > left.crossbar {
            return 0;
        }
        let fits = |there: u64, each: u64| there.checked_div(each).unwrap_or(u64::MAX);
        let in_columns = left.tcam.iter().map(|&column| fits(column, self.tcam));
        let in_tcam = in_columns.fold(0, u64::saturating_add);
        let taken = self.slices.min(in_tcam).min(fits(left.sram, self.sram));
        if taken > 0 {
            left.tables -= 1;
            left.crossbar -= self.crossbar;
            let mut rest = taken;
            for column in &mut left.tcam {
                let here = rest.min(fits(*column, self.tcam));
                *column -= here * self.tcam;
                rest -= here;
            }
            left.sram -= taken * self.sram;
            self.slices -= taken;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::capabilities::{Capabilities, TNA, TNA2};
    use plan::TagCode;

    fn features(carrier: CarrierKind, form: RuleForm, port_bits: u16) -> Features {
        Features {
            carrier,
            class_shift: None,
            lossy: TagCode::new(0),
            form,
            port_bits,
        }
    }

    fn stages(carrier: CarrierKind, form: RuleForm, port_bits: u16, room: &Room) -> u64 {
        stages_on(&TNA, carrier, form, port_bits, room)
    }

    fn stages_on(
        target: &Capabilities,
        carrier: CarrierKind,
        form: RuleForm,
        port_bits: u16,
        room: &Room,
    ) -> u64 {
        let pipeline = target.pipeline.expect("Tofino has one");
        Estimate::of(&features(carrier, form, port_bits), room, &pipeline).stages
    }

    #[test]
    fn ordinary_programs_take_what_the_compiler_takes() {
        let room = Room::default();
        assert_eq!(stages(CarrierKind::Dscp, RuleForm::PortSets, 33, &room), 9);
        assert_eq!(stages(CarrierKind::Dscp, RuleForm::Exact, 9, &room), 7);
        assert_eq!(
            stages(CarrierKind::VlanVid, RuleForm::PortSets, 33, &room),
            10
        );
        assert_eq!(stages(CarrierKind::VlanPcp, RuleForm::Exact, 9, &room), 8);
        assert_eq!(stages(CarrierKind::Shim, RuleForm::PortSets, 33, &room), 11);
        assert_eq!(stages(CarrierKind::Shim, RuleForm::Exact, 9, &room), 9);
    }

    #[test]
    fn tofino_2_spreads_programs_with_bitmaps_and_an_edge() {
        let on = |carrier, form, bits| stages_on(&TNA2, carrier, form, bits, &Room::default());
        assert_eq!(on(CarrierKind::Dscp, RuleForm::PortSets, 33), 9);
        assert_eq!(on(CarrierKind::VlanVid, RuleForm::PortSets, 33), 11);
        assert_eq!(on(CarrierKind::Shim, RuleForm::PortSets, 33), 12);
        assert_eq!(on(CarrierKind::VlanVid, RuleForm::Exact, 9), 8);
        assert_eq!(on(CarrierKind::Shim, RuleForm::Exact, 9), 8);
    }

    #[test]
    fn more_entries_and_wider_keys_take_more_stages_and_never_fewer() {
        let mut last = 0;
        for doubled in 0..8 {
            let room = Room {
                ipv4_routes: 1024 << doubled,
                tag_rules: 512 << doubled,
                ..Room::default()
            };
            let now = stages(CarrierKind::Dscp, RuleForm::PortSets, 65, &room);
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        assert!(last > 12, "a plan of that size does not fit");
        let room = Room::default();
        let wide = stages(CarrierKind::Dscp, RuleForm::PortSets, 254, &room);
        assert!(wide > stages(CarrierKind::Dscp, RuleForm::PortSets, 33, &room));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_nearly_does_not_is_warned_of() {
        let wide = features(CarrierKind::Dscp, RuleForm::PortSets, 65);
        let estimate = |room: &Room, target: &crate::targets::capabilities::Capabilities| {
            let pipeline = target.pipeline.expect("Tofino has one");
            let estimate = Estimate::of(&wide, room, &pipeline);
            let refusals = target.pipeline_refusals(&estimate);
            (estimate, refusals)
        };
        let room = Room {
            ipv4_routes: 65_536,
            tag_rules: 8192,
            ..Room::default()
        };
        let (_, refusals) = estimate(&room, &TNA);
        assert!(!refusals.is_empty());
        for refusal in &refusals {
            assert!(refusal.need > refusal.limit, "{refusal}");
        }
        let (_, refusals) = estimate(&room, &TNA2);
        assert!(refusals.is_empty(), "{refusals:?}");
        let near = (0..64)
            .map(|step| Room {
                ipv4_routes: 4096 + 4096 * step,
                ..Room::default()
            })
            .map(|room| estimate(&room, &TNA).0)
            .find(|estimate| estimate.stages == estimate.stages_limit)
            .expect("one of them takes all stages");
        assert_eq!(near.warnings.len(), 1);
    }

    #[test]
    fn a_key_that_no_stage_holds_ends_too() {
        let pipeline = TNA.pipeline.expect("Tofino has one");
        let table = Table::Ternary {
            key_bits: 4096,
            entries: 1024,
            data_bits: 0,
        };
        assert_eq!(place("x", 0, &[table], &pipeline).stages, 2);
    }
}
