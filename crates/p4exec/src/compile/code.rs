//! A program as machine code, with what is known of it: nothing of it changes while packets run.

use std::sync::Arc;

use p4ir::{TableId, ValidProgram};

use super::frame::FrameLayout;
use super::jit::Native;
use super::object::Object;
use super::site::Site;
use crate::info::ProgramInfo;
use crate::state::BuildError;
use crate::v1model::StandardFields;

/// See the module documentation.
pub(super) struct Code {
    pub(super) program: Arc<ValidProgram>,
    pub(super) info: Arc<ProgramInfo>,
    pub(super) layout: FrameLayout,
    /// The fields that the switch itself reads and writes.
    pub(super) fields: Fields,
    /// Places that call out.
    pub(super) sites: Vec<Site>,
    /// See [`Plan::out_room`](super::plan::Plan).
    pub(super) out_room: Option<usize>,
    /// Whether the function of all blocks takes a frame that was not cleared.
    pub(super) clears: bool,
    /// Tables that are looked up through images.
    pub(super) looked_up: Vec<TableId>,
    pub(super) native: Native,
}

impl Code {
    /// Links an object that was generated for this program.
    ///
    /// # Errors
    /// [`BuildError::CodeGenerator`] if it is of another build, or not whole.
    pub(super) fn new(
        program: Arc<ValidProgram>,
        info: Arc<ProgramInfo>,
        layout: FrameLayout,
        object: Object,
    ) -> Result<Self, BuildError> {
        let blocks = if info.blocks.between.is_some() { 6 } else { 4 };
        object.check(&program, blocks)?;
        Ok(Self {
            fields: Fields::new(&info, &layout),
            native: object.link()?,
            sites: object.sites,
            out_room: object.out_room,
            clears: object.clears,
            looked_up: object.looked_up,
            program,
            info,
            layout,
        })
    }
}

/// A field of the standard or user metadata: its word, and the mask of its width.
pub(super) type Cell = Option<(usize, u64)>;

/// The fields that the switch itself reads and writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    pub(super) standard: StandardFields<Cell>,
    pub(super) ing_prio: Cell,
    pub(super) eg_prio: Cell,
}

impl Fields {
    fn new(info: &ProgramInfo, layout: &FrameLayout) -> Self {
        let cell = |leaf: Option<usize>| {
            leaf.map(|leaf| {
                let slot = layout.slot(leaf);
                let mask = u64::MAX >> (64 - slot.width.clamp(1, 64));
                (slot.word as usize, mask)
            })
        };
        let Some(info) = info.v1model() else {
            return Self::default();
        };
        Self {
            standard: info.standard.map(cell),
            ing_prio: cell(info.ing_prio),
            eg_prio: cell(info.eg_prio),
        }
    }
}

pub(super) fn get(frame: &[u64], cell: Cell) -> u64 {
    cell.map_or(0, |(word, _)| frame[word])
}

pub(super) fn set(frame: &mut [u64], cell: Cell, value: u64) {
    if let Some((word, mask)) = cell {
        frame[word] = value & mask;
    }
}
