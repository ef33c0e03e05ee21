//! The instantiation `main` and typed views of it per architecture.

use serde::{Deserialize, Serialize};

use crate::Program;
use crate::entity::{ControlId, ExprId, ExternId, ParserId, VarId};

/// The architectures that executors run, each by the include file that declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Architecture {
    /// `v1model.p4`, of BMv2's `simple_switch`.
    V1Model,
    /// `tna.p4`, of Tofino 1.
    Tna,
    /// `t2na.p4`, of Tofino 2.
    T2na,
}

impl Architecture {
    /// The architecture of a program, by the names that its include file declares.
    #[must_use]
    pub fn declared(has: impl Fn(&str) -> bool) -> Option<Self> {
        if has("IngressDeparserT") && has("ingress_intrinsic_metadata_for_tm_t") {
            // Only Tofino 2 has a third thread.
            Some(if has("GhostT") { Self::T2na } else { Self::Tna })
        } else {
            has("V1Switch").then_some(Self::V1Model)
        }
    }

    /// Its name in P4Info and on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1Model => "v1model",
            Self::Tna => "tna",
            Self::T2na => "t2na",
        }
    }

    /// The type of the package `main`.
    #[must_use]
    pub const fn package(self) -> &'static str {
        match self {
            Self::V1Model => "V1Switch",
            Self::Tna | Self::T2na => "Switch",
        }
    }

    /// Whether it is Tofino's, 1 or 2.
    #[must_use]
    pub const fn is_tofino(self) -> bool {
        match self {
            Self::V1Model => false,
            Self::Tna | Self::T2na => true,
        }
    }

    /// Bits between Tofino's ingress intrinsic metadata and the packet, `PORT_METADATA_SIZE`; 0
    /// where there are none.
    #[must_use]
    pub const fn port_metadata_bits(self) -> u32 {
        match self {
            Self::V1Model => 0,
            Self::Tna => 64,
            Self::T2na => 192,
        }
    }
}

/// A constructor argument of a package.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum ArgValue {
    /// A parser instance.
    Parser(ParserId),
    /// A control instance.
    Control(ControlId),
    /// A nested package, e.g. `Pipeline` of tna.
    Package(Box<Package>),
    /// An extern object.
    Extern(ExternId),
    /// A constant.
    Value(ExprId),
}

/// One argument.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct PackageArg {
    /// Name of the constructor parameter, e.g. `ig`.
    pub name: String,
    /// What was given.
    pub value: ArgValue,
}

/// An instantiated package.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Package {
    /// Name of the package type, e.g. `V1Switch`.
    pub type_name: String,
    /// Arguments in declaration order; optional ones that were left out are missing.
    pub args: Vec<PackageArg>,
}

impl Package {
    /// The argument of a constructor parameter.
    pub fn arg(&self, name: &str) -> Option<&ArgValue> {
        self.args.iter().find(|a| a.name == name).map(|a| &a.value)
    }

    fn parser(&self, name: &str) -> Option<ParserId> {
        match self.arg(name)? {
            ArgValue::Parser(id) => Some(*id),
            _ => None,
        }
    }

    fn control(&self, name: &str) -> Option<ControlId> {
        match self.arg(name)? {
            ArgValue::Control(id) => Some(*id),
            _ => None,
        }
    }
}

/// The six blocks of `V1Switch` and the three variables they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V1Model {
    /// `p`.
    pub parser: ParserId,
    /// `vr`.
    pub verify_checksum: ControlId,
    /// `ig`.
    pub ingress: ControlId,
    /// `eg`.
    pub egress: ControlId,
    /// `ck`.
    pub compute_checksum: ControlId,
    /// `dep`.
    pub deparser: ControlId,
    /// The parsed headers (`H`).
    pub headers: VarId,
    /// User metadata (`M`).
    pub metadata: VarId,
    /// `standard_metadata_t`.
    pub standard_metadata: VarId,
}

/// The blocks of one direction of a Tofino pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gress {
    /// Reads the packet.
    pub parser: ParserId,
    /// Matches and acts.
    pub control: ControlId,
    /// Writes the packet.
    pub deparser: ControlId,
}

/// The pipeline of a Tofino program: the first one, where a program has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tna {
    /// Before the traffic manager.
    pub ingress: Gress,
    /// Behind it.
    pub egress: Gress,
    /// Bits between the ingress intrinsic metadata and the packet.
    pub port_metadata_bits: u32,
}

/// The blocks of `main`, by architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipeline {
    /// Of `V1Switch`.
    V1Model(V1Model),
    /// Of the first pipeline of `Switch`.
    Tofino(Tna),
}

impl Program {
    /// The pipeline of a program, or `None` if the architecture is not known or `main` does not
    /// have all its blocks.
    #[must_use]
    pub fn pipeline(&self) -> Option<Pipeline> {
        let architecture = self.architecture?;
        if self.main.type_name != architecture.package() {
            return None;
        }
        match architecture {
            Architecture::V1Model => self.v1model().map(Pipeline::V1Model),
            Architecture::Tna | Architecture::T2na => {
                let bits = architecture.port_metadata_bits();
                self.tofino(bits).map(Pipeline::Tofino)
            }
        }
    }

    /// How many programs the pipes of a Tofino run: the different packages that `main` is made of.
    /// 1 for others.
    #[must_use]
    pub fn pipes(&self) -> usize {
        if !self.architecture.is_some_and(Architecture::is_tofino) {
            return 1;
        }
        let mut different: Vec<&Package> = Vec::new();
        for arg in &self.main.args {
            if let ArgValue::Package(package) = &arg.value
                && !different.contains(&&**package)
            {
                different.push(package);
            }
        }
        different.len().max(1)
    }

    fn tofino(&self, port_metadata_bits: u32) -> Option<Tna> {
        let ArgValue::Package(pipe) = self.main.arg("pipe0")? else {
            return None;
        };
        Some(Tna {
            ingress: Gress {
                parser: pipe.parser("ingress_parser")?,
                control: pipe.control("ingress")?,
                deparser: pipe.control("ingress_deparser")?,
            },
            egress: Gress {
                parser: pipe.parser("egress_parser")?,
                control: pipe.control("egress")?,
                deparser: pipe.control("egress_deparser")?,
            },
            port_metadata_bits,
        })
    }

    /// The six blocks, if they share their variables.
    fn v1model(&self) -> Option<V1Model> {
        let main = &self.main;
        let parser = main.parser("p")?;
        let params = &self.parsers.get(parser)?.params;
        let view = V1Model {
            parser,
            verify_checksum: main.control("vr")?,
            ingress: main.control("ig")?,
            egress: main.control("eg")?,
            compute_checksum: main.control("ck")?,
            deparser: main.control("dep")?,
            headers: params.first()?.var,
            metadata: params.get(1)?.var,
            standard_metadata: params.get(2)?.var,
        };
        let shares = |id: ControlId, vars: &[VarId]| {
            self.controls
                .get(id)
                .is_some_and(|c| c.params.iter().map(|p| &p.var).eq(vars))
        };
        let all = [view.headers, view.metadata, view.standard_metadata];
        let shared = shares(view.verify_checksum, &all[..2])
            && shares(view.ingress, &all)
            && shares(view.egress, &all)
            && shares(view.compute_checksum, &all[..2])
            && shares(view.deparser, &all[..1]);
        shared.then_some(view)
    }
}
