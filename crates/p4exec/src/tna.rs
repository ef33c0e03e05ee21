//! What executors know of a Tofino program besides its code: which variables each direction has,
//! where the fields of the intrinsic metadata lie, and how the egress metadata is laid out before a
//! packet.

use std::ops::Range;

use p4ir::{ExprKind, Place, Program, Projection, Tna, Type, TypeId, ValidProgram, VarId};

use crate::bitio::BitWriter;
use crate::limits::passes;
use crate::names::{NamedLeaf, Walk};
use crate::value::Bits;

/// A direction of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gress {
    /// Before the traffic manager.
    Ingress,
    /// Behind it.
    Egress,
}

/// No port: what `ucast_egress_port` is until the program sets it.
pub const NO_PORT: u64 = 511;

/// Bits of `ingress_intrinsic_metadata_t`.
pub const INGRESS_METADATA_BITS: usize = 64;

/// Values of `parser_err`.
pub mod parser_error {
    /// No case of a `select` matches.
    pub const NO_MATCH: u64 = 0x0001;
    /// The packet ends within a header.
    pub const PARTIAL_HEADER: u64 = 0x0002;
    /// A parser counter is set from a field that is too large.
    pub const COUNTER_RANGE: u64 = 0x0004;
    /// The parser took too long.
    pub const TIMEOUT: u64 = 0x0010;
}

/// Leaves of ingress that the switch itself reads and writes; none where the program leaves a
/// parameter out.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct IngressFields {
    pub global_tstamp: Option<usize>,
    pub parser_err: Option<usize>,
    pub drop_ctl: Option<usize>,
    pub ucast_egress_port: Option<usize>,
    pub bypass_egress: Option<usize>,
    pub ingress_cos: Option<usize>,
    pub qid: Option<usize>,
    pub mcast_grp_a: Option<usize>,
    pub mcast_grp_b: Option<usize>,
    pub rid: Option<usize>,
}

/// The same for egress.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct EgressFields {
    pub global_tstamp: Option<usize>,
    pub parser_err: Option<usize>,
    pub drop_ctl: Option<usize>,
}

/// A field of `egress_intrinsic_metadata_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EgressField {
    Port,
    Rid,
    Queue,
    Length,
    Time,
    /// What this switch does not measure is 0.
    Zero,
}

/// What the egress metadata of a packet says.
#[derive(Clone, Copy, Debug, Default)]
pub struct EgressMetadata {
    /// `egress_port`.
    pub port: u64,
    /// `egress_rid`.
    pub rid: u64,
    /// `egress_qid`.
    pub qid: u64,
    /// `pkt_length`.
    pub length: u64,
    /// `enq_tstamp`, ns.
    pub time: u64,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct TnaInfo {
    /// Passes through ingress and egress that one packet may cause.
    pub passes: u32,
    /// All leaves that a packet enters ingress with at zero.
    pub ingress_leaves: Vec<Range<usize>>,
    /// The same for egress.
    pub egress_leaves: Vec<Range<usize>>,
    /// What is read and written of ingress.
    pub ingress: IngressFields,
    /// What is read and written of egress.
    pub egress: EgressFields,
    /// Named leaves of ingress.
    pub ingress_names: Vec<NamedLeaf>,
    /// Named leaves of egress.
    pub egress_names: Vec<NamedLeaf>,
    /// Whether the program reads `parser_err` of ingress: then most errors do not end a packet.
    pub ingress_takes_errors: bool,
    /// Bits of port metadata.
    pub port_metadata_bits: usize,
    /// By index of an error: its name and flag.
    pub errors: Vec<(String, u64)>,
    egress_header: Vec<(EgressField, u32)>,
}

/// The egress metadata of Tofino 1 and 2 in bits, for programs that never look at it.
const fn egress_bits(port_metadata_bits: u32) -> u32 {
    if port_metadata_bits == 64 { 216 } else { 224 }
}

impl TnaInfo {
    pub(crate) fn new(program: &ValidProgram, view: &Tna, walk: &mut Walk<'_>) -> Self {
        let vars = |gress: &p4ir::Gress| {
            let parser = &program.parsers[gress.parser].params;
            let control = &program.controls[gress.control].params;
            let deparser = &program.controls[gress.deparser].params;
            let mut vars: Vec<(VarId, String)> = Vec::new();
            for param in control.iter().chain(parser).chain(deparser) {
                if vars.iter().all(|(var, _)| *var != param.var) {
                    vars.push((param.var, param.name.clone()));
                }
            }
            vars
        };
        let (ingress, egress) = (vars(&view.ingress), vars(&view.egress));
        let mut leaves = |vars: &[(VarId, String)]| {
            let first = walk.names.len();
            let ranges = vars.iter().map(|(var, name)| walk.variable(*var, name));
            let ranges: Vec<_> = ranges.collect();
            (ranges, walk.names[first..].to_vec())
        };
        let (ingress_leaves, ingress_names) = leaves(&ingress);
        let (egress_leaves, egress_names) = leaves(&egress);
        let field = |vars: &[(VarId, String)], record: &str, name: &str| {
            let var = of_type(program, vars, record)?;
            let index = program.types.field_index(program.vars[var].ty, name)?;
            let layout = program.layout();
            let offset = layout.field_offset(program.vars[var].ty, index);
            Some((layout.base(var) + offset) as usize)
        };
        let at = |name| field(&ingress, "ingress_intrinsic_metadata_for_tm_t", name);
        let from_parser = "ingress_intrinsic_metadata_from_parser_t";
        let eg_from_parser = "egress_intrinsic_metadata_from_parser_t";
        let for_deparser = "ingress_intrinsic_metadata_for_deparser_t";
        let eg_for_deparser = "egress_intrinsic_metadata_for_deparser_t";
        let from = of_type(program, &ingress, from_parser);
        let ingress_takes_errors = from.is_some_and(|var| reads_error(program, var));
        Self {
            passes: passes(program),
            ingress: IngressFields {
                global_tstamp: field(&ingress, from_parser, "global_tstamp"),
                parser_err: field(&ingress, from_parser, "parser_err"),
                drop_ctl: field(&ingress, for_deparser, "drop_ctl"),
                ucast_egress_port: at("ucast_egress_port"),
                bypass_egress: at("bypass_egress"),
                ingress_cos: at("ingress_cos"),
                qid: at("qid"),
                mcast_grp_a: at("mcast_grp_a"),
                mcast_grp_b: at("mcast_grp_b"),
                rid: at("rid"),
            },
            egress: EgressFields {
                global_tstamp: field(&egress, eg_from_parser, "global_tstamp"),
                parser_err: field(&egress, eg_from_parser, "parser_err"),
                drop_ctl: field(&egress, eg_for_deparser, "drop_ctl"),
            },
            ingress_takes_errors,
            ingress_leaves,
            egress_leaves,
            ingress_names,
            egress_names,
            port_metadata_bits: view.port_metadata_bits as usize,
            errors: program.errors.iter().map(|e| flagged(e)).collect(),
            egress_header: egress_header(program, view.port_metadata_bits),
        }
    }

