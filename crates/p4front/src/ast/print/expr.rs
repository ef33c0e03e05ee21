//! Prints expressions, types, arguments and key sets.

use super::Printer;
use crate::ast::{
    Arg, BinaryOp, Expr, ExprKind, IntLiteral, Keyset, NamedExpr, Path, Type, TypeKind, UnaryOp,
};

/// Binding strength of what is not a binary operation (those have
/// [`BinaryOp::precedence`], 1 to 10).
const TERNARY: u8 = 0;
const PREFIX: u8 = 11;
const POSTFIX: u8 = 12;

fn precedence(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Ternary { .. } => TERNARY,
        ExprKind::Binary { op, .. } => op.precedence(),
        ExprKind::Unary { .. } | ExprKind::Cast { .. } => PREFIX,
        _ => POSTFIX,
    }
}

impl Printer {
    pub(super) fn expr(&mut self, e: &Expr) {
        self.expr_at(e, TERNARY);
    }

    /// An expression where only such binding at least as tightly as `min` may stand bare.
    fn expr_at(&mut self, e: &Expr, min: u8) {
        if precedence(e) >= min {
            return self.bare(e);
        }
        self.put('(');
        self.bare(e);
        self.put(')');
    }

    fn bare(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Int(i) => self.integer(i),
            ExprKind::Bool(b) => self.put(b),
            ExprKind::String(s) => self.string(s),
            ExprKind::This => self.put("this"),
            ExprKind::Dots => self.put("..."),
            ExprKind::DontCare => self.put("_"),
            ExprKind::Invalid => self.put("{#}"),
            ExprKind::Path(p) => self.path(p),
            ExprKind::TypeName(t) => self.ty(t),
            ExprKind::Member { base, member } => {
                self.expr_at(base, POSTFIX);
                self.put(format_args!(".{member}"));
            }
            ExprKind::Index { base, index } => self.brackets(base, index, None),
            ExprKind::Slice { base, high, low } => self.brackets(base, high, Some((":", low))),
            ExprKind::PlusSlice { base, low, width } => {
                self.brackets(base, low, Some((" +: ", width)));
            }
            ExprKind::List(items) => {
                self.put('{');
                self.commas(items, Self::expr);
                self.put('}');
            }
            ExprKind::Struct { fields, dots } => {
                self.put('{');
                self.commas(fields, Self::named_expr);
                self.put(if *dots { ", ...}" } else { "}" });
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right),
            ExprKind::Mask { value, mask } => self.infix(value, "&&&", mask),
            ExprKind::Range { low, high } => self.infix(low, "..", high),
            ExprKind::Ternary {
                condition,
                then,
                otherwise,
            } => {
                self.expr(condition);
                self.put(" ? ");
                self.expr(then);
                self.put(" : ");
                self.expr_at(otherwise, TERNARY + 1);
            }
            ExprKind::Call {
                callee,
                type_args,
                args,
            } => {
                self.expr_at(callee, POSTFIX);
                if !type_args.is_empty() {
                    self.type_args(type_args);
                }
                self.args(args);
            }
            ExprKind::Construct { ty, args } => {
                self.ty(ty);
                self.args(args);
            }
            ExprKind::Cast { ty, operand } => {
                self.put('(');
                self.ty(ty);
                self.put(')');
                self.expr_at(operand, PREFIX);
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.put(op.symbol());
        // `+ +a` must not become the concatenation `++`.
        let doubled = matches!(&operand.kind, ExprKind::Unary { op: inner, .. } if *inner == op);
        self.expr_at(operand, if doubled { POSTFIX } else { PREFIX });
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        self.expr_at(left, op.precedence());
        self.put(format_args!(" {} ", op.symbol()));
        self.expr_at(right, op.precedence() + 1);
    }

    fn infix(&mut self, left: &Expr, op: &str, right: &Expr) {
        self.expr(left);
        self.put(format_args!(" {op} "));
        self.expr(right);
    }

    fn brackets(&mut self, base: &Expr, first: &Expr, second: Option<(&str, &Expr)>) {
        self.expr_at(base, POSTFIX);
        self.put('[');
        self.expr(first);
        if let Some((separator, second)) = second {
            self.put(separator);
            self.expr(second);
        }
        self.put(']');
    }

    fn integer(&mut self, i: &IntLiteral) {
        if let Some(w) = i.width {
            self.put(format_args!(
                "{}{}",
                w.bits,
                if w.signed { 's' } else { 'w' }
            ));
        }
        match i.base {
            2 => self.put(format_args!("0b{}", i.value.to_str_radix(2))),
            8 => self.put(format_args!("0o{}", i.value.to_str_radix(8))),
            16 => self.put(format_args!("0x{}", i.value.to_str_radix(16))),
            _ => self.put(&i.value),
        }
    }

    fn string(&mut self, s: &str) {
        let mut text = String::with_capacity(s.len() + 2);
        for c in s.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                c => text.push(c),
            }
        }
        self.put(format_args!("\"{text}\""));
    }

    pub(super) fn path(&mut self, p: &Path) {
        self.put(format_args!(
            "{}{}",
            if p.absolute { "." } else { "" },
            p.name
        ));
    }

    pub(super) fn named_expr(&mut self, n: &NamedExpr) {
        self.put(format_args!("{} = ", n.name));
        self.expr(&n.value);
    }

    pub(super) fn args(&mut self, args: &[Arg]) {
        self.put('(');
        self.commas(args, |p, a| {
            if let Some(name) = &a.name {
                p.put(format_args!("{name} = "));
            }
            p.expr(&a.value);
        });
        self.put(')');
    }

    pub(super) fn keyset(&mut self, k: &Keyset) {
        if k.tuple {
            self.put('(');
        }
        self.commas(&k.elements, Self::expr);
        if k.tuple {
            self.put(')');
        }
    }

    pub(super) fn type_args(&mut self, args: &[Type]) {
        self.put('<');
        self.commas(args, Self::ty);
        self.put('>');
    }

    /// `<width>`.
    fn width(&mut self, width: &Expr) {
        self.put('<');
        self.expr_at(width, POSTFIX);
        self.put('>');
    }

    pub(super) fn ty(&mut self, t: &Type) {
        match &t.kind {
            TypeKind::Bool => self.put("bool"),
            TypeKind::Error => self.put("error"),
            TypeKind::MatchKind => self.put("match_kind"),
            TypeKind::String => self.put("string"),
            TypeKind::Void => self.put("void"),
            TypeKind::DontCare => self.put("_"),
            TypeKind::Integer => self.put("int"),
            TypeKind::Bit(None) => self.put("bit"),
            TypeKind::Bit(Some(w)) => {
                self.put("bit");
                self.width(w);
            }
            TypeKind::Int(w) => {
                self.put("int");
                self.width(w);
            }
            TypeKind::Varbit(w) => {
                self.put("varbit");
                self.width(w);
            }
            TypeKind::Name(p) => self.path(p),
            TypeKind::Specialized { base, args } => {
                self.path(base);
                self.type_args(args);
            }
            TypeKind::Array { element, size } => {
                self.ty(element);
                self.put('[');
                self.expr(size);
                self.put(']');
            }
            TypeKind::Tuple(args) => {
                self.put("tuple");
                self.type_args(args);
            }
            TypeKind::List(element) => {
                self.put("list<");
                self.ty(element);
                self.put('>');
            }
        }
    }
}
