//! Checksums of v1model over headers that may be invalid.
//!
//! The language leaves the fields of an invalid header undefined. BMv2 leaves them out of a
//! checksum, and skips a checksum whose own header is invalid; so do programs made here, as those
//! read from its JSON. (The data of `hash` are copied before the call, by p4c too: there undefined
//! values stay undefined.)

use p4ir::{
    ExprKind, ExternArg, ExternCall, ExternCallee, Place, Projection, RecordKind, StmtKind, Type,
};

use super::Lowerer;
use crate::source::Span;

/// Headers that one checksum looks at; beyond this all are taken to be valid, to keep the program
/// small.
const MAX_HEADERS: usize = 4;

/// The positions of their data, and of the checksum.
const DATA: usize = 1;
const CHECKSUM: usize = 2;

impl Lowerer<'_> {
    /// Emits the call of an extern function or method.
    pub(super) fn emit_extern(&mut self, call: ExternCall, span: Span) {
        let checksum = match &call.callee {
            ExternCallee::Function(function) => function.is_checksum(),
            ExternCallee::Method(..) => false,
        };
        if !checksum || self.emitter.ir.architecture.is_none() {
            return self.emit(StmtKind::Extern(call), span);
        }
        let checksum = call.args.get(CHECKSUM);
        let own = checksum.and_then(|arg| self.header_of_arg(arg));
        let mut headers: Vec<Place> = Vec::new();
        if let Some(ExternArg::Fields { values, .. }) = call.args.get(DATA) {
            for value in values {
                match self.header_of_value(*value) {
                    Some(h) if own.as_ref() != Some(&h) && !headers.contains(&h) => headers.push(h),
                    _ => {}
                }
            }
        }
        headers.truncate(MAX_HEADERS);
        let (made, ()) = self.nested(|l| l.by_validity(&headers, &mut Vec::new(), &call, span));
        match own {
            Some(header) => self.if_valid(header, made, Vec::new(), span),
            None => self.emitter.out.extend(made),
        }
    }

    fn if_valid(&mut self, header: Place, then: p4ir::Block, other: p4ir::Block, span: Span) {
        let ty = self.emitter.ir.types.boolean();
        let cond = self.emitter.ir.add_expr(ExprKind::IsValid(header), ty);
        self.emit(StmtKind::If { cond, then, other }, span);
    }

    /// The call for each set of headers that can be invalid.
    fn by_validity(
        &mut self,
        headers: &[Place],
        absent: &mut Vec<Place>,
        call: &ExternCall,
        span: Span,
    ) {
        let Some((first, rest)) = headers.split_first() else {
            let mut call = call.clone();
            if let Some(ExternArg::Fields { values, .. }) = call.args.get_mut(DATA) {
                values.retain(|value| {
                    let header = self.header_of_value(*value);
                    header.is_none_or(|h| !absent.contains(&h))
                });
            }
            return self.emit(StmtKind::Extern(call), span);
        };
        let (then, ()) = self.nested(|l| l.by_validity(rest, absent, call, span));
        absent.push(first.clone());
        let (other, ()) = self.nested(|l| l.by_validity(rest, absent, call, span));
        absent.pop();
        self.if_valid(first.clone(), then, other, span);
    }

    fn header_of_arg(&self, arg: &ExternArg) -> Option<Place> {
        match arg {
            ExternArg::In(value) => self.header_of_value(*value),
            ExternArg::InOut(place) => self.header_of(place),
            _ => None,
        }
    }

    fn header_of_value(&self, value: p4ir::ExprId) -> Option<Place> {
        match &self.emitter.ir.exprs[value].kind {
            ExprKind::Read(place) => self.header_of(place),
            ExprKind::Slice { value, .. } => self.header_of_value(*value),
            _ => None,
        }
    }

    /// The header that a field is in.
    fn header_of(&self, place: &Place) -> Option<Place> {
        let mut ty = self.emitter.ir.vars[place.var].ty;
        for (index, step) in place.path.iter().enumerate() {
            ty = match (&self.emitter.ir.types[ty], step) {
                (Type::Record { kind, fields, .. }, Projection::Field(field)) => {
                    if *kind == RecordKind::Header {
                        let path = place.path[..index].to_vec();
                        return Some(Place {
                            var: place.var,
                            path,
                        });
                    }
                    fields.get(*field as usize)?.ty
                }
                (Type::Stack { element, .. }, _) => *element,
                _ => return None,
            };
        }
        None
    }
}
