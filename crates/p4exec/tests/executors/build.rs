//! Builds small v1model programs by hand: a header `h { op: 8, arg: 8 }` and user metadata `kept`
//! (in field list 1), `lost`, `ing_prio`, `eg_prio`, `ports`.

use std::sync::Arc;

use p4exec::state::Replica;
use p4exec::{DropReason, Executor, Outputs};
use p4ir::*;
use quantities::{Nanos, PortId};

pub(crate) const HEADERS: usize = 0;
pub(crate) const META: usize = 1;
pub(crate) const STANDARD: usize = 2;

/// Fields of the user metadata.
pub(crate) const KEPT: u32 = 0;
pub(crate) const LOST: u32 = 1;
pub(crate) const ING_PRIO: u32 = 2;
pub(crate) const EG_PRIO: u32 = 3;
pub(crate) const PORTS: u32 = 4;

pub(crate) struct Build {
    pub(crate) p: Program,
    pub(crate) clone_type: TypeId,
}

pub(crate) fn annotation(name: &str, value: AnnotationValue) -> Vec<Annotation> {
    vec![Annotation {
        name: name.into(),
        values: vec![(String::new(), value)],
    }]
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        span: Span::default(),
    }
}

impl Build {
    pub(crate) fn new() -> Self {
        let mut p = Program {
            errors: CORE_ERRORS.map(String::from).to_vec(),
            ..Program::default()
        };
        let clone_type = p.types.intern(Type::Enum {
            name: "CloneType".into(),
            members: vec!["I2E".into(), "E2E".into()],
        });
        let b8 = p.types.bit(8);
        let field = |name: &str, ty, annotations| Field {
            name: name.into(),
            ty,
            annotations,
        };
        let h = p.types.intern(Type::Record {
            kind: RecordKind::Header,
            name: "h_t".into(),
            fields: vec![field("op", b8, vec![]), field("arg", b8, vec![])],
        });
        let headers = p.types.intern(Type::Record {
            kind: RecordKind::Struct,
            name: "headers".into(),
            fields: vec![field("h", h, vec![])],
        });
        let role = |r: &str| annotation("switchwright", AnnotationValue::Str(r.into()));
        let meta = p.types.intern(Type::Record {
            kind: RecordKind::Struct,
            name: "meta".into(),
            fields: vec![
                field(
                    "kept",
                    b8,
                    annotation("field_list", AnnotationValue::Int(1.into())),
                ),
                field("lost", b8, vec![]),
                field("ing_prio", b8, role("ing_prio")),
                field("eg_prio", b8, role("eg_prio")),
                field("ports", b8, role("port_status")),
            ],
        });
        let error = p.types.intern(Type::Error);
        let standard = [
            ("ingress_port", 9),
            ("egress_spec", 9),
            ("egress_port", 9),
            ("instance_type", 32),
            ("packet_length", 32),
            ("mcast_grp", 16),
            ("egress_rid", 16),
            ("ingress_global_timestamp", 48),
            ("priority", 3),
        ]
        .map(|(name, width)| (name, p.types.bit(width)));
        let mut fields: Vec<Field> = standard
            .into_iter()
            .map(|(name, ty)| field(name, ty, vec![]))
            .collect();
        fields.push(field("parser_error", error, vec![]));
        let standard = p.types.intern(Type::Record {
            kind: RecordKind::Struct,
            name: "standard_metadata_t".into(),
            fields,
        });
        for (name, ty) in [
            ("hdr", headers),
            ("meta", meta),
            ("standard_metadata", standard),
        ] {
            p.vars.push(Var {
                name: name.into(),
                ty,
                kind: VarKind::Param,
                span: Span::default(),
            });
        }
        Self { p, clone_type }
    }

    pub(crate) fn var(index: usize) -> VarId {
        VarId::new(index)
    }

    pub(crate) fn standard(&self, name: &str) -> Place {
        let ty = self.p.vars[Self::var(STANDARD)].ty;
        let field = self.p.types.field_index(ty, name).unwrap();
        Place::var(Self::var(STANDARD)).field(field)
    }

    pub(crate) fn meta(field: u32) -> Place {
        Place::var(Self::var(META)).field(field)
    }

    pub(crate) fn header() -> Place {
        Place::var(Self::var(HEADERS)).field(0)
    }

    pub(crate) fn read(&mut self, place: &Place) -> ExprId {
        let ty = self.p.place_type(place).unwrap();
        self.p.add_expr(ExprKind::Read(place.clone()), ty)
    }

    pub(crate) fn number(&mut self, width: u32, value: u64) -> ExprId {
        let ty = self.p.types.bit(width);
        self.p
            .add_expr(ExprKind::Const(Const::Bits(value.into())), ty)
    }

    pub(crate) fn width(&self, place: &Place) -> u32 {
        self.p.types[self.p.place_type(place).unwrap()]
            .bits()
            .unwrap()
            .0
    }

    pub(crate) fn cast(&mut self, value: ExprId, width: u32) -> ExprId {
        let ty = self.p.types.bit(width);
        self.p.add_expr(ExprKind::Cast(value), ty)
    }

    pub(crate) fn set(&mut self, dst: Place, value: u64) -> Stmt {
        let width = self.width(&dst);
        let value = self.number(width, value);
        stmt(StmtKind::Assign(Assign { dst, value }))
    }

    /// `dst = (cast) src`
    pub(crate) fn copy(&mut self, dst: Place, src: &Place) -> Stmt {
        let width = self.width(&dst);
        let value = self.read(src);
        let value = self.cast(value, width);
        stmt(StmtKind::Assign(Assign { dst, value }))
    }

