//! The instantiation `main` and typed views of it per architecture.

use serde::{Deserialize, Serialize};

use crate::Program;
use crate::entity::{ControlId, ExprId, ExternId, ParserId, VarId};
use crate::expr::{Const, ExprKind};

/// A constructor argument of a package.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackageArg {
    /// Name of the constructor parameter, e.g. `ig`.
    pub name: String,
    /// What was given.
    pub value: ArgValue,
}

/// An instantiated package.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Bits between the ingress intrinsic metadata and the packet: 64 on Tofino 1, 192 on Tofino 2.
    pub port_metadata_bits: u32,
}

impl Program {
    /// The pipeline of a program for `tna.p4` or `t2na.p4`, or `None` if `main` is not a `Switch` of a `Pipeline` with
    /// all six blocks.
    pub fn tna(&self) -> Option<Tna> {
        if self.main.type_name != "Switch" {
            return None;
        }
        let ArgValue::Package(pipe) = self.main.arg("pipe0")? else {
            return None;
        };
        let parser = |name| match pipe.arg(name)? {
            ArgValue::Parser(id) => Some(*id),
            _ => None,
        };
        let ArgValue::Value(size) = self.main.arg("PORT_METADATA_SIZE")? else {
            return None;
        };
        let ExprKind::Const(Const::Bits(size)) = &self.exprs.get(*size)?.kind else {
            return None;
        };
        Some(Tna {
            ingress: Gress {
                parser: parser("ingress_parser")?,
                control: pipe.control("ingress")?,
                deparser: pipe.control("ingress_deparser")?,
            },
            egress: Gress {
                parser: parser("egress_parser")?,
                control: pipe.control("egress")?,
                deparser: pipe.control("egress_deparser")?,
            },
            port_metadata_bits: u32::try_from(size).ok()?,
        })
    }

    /// The v1model view, or `None` if `main` is not a `V1Switch` with all six blocks over shared variables.
    pub fn v1model(&self) -> Option<V1Model> {
        let main = &self.main;
        if main.type_name != "V1Switch" {
            return None;
        }
        let parser = match main.arg("p")? {
            ArgValue::Parser(id) => *id,
            _ => return None,
        };
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
