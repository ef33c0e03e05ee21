//! Checksums and the deparser.

use p4ir::{
    Block, Callee, ExprId, ExprKind, ExternArg, ExternCall, ExternCallee, ExternFunction, StmtKind,
};
use serde_json::{Value, json};

use super::json::{op, unary};
use super::steps::Step;
use super::{Write, Writer, with_source};

impl Writer<'_> {
    /// Checksums that are verified and computed.
    pub(super) fn checksums(&mut self) -> Write<()> {
        for control in [self.blocks.verify_checksum, self.blocks.compute_checksum] {
            let control = &self.p.controls[control];
            self.checks_of(&control.init, &None)?;
            self.checks_of(&control.body, &None)?;
        }
        Ok(())
    }

    /// Those of a block that is run under a condition.
    fn checks_of(&mut self, block: &Block, under: &Option<Value>) -> Write<()> {
        let with = |cond: Value| match under {
            None => cond,
            Some(before) => op("and", before.clone(), cond),
        };
        for stmt in block {
            self.span = stmt.span;
            match &stmt.kind {
                StmtKind::If { cond, then, other } => {
                    let cond = self.cond(*cond)?;
                    self.checks_of(then, &Some(with(cond.clone())))?;
                    self.checks_of(other, &Some(with(unary("not", cond))))?;
                }
                StmtKind::Call {
                    callee: Callee::Control(id),
                    copy_in,
                    copy_out,
                } if copy_in.is_empty() && copy_out.is_empty() => {
                    let control = &self.p.controls[*id];
                    self.checks_of(&control.init, under)?;
                    self.checks_of(&control.body, under)?;
                }
                StmtKind::Extern(call) => {
                    let ExternCallee::Function(function) = &call.callee else {
                        return Err(self.error("a method call among checksums"));
                    };
                    if !function.is_checksum() {
                        return Err(self.error(format!("`{}` among checksums", function.name())));
                    }
                    self.check(function, call, under)?;
                }
                _ => return Err(self.error("a statement other than conditions and checksums here")),
            }
        }
        Ok(())
    }

    fn check(
        &mut self,
        function: &ExternFunction,
        call: &ExternCall,
        under: &Option<Value>,
    ) -> Write<()> {
        let verify = matches!(
            function,
            ExternFunction::VerifyChecksum | ExternFunction::VerifyChecksumWithPayload
        );
        let payload = matches!(
            function,
            ExternFunction::VerifyChecksumWithPayload | ExternFunction::UpdateChecksumWithPayload
        );
        let cond = match call.args.first() {
            Some(ExternArg::In(cond)) => self.cond(*cond)?,
            _ => return Err(self.error("a checksum without a condition")),
        };
        let cond = match under {
            None => cond,
            Some(under) if cond["type"] == "bool" && cond["value"] == true => under.clone(),
            Some(under) => op("and", under.clone(), cond),
        };
        let (before, mut input) = self.fields(call, 1)?;
        if !before.is_empty() {
            return Err(self.error("a checksum over what is no field"));
        }
        if payload {
            input.push(json!({ "type": "payload", "value": null }));
        }
        let target = match call.args.get(2) {
            Some(ExternArg::In(e)) => self.field_read(*e)?,
            Some(ExternArg::InOut(place) | ExternArg::Out(place)) if place.is_static() => {
                self.scalar(place)?
            }
            _ => return Err(self.error("a checksum that is no field")),
        };
        let algorithm = self.algorithm(call, 3)?;
        let calculation = self.calculation(&algorithm, input);
        let id = self.checksums.len();
        let made = json!({
            "name": format!("cksum_{id}"), "id": id, "type": "generic", "target": target["value"],
            "calculation": calculation["value"], "verify": verify, "update": !verify, "if_cond": cond,
        });
        self.checksums.push(self.placed(made));
        Ok(())
    }

    fn field_read(&mut self, e: ExprId) -> Write<Value> {
        let e = match &self.p.exprs[e].kind {
            ExprKind::Cast(inner) => *inner,
            _ => e,
        };
        match self.plain_field(e)? {
            Some(field) => Ok(field),
            None => Err(self.error("a checksum that is no field")),
        }
    }

    /// The deparser: headers in order, and what is done before the first of them.
    pub(super) fn deparser(&mut self) -> Write<Value> {
        let control = &self.p.controls[self.blocks.deparser];
        let source = self.source_of(control.span);
        let mut steps = self.block(&control.init)?;
        steps.extend(self.block(&control.body)?);
        let (mut order, mut primitives) = (Vec::new(), Vec::new());
        self.deparse(&steps, &mut order, &mut primitives)?;
        let made = json!({ "name": "deparser", "id": 0, "order": order, "primitives": primitives });
        Ok(with_source(made, source))
    }

    fn deparse(
        &self,
        steps: &[Step],
        order: &mut Vec<String>,
        primitives: &mut Vec<Value>,
    ) -> Write<()> {
        for step in steps {
            match step {
                Step::Emit(header) => order.push(header.clone()),
                Step::Op(primitive) if order.is_empty() => primitives.push(primitive.clone()),
                Step::Scope(inner) => self.deparse(inner, order, primitives)?,
                Step::Op(_) => return Err(self.error("a statement of the deparser behind `emit`")),
                _ => return Err(self.error("a condition or loop in the deparser")),
            }
        }
        Ok(())
    }
}
