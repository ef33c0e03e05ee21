//! Checksums and the deparser, and the package that holds all blocks.

use p4ir::{
    Architecture, ArgValue, Assign, Const, Control, ControlId, ExternArg, ExternFunction,
    PackageArg, Stmt, StmtKind, SwitchCase, Type,
};

use crate::data::Reader;
use crate::error::Read;
use crate::model::{Arg, Checksum};

impl Reader<'_> {
    /// The five controls, as arguments of the package.
    pub(crate) fn controls(&mut self) -> Read<()> {
        let mut first = self.block(Self::number_error)?;
        first.extend(self.checksums(true)?);
        let verify = self.control("verify_checksum", 2, first);
        let ingress = self.pipeline("ingress")?;
        let egress = self.pipeline("egress")?;
        let update = self.checksums(false)?;
        let update = self.control("compute_checksum", 2, update);
        let deparser = self.deparser()?;
        let deparser = self.control("deparser", 1, deparser);
        let blocks = [
            ("vr", verify),
            ("ig", ingress),
            ("eg", egress),
            ("ck", update),
            ("dep", deparser),
        ];
        for (name, id) in blocks {
            let value = ArgValue::Control(id);
            self.program.main.args.push(PackageArg {
                name: name.into(),
                value,
            });
        }
        let architecture = Architecture::V1Model;
        self.program.main.type_name = architecture.package().into();
        self.program.architecture = Some(architecture);
        Ok(())
    }

    /// What runs first after the parser: `parser_error` gets the number that the file has for it.
    fn number_error(&mut self) -> Read<()> {
        let standard = self.header("standard_metadata")?;
        let Ok((place, ty)) = self.field_of(&standard.place, standard.ty, "parser_error") else {
            return Ok(());
        };
        let width = self.program.types.get(ty).and_then(Type::bits);
        let Some((width, signed)) = width else {
            return Ok(());
        };
        let mut cases = Vec::new();
        for (number, index) in self.errors.clone() {
            if number == index {
                continue;
            }
            let value = self.constant(&number.into(), width, signed);
            let dst = place.clone();
            let body = self.block(|r| {
                r.emit(StmtKind::Assign(Assign { dst, value }));
                Ok(())
            })?;
            let labels = vec![Const::Bits(index.into())];
            cases.push(SwitchCase { labels, body });
        }
        if !cases.is_empty() {
            let value = self.read(place, ty);
            self.emit(StmtKind::Switch {
                value,
                cases,
                default: Vec::new(),
            });
        }
        Ok(())
    }

    fn control(&mut self, name: &str, params: usize, body: Vec<Stmt>) -> ControlId {
        let params = self.shared_params(params);
        self.program.controls.push(Control {
            name: name.into(),
            type_name: name.into(),
            params,
            init: Vec::new(),
            body,
            tables: Vec::new(),
            actions: Vec::new(),
            subcontrols: Vec::new(),
            span: self.span,
        })
    }

    fn checksums(&mut self, verify: bool) -> Read<Vec<Stmt>> {
        let json = self.json;
        let wanted = |c: &&Checksum| if verify { c.verify } else { c.update };
        self.block(|r| {
            json.checksums
                .iter()
                .filter(wanted)
                .try_for_each(|c| r.checksum(c, verify))
        })
    }

    fn checksum(&mut self, c: &Checksum, verify: bool) -> Read<()> {
        self.context = format!("checksum `{}`", c.name);
        self.at(c.source_info.as_ref());
        if c.kind != "generic" {
            return Err(self.unsupported(format!("type `{}`", c.kind)));
        }
        let cond = match &c.if_cond {
            None => self.boolean(true),
            Some(v) => {
                let context = self.context.clone();
                self.condition(&Arg::new(v, &context)?)?
            }
        };
        let (place, ty) = self.field_arg(&Arg::Field(c.target.0.clone(), c.target.1.clone()))?;
        let target = if verify {
            ExternArg::In(self.read(place, ty))
        } else {
            ExternArg::InOut(place)
        };
        let holder = self.header(&c.target.0)?;
        let headers = self.calculated_headers(&c.calculation, Some(&c.target.0))?;
        let made = self.block(|r| {
            r.by_validity(&headers, &mut Vec::new(), &mut |r, absent| {
                let (algorithm, data, payload) = r.calculation(&c.calculation, absent)?;
                let function = match (verify, payload) {
                    (true, false) => ExternFunction::VerifyChecksum,
                    (true, true) => ExternFunction::VerifyChecksumWithPayload,
                    (false, false) => ExternFunction::UpdateChecksum,
                    (false, true) => ExternFunction::UpdateChecksumWithPayload,
                };
                let algorithm = ExternArg::In(algorithm);
                r.call(
                    function,
                    vec![ExternArg::In(cond), data, target.clone(), algorithm],
                );
                Ok(())
            })
        })?;
        if holder.metadata {
            self.out.extend(made);
            return Ok(());
        }
        // BMv2 skips a checksum whose own header is invalid.
        let cond = self.is_valid(holder.place);
        self.emit(StmtKind::If {
            cond,
            then: made,
            other: Vec::new(),
        });
        Ok(())
    }

    fn deparser(&mut self) -> Read<Vec<Stmt>> {
        self.context = "deparsers".into();
        let json = self.json;
        let deparser = match &json.deparsers[..] {
            [d] => d,
            list => {
                return Err(self.unsupported(format!("a program with {} deparsers", list.len())));
            }
        };
        self.block(|r| {
            for p in &deparser.primitives {
                r.primitive(p)?;
            }
            for name in &deparser.order {
                let h = r.header(name)?;
                if h.metadata {
                    return Err(r.malformed(format!("metadata `{name}` is emitted")));
                }
                r.emit(StmtKind::Emit { header: h.place });
            }
            Ok(())
        })
    }
}
