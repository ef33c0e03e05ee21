//! Every table and figure of the papers with numbers, ours beside theirs.
//!
//! An entry ([`Item`]) has the paper's numbers as rows, each with a tolerance, and the work that
//! finds ours: it calls what exists (other measurements, planners, the simulator). The numbers of
//! the papers stand here and beside ours in other measurements, and nowhere else.

mod draft;
mod estimate;
mod failover;
mod flattened_clos;
mod item;
mod lossless;
mod page;
mod recorded;
mod scenes;
mod tagger;
mod tcp_bolt;
mod verdict;

pub use estimate::{Estimate, short};
pub use item::{
    Axes, Better, Effort, EntryError, Item, ItemError, Paper, Row, Run, Said, Tolerance, Value,
    Work,
};
pub use page::{page, told};
pub use recorded::{Recorded, RecordedItem, RecordedRow};
pub use verdict::{Counts, ItemReport, Point, RowReport, Verdict};

/// All entries, paper by paper, in the order of the papers.
#[must_use]
pub fn catalogue() -> Vec<Item> {
    let parts = [
        tagger::ITEMS,
        draft::ITEMS,
        tcp_bolt::ITEMS,
        failover::ITEMS,
        lossless::ITEMS,
        flattened_clos::ITEMS,
    ];
    parts.concat()
}

#[cfg(test)]
mod tests;