    pub(crate) fn call(name: &str, args: Vec<ExternArg>) -> Stmt {
        stmt(StmtKind::Extern(ExternCall {
            callee: ExternCallee::Function(ExternFunction::from_name(name)),
            type_args: vec![],
            args,
            result: None,
        }))
    }

    pub(crate) fn clone_call(&mut self, kind: u32, session: u64) -> Stmt {
        let ty = self.clone_type;
        let kind = self.p.add_expr(ExprKind::Const(Const::Enum(kind)), ty);
        let (session, list) = (self.number(32, session), self.number(8, 1));
        let args = [kind, session, list].map(ExternArg::In).to_vec();
        Self::call("clone_preserving_field_list", args)
    }

    pub(crate) fn drop_call() -> Stmt {
        let place = Place::var(Self::var(STANDARD));
        Self::call("mark_to_drop", vec![ExternArg::InOut(place)])
    }

    pub(crate) fn number_call(&mut self, name: &str, width: u32, value: u64) -> Stmt {
        let value = self.number(width, value);
        Self::call(name, vec![ExternArg::In(value)])
    }

    pub(crate) fn is(&mut self, place: &Place, value: u64) -> ExprId {
        let width = self.width(place);
        let (left, right) = (self.read(place), self.number(width, value));
        let ty = self.p.types.boolean();
        self.p
            .add_expr(ExprKind::Binary(BinaryOp::Eq, left, right), ty)
    }

    pub(crate) fn when(&mut self, place: &Place, value: u64, then: Block) -> Stmt {
        let cond = self.is(place, value);
        stmt(StmtKind::If {
            cond,
            then,
            other: vec![],
        })
    }

    pub(crate) fn forever(&mut self) -> Stmt {
        let ty = self.p.types.boolean();
        let cond = self.p.add_expr(ExprKind::Const(Const::Bool(true)), ty);
        stmt(StmtKind::Loop {
            head: vec![],
            cond,
            body: vec![],
            step: vec![],
            rounds: 1,
        })
    }

    pub(crate) fn control(&mut self, name: &str, params: usize, body: Block) -> ControlId {
        self.p.controls.push(Control {
            name: name.into(),
            type_name: name.into(),
            params: (0..params)
                .map(|i| Param {
                    name: format!("p{i}"),
                    direction: Direction::InOut,
                    var: Self::var(i),
                })
                .collect(),
            init: vec![],
            body,
            tables: vec![],
            actions: vec![],
            subcontrols: vec![],
            span: Span::default(),
        })
    }

    pub(crate) fn finish(mut self, ingress: Block, egress: Block) -> Arc<ValidProgram> {
        let extract = stmt(StmtKind::Extract {
            header: Self::header(),
            advance: None,
        });
        // op 99 sends the parser round for ever.
        let op = Self::header().field(0);
        let key = self.read(&op);
        let start = StateId::new(0);
        let spin = StateId::new(1);
        let case = |value: KeySet, target| SelectCase {
            matches: SelectMatch::Sets(vec![value]),
            target,
        };
        self.p.states.push(State {
            name: "start".into(),
            body: vec![extract],
            transition: Transition::Select {
                keys: vec![key],
                cases: vec![
                    case(
                        KeySet::Value(Const::Bits(99u32.into())),
                        Target::State(spin),
                    ),
                    case(KeySet::Any, Target::Accept),
                ],
            },
            rounds: 0,
            span: Span::default(),
        });
        self.p.states.push(State {
            name: "spin".into(),
            body: vec![],
            transition: Transition::Goto(Target::State(spin)),
            rounds: 0,
            span: Span::default(),
        });
        let param = |i| Param {
            name: format!("p{i}"),
            direction: Direction::InOut,
            var: Self::var(i),
        };
        let parser = self.p.parsers.push(Parser {
            name: "p".into(),
            type_name: "P".into(),
            params: (0..3).map(param).collect(),
            init: vec![],
            start,
            states: vec![start, spin],
            value_sets: vec![],
            subparsers: vec![],
            span: Span::default(),
        });
        let vr = self.control("vr", 2, vec![]);
        let ig = self.control("ig", 3, ingress);
        let eg = self.control("eg", 3, egress);
        let ck = self.control("ck", 2, vec![]);
        let dep = self.control(
            "dep",
            1,
            vec![stmt(StmtKind::Emit {
                header: Self::header(),
            })],
        );
        let arg = |name: &str, value| PackageArg {
            name: name.into(),
            value,
        };
        self.p.architecture = Some(Architecture::V1Model);
        self.p.main = Package {
            type_name: "V1Switch".into(),
            args: vec![
                arg("p", ArgValue::Parser(parser)),
                arg("vr", ArgValue::Control(vr)),
                arg("ig", ArgValue::Control(ig)),
                arg("eg", ArgValue::Control(eg)),
                arg("ck", ArgValue::Control(ck)),
                arg("dep", ArgValue::Control(dep)),
            ],
        };
        Arc::new(validate(self.p).unwrap())
    }
}

pub(crate) fn replica(port: u16, rid: u16) -> Replica {
    Replica {
        port: PortId::new(port),
        rid,
    }
}

/// Any executor.
pub(crate) type Switch = Box<dyn Executor + Send>;

pub(crate) fn send(switch: &mut Switch, bytes: &[u8]) -> (Vec<(u16, Vec<u8>)>, Vec<DropReason>) {
    let mut out = Outputs::default();
    switch.process(Nanos::new(1_000), bytes, PortId::new(1), &mut out);
    (
        out.sent
            .into_iter()
            .map(|o| (o.port.get(), o.bytes))
            .collect(),
        out.dropped,
    )
}
