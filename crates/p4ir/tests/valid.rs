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