    /// Bits before a packet that enters ingress.
    #[must_use]
    pub const fn ingress_prefix_bits(&self) -> usize {
        INGRESS_METADATA_BITS + self.port_metadata_bits
    }

    /// What stands before a packet that enters ingress: `ingress_intrinsic_metadata_t`, then the
    /// port metadata or what was resubmitted.
    #[must_use]
    pub fn ingress_prefix(&self, port: u16, now: u64, resubmitted: Option<&[u8]>) -> Vec<u8> {
        let flags = u64::from(resubmitted.is_some()) << 63;
        let word = flags | u64::from(port & 0x1ff) << 48 | (now & 0xffff_ffff_ffff);
        let mut bytes = word.to_be_bytes().to_vec();
        bytes.extend_from_slice(resubmitted.unwrap_or_default());
        bytes.resize(self.ingress_prefix_bits() / 8, 0);
        bytes
    }

    /// What stands before a packet that enters egress: `egress_intrinsic_metadata_t`.
    #[must_use]
    pub fn egress_prefix(&self, metadata: &EgressMetadata) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for (field, width) in &self.egress_header {
            let value = match field {
                EgressField::Port => metadata.port,
                EgressField::Rid => metadata.rid,
                EgressField::Queue => metadata.qid,
                EgressField::Length => metadata.length,
                EgressField::Time => metadata.time,
                EgressField::Zero => 0,
            };
            writer.push(&Bits::from_u64(*width, value));
        }
        writer.into_bytes()
    }
}

fn of_type(program: &Program, vars: &[(VarId, String)], record: &str) -> Option<VarId> {
    let named =
        |ty: TypeId| matches!(&program.types[ty], Type::Record { name, .. } if name == record);
    let mut vars = vars.iter().map(|(var, _)| *var);
    vars.find(|var| named(program.vars[*var].ty))
}

fn flagged(error: &str) -> (String, u64) {
    let flag = match error {
        "NoMatch" => parser_error::NO_MATCH,
        "CounterRange" => parser_error::COUNTER_RANGE,
        "ParserTimeout" => parser_error::TIMEOUT,
        _ => parser_error::PARTIAL_HEADER,
    };
    (error.to_owned(), flag)
}

/// Whether `parser_err` of a variable is read anywhere.
fn reads_error(program: &Program, var: VarId) -> bool {
    let index = program
        .types
        .field_index(program.vars[var].ty, "parser_err");
    let reads = |place: &Place| {
        place.var == var
            && match place.path.first() {
                Some(Projection::Field(field)) => Some(*field) == index,
                _ => true,
            }
    };
    program
        .exprs
        .values()
        .any(|expr| matches!(&expr.kind, ExprKind::Read(place) if reads(place)))
}

fn egress_header(program: &Program, port_metadata_bits: u32) -> Vec<(EgressField, u32)> {
    let mut records = program.types.iter().map(|(_, ty)| ty);
    let known = records.find_map(|ty| match ty {
        Type::Record { name, fields, .. } if name == "egress_intrinsic_metadata_t" => Some(fields),
        _ => None,
    });
    let Some(fields) = known else {
        return vec![(EgressField::Zero, egress_bits(port_metadata_bits))];
    };
    let each = fields.iter().map(|field| {
        let width = match &program.types[field.ty] {
            Type::Bits { width, .. } => *width,
            _ => 0,
        };
        let role = match field.name.as_str() {
            "egress_port" => EgressField::Port,
            "egress_rid" => EgressField::Rid,
            "egress_qid" => EgressField::Queue,
            "pkt_length" => EgressField::Length,
            "enq_tstamp" => EgressField::Time,
            _ => EgressField::Zero,
        };
        (role, width)
    });
    each.collect()
}
