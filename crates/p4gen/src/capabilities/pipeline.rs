//! How many stages of Tofino's pipeline a program takes, and how much of their memory, before the
//! vendor's compiler is asked.
//!
//! The program is a chain of steps: a step's tables need what the step before found out, so they
//! begin in a later stage. A step takes one stage, or as many as its tables need memory: TCAM
//! blocks (rows by 512, bits by 44), bytes of the ternary crossbar, SRAM blocks, table ids. Tables
//! of one step stand side by side. That is how the compiler places these programs too;
//! `docs/on-tofino.md` has its figures beside ours.

use serde::Serialize;

use super::Pipeline;

/// Bits of a row of SRAM that an exact entry takes beside key and immediate data (version and
/// pointer).
pub(crate) const EXACT_OVERHEAD: u32 = 16;
/// Ways of a cuckoo hash: the fewest SRAM blocks of an exact table.
const WAYS: u64 = 4;
/// How near to its last stage a program is worth a warning: the compiler may need one more than
/// estimated.
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
    pub steps: Vec<StepEstimate>,
    /// What may go wrong with the vendor's compiler.
    pub warnings: Vec<String>,
}

/// What a program does in a pipeline, before it is known where.
pub struct Ingress {
    /// The steps of ingress, in order: each needs what the one before found out.
    pub steps: Vec<Step>,
    /// Stages by which the compiler spreads it further than its tables need.
    pub spread: u16,
    /// Stages of egress.
    pub egress: u64,
}

/// A step of ingress: tables that stand side by side.
pub struct Step {
    /// What it does.
    pub name: &'static str,
    /// How to need less of what it takes.
    pub mend: &'static str,
    /// Its tables.
    pub tables: Vec<TableMemory>,
}

/// What a step takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepEstimate {
    /// What it does.
    pub name: &'static str,
    /// How to need less of what it takes.
    #[serde(skip)]
    pub mend: &'static str,
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
    /// The estimate for a program.
    #[must_use]
    pub fn of(ingress: &Ingress, pipeline: &Pipeline) -> Self {
        let mut steps = Vec::new();
        let mut first = 0;
        for step in &ingress.steps {
            let step = place(step, first, pipeline);
            first += step.stages;
            steps.push(step);
        }
        let sum = |of: fn(&StepEstimate) -> u64| steps.iter().map(of).sum::<u64>();
        let limit = |blocks: u16| u64::from(blocks) * u64::from(pipeline.stages);
        let tcam_blocks = sum(|s| s.tcam_blocks);
        let stages = (first + u64::from(ingress.spread)).max(ingress.egress);
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
                estimate.largest_step().map_or("", |step| step.name)
            ));
        }
        estimate
    }

    /// The step that takes most stages, and of those most TCAM.
    #[must_use]
    pub fn largest_step(&self) -> Option<&StepEstimate> {
        self.steps.iter().max_by_key(|s| (s.stages, s.tcam_blocks))
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableMemory {
    /// No memory to speak of: an action, a gateway, a few constant entries.
    Small,
    /// In TCAM.
    Ternary {
        /// Bits of the key.
        key_bits: u32,
        /// Entries that there is room for.
        entries: u32,
        /// Bits of an entry's action and its parameters.
        data_bits: u32,
    },
    /// A hash table.
    Exact {
        /// Bits of the key.
        key_bits: u32,
        /// Entries that there is room for.
        entries: u32,
        /// Bits of an entry's action and its parameters.
        data_bits: u32,
    },
}

/// TCAM blocks of a stage stand in so many columns; a row that is wider than a block takes
/// neighbours in one of them.
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

/// Fills stages with a step's tables, each table as far as it goes; what is over goes into the next
/// stage.
fn place(planned: &Step, first: u64, pipeline: &Pipeline) -> StepEstimate {
    let mut step = StepEstimate {
        name: planned.name,
        mend: planned.mend,
        first,
        stages: 0,
        tcam_blocks: 0,
        sram_blocks: 0,
    };
    let tables = planned.tables.iter();
    let mut rest: Vec<Piece> = tables.map(|t| Piece::of(*t, pipeline)).collect();
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
    fn of(table: TableMemory, pipeline: &Pipeline) -> Self {
        let sram_bits = u64::from(pipeline.sram_bits);
        let sram_rows = u64::from(pipeline.sram_rows);
        match table {
            TableMemory::Small => Self {
                slices: 1,
                tcam: 0,
                crossbar: 0,
                sram: 0,
            },
            TableMemory::Ternary {
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
            TableMemory::Exact {
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
    use crate::targets::tofino::TNA;

    #[test]
    fn a_key_that_no_stage_holds_ends_too() {
        let pipeline = TNA.capabilities.pipeline.expect("Tofino has one");
        let table = TableMemory::Ternary {
            key_bits: 4096,
            entries: 1024,
            data_bits: 0,
        };
        let step = Step {
            name: "x",
            mend: "",
            tables: vec![table],
        };
        assert_eq!(place(&step, 0, &pipeline).stages, 2);
    }
}
