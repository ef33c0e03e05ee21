//! What executors know of a program besides its code: its blocks, and where the metadata lies that
//! the switch itself reads and writes ([`crate::v1model`], [`crate::tna`]).

use std::ops::Range;
use std::sync::Arc;

use p4ir::{ControlId, ParserId, Pipeline, Tna, V1Model, ValidProgram, VarId};

use crate::names::{NamedLeaf, Walk};
use crate::tna::TnaInfo;
use crate::v1model::V1ModelInfo;

/// The blocks of a program, as they are run one after the other.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Of ingress.
    pub parser: ParserId,
    /// v1model's checksum verification and ingress; Tofino's ingress.
    pub ingress: Vec<ControlId>,
    /// Only Tofino has them: the ingress deparser and the egress parser.
    pub between: Option<(ControlId, ParserId)>,
    /// Egress.
    pub egress: Vec<ControlId>,
    /// v1model's checksum computation and deparser; Tofino's egress deparser.
    pub deparser: Vec<ControlId>,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// What is run.
    pub blocks: Blocks,
    /// What only programs of its architecture have.
    pub architecture: ArchitectureInfo,
}

/// What is known of the metadata of a program, by architecture.
#[derive(Clone, Debug)]
pub enum ArchitectureInfo {
    /// For `simple_switch`.
    V1Model(Arc<V1ModelInfo>),
    /// For Tofino 1 and 2.
    Tofino(Arc<TnaInfo>),
}

impl ProgramInfo {
    /// What is known of a program; `None` if it is neither for v1model nor for Tofino.
    #[must_use]
    pub fn new(program: &ValidProgram) -> Option<Self> {
        Some(match program.pipeline()? {
            Pipeline::V1Model(view) => Self::of_v1model(program, &view),
            Pipeline::Tofino(view) => Self::of_tofino(program, &view),
        })
    }

    /// What is known of a program for v1model.
    #[must_use]
    pub fn v1model(&self) -> Option<&V1ModelInfo> {
        match &self.architecture {
            ArchitectureInfo::V1Model(info) => Some(info),
            ArchitectureInfo::Tofino(_) => None,
        }
    }

    /// Named leaves of headers and metadata; of v1model headers first, of Tofino ingress first.
    pub fn names(&self) -> impl Iterator<Item = &NamedLeaf> {
        let (first, then) = match &self.architecture {
            ArchitectureInfo::V1Model(info) => (&info.names[..], &[][..]),
            ArchitectureInfo::Tofino(info) => (&info.ingress_names[..], &info.egress_names[..]),
        };
        first.iter().chain(then)
    }

    /// The variables that clones and waiting packets keep; Tofino's packets keep none.
    #[must_use]
    pub fn kept_vars(&self) -> &[VarId] {
        self.v1model().map_or(&[], |info| &info.kept_vars)
    }

    /// The leaves of these variables.
    #[must_use]
    pub fn kept(&self) -> [Range<usize>; 3] {
        self.v1model().map_or([0..0, 0..0, 0..0], V1ModelInfo::kept)
    }

    fn of_tofino(program: &ValidProgram, view: &Tna) -> Self {
        let mut walk = Walk::new(program);
        let info = TnaInfo::new(program, view, &mut walk);
        Self {
            blocks: Blocks {
                parser: view.ingress.parser,
                ingress: vec![view.ingress.control],
                between: Some((view.ingress.deparser, view.egress.parser)),
                egress: vec![view.egress.control],
                deparser: vec![view.egress.deparser],
            },
            architecture: ArchitectureInfo::Tofino(Arc::new(info)),
        }
    }

    fn of_v1model(program: &ValidProgram, view: &V1Model) -> Self {
        Self {
            blocks: Blocks {
                parser: view.parser,
                ingress: vec![view.verify_checksum, view.ingress],
                between: None,
                egress: vec![view.egress],
                deparser: vec![view.compute_checksum, view.deparser],
            },
            architecture: ArchitectureInfo::V1Model(Arc::new(V1ModelInfo::new(program, view))),
        }
    }
}
