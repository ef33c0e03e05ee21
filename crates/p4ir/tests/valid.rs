//! The validator accepts a well-formed program, lays it out, and names each broken rule.

use p4ir::*;

/// `header h { bit<8> a; varbit<32> v; }  struct s { h x; h[2] y; }  var: s`, one function.
fn program() -> (Program, VarId) {
    let mut p = Program {
        errors: vec!["NoError".into()],
        ..Program::default()
    };
    let bit8 = p.types.bit(8);
    let varbit = p.types.intern(Type::Varbit { max: 32 });
    let field = |name: &str, ty| Field {
        name: name.into(),
        ty,
        annotations: Vec::new(),
    };
    let header = p.types.intern(Type::Record {
        kind: RecordKind::Header,
        name: "h".into(),
        fields: vec![field("a", bit8), field("v", varbit)],
    });
    let stack = p.types.intern(Type::Stack {
        element: header,
        size: 2,
    });
    let all = p.types.intern(Type::Record {
        kind: RecordKind::Struct,
        name: "s".into(),
        fields: vec![field("x", header), field("y", stack)],
    });
    let var = p.vars.push(Var {
        name: "hdr".into(),
        ty: all,
        kind: VarKind::Local,
        span: Span::default(),
    });
    (p, var)
}

fn function(p: &mut Program, body: Vec<StmtKind>) {
    let body = body
        .into_iter()
        .map(|kind| Stmt {
            kind,
            span: Span::default(),
        })
        .collect();
    p.functions.push(Function {
        name: "f".into(),
        params: Vec::new(),
        result: None,
        body,
        span: Span::default(),
    });
}

#[test]
fn layout_of_nested_places() {
    let (mut p, var) = program();
    let x = Place::var(var).field(0);
    function(&mut p, vec![StmtKind::SetValid(x.clone())]);
    let valid = validate(p).expect("well-formed");
    let layout = valid.layout();
    // hdr.x: valid a v; hdr.y: nextIndex, (valid a v) twice
    assert_eq!(layout.leaves().len(), 3 + 1 + 6);
    let y1a = Place::var(var)
        .field(1)
        .project(Projection::Index(1))
        .field(0);
    assert_eq!(layout.place(&valid, &y1a), Some(3 + 1 + 3 + 1));
    assert_eq!(
        layout.leaves()[8].kind,
        LeafKind::Bits {
            width: 8,
            signed: false
        }
    );
    assert!(valid.to_string().contains("v0_hdr.x.setValid()"));
}

#[test]
fn broken_rules_are_named() {
    let (mut p, var) = program();
    let bit8 = p.types.bit(8);
    let big = p.add_expr(ExprKind::Const(Const::Bits(BigUint::from(256u32))), bit8);
    let errors = validate(p.clone()).expect_err("256 is no bit<8>");
    assert_eq!(errors[0].entity, big.to_string());

    let (mut p2, _) = program();
    function(
        &mut p2,
        vec![StmtKind::Break, StmtKind::SetValid(Place::var(var))],
    );
    let errors = validate(p2).expect_err("break outside a loop; struct has no validity");
    assert_eq!(errors.len(), 2);
}

#[test]
fn recursion_is_refused() {
    let (mut p, _) = program();
    let call = StmtKind::Call {
        callee: Callee::Function(FunctionId::new(0)),
        copy_in: vec![],
        copy_out: vec![],
    };
    function(&mut p, vec![call]);
    assert!(
        validate(p).expect_err("recursive")[0]
            .message
            .contains("calls itself")
    );
}

/// Functions that each call the one before some times; the first has these statements.
fn chain(p: &mut Program, length: usize, calls: usize, first: Vec<StmtKind>) {
    function(p, first);
    for i in 1..length {
        let call = StmtKind::Call {
            callee: Callee::Function(FunctionId::new(i - 1)),
            copy_in: vec![],
            copy_out: vec![],
        };
        function(p, vec![call; calls]);
    }
}

/// The bounds that a program exceeds, each with what it needs.
fn exceeded(p: Program) -> Vec<(limits::Limit, u64)> {
    let errors = validate(p).expect_err("too much");
    let exceeded = errors.iter().map(|e| e.exceeded.expect("a bound"));
    exceeded.map(|e| (e.limit, e.need)).collect()
}

#[test]
fn what_a_program_asks_for_is_bounded() {
    use limits::Limit;
    let (mut p, _) = program();
    let mut ty = p.types.bit(8);
    for i in 0..16 {
        let field = |name: &str| Field {
            name: name.into(),
            ty,
            annotations: Vec::new(),
        };
        ty = p.types.intern(Type::Record {
            kind: RecordKind::Struct,
            name: format!("s{i}"),
            fields: vec![field("a"), field("b")],
        });
    }
    assert_eq!(exceeded(p), [(Limit::TypeWords, 1 << 16)]);

    let (mut p, _) = program();
    chain(&mut p, 310, 1, vec![StmtKind::Return]);
    assert_eq!(exceeded(p), [(Limit::Depth, 301)], "told once");

    let (mut p, _) = program();
    chain(&mut p, 40, 2, vec![StmtKind::Return]);
    let told = exceeded(p);
    assert!(matches!(told[..], [(Limit::Steps, need)] if need > 1 << 20 && need < 1 << 22));

    let (mut p, _) = program();
    let bit8 = p.types.bit(8);
    let mut e = p.add_expr(ExprKind::Const(Const::Bits(BigUint::from(1u32))), bit8);
    for _ in 0..20 {
        e = p.add_expr(ExprKind::Binary(BinaryOp::Add, e, e), bit8);
    }
    let x = p.vars.push(Var {
        name: "x".into(),
        ty: bit8,
        kind: VarKind::Local,
        span: Span::default(),
    });
    let dst = Place::var(x);
    function(&mut p, vec![StmtKind::Assign(Assign { dst, value: e })]);
    let told = exceeded(p);
    assert!(matches!(told[..], [(Limit::Steps, need)] if need >= 1 << 21));
}

#[test]
fn a_dear_round_counts_as_many() {
    let (mut p, var) = program();
    let boolean = p.types.boolean();
    let cond = p.add_expr(ExprKind::Const(Const::Bool(true)), boolean);
    let stmt = |kind| Stmt {
        kind,
        span: Span::default(),
    };
    let endless = |body: Vec<StmtKind>| StmtKind::Loop {
        head: vec![],
        cond,
        body: body.into_iter().map(stmt).collect(),
        step: vec![],
        rounds: 1,
    };
    let dear = vec![StmtKind::Reset(Place::var(var)); 20];
    function(&mut p, vec![endless(vec![]), endless(vec![endless(dear)])]);
    let valid = validate(p).expect("well-formed");
    let rounds = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Loop { rounds, .. } => *rounds,
        other => panic!("{other:?}"),
    };
    let body = &valid.functions[FunctionId::new(0)].body;
    let StmtKind::Loop { body: inner, .. } = &body[1].kind else {
        panic!("a loop");
    };
    // A reset is a step and one for each word: hdr.x 1 + 1 + 2, hdr.y 1 + 2 * 4, so 20 * 14 in all.
    assert_eq!(
        [rounds(&body[0]), rounds(&body[1]), rounds(&inner[0])],
        [1, 5, 5]
    );
    assert_eq!(valid.steps(), 1 + 1 + 1 + 20 * 14);
}
