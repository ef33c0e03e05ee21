//! Prints a syntax tree as P4 text that parses to an equal tree.
//!
//! One declaration, statement, field or property per line, four spaces per level; parentheses only
//! where they matter. Widths, sizes and type arguments that are not simple are parenthesised, since
//! a `>` in them would end them.

use std::fmt::{self, Write as _};

use super::{Annotation, AnnotationBody, AnnotationTokenKind, Expr, Param, Program, Type};

mod decl;
mod expr;
mod stmt;

/// Collects text.
struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn new() -> Self {
        Self {
            out: String::new(),
            indent: 0,
        }
    }

    fn put(&mut self, text: impl fmt::Display) {
        let _ = write!(self.out, "{text}"); // a String takes everything
    }

    /// Begins a line.
    fn line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// `{`, each item on lines of its own, `}`; the last line is left open.
    fn braces<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        if items.is_empty() {
            self.out.push_str("{ }");
            return;
        }
        self.out.push_str("{\n");
        self.indent += 1;
        for item in items {
            self.line();
            each(self, item);
            self.out.push('\n');
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
    }

    /// Items with `, ` between them.
    fn commas<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            each(self, item);
        }
    }

    /// Annotations, each followed by a space (a pragma by a line end).
    fn annotations(&mut self, annotations: &[Annotation]) {
        for a in annotations {
            self.annotation(a);
            if a.pragma {
                self.out.push('\n');
                self.line();
            } else {
                self.out.push(' ');
            }
        }
    }

    fn annotation(&mut self, a: &Annotation) {
        self.put(format_args!(
            "@{}{}",
            if a.pragma { "pragma " } else { "" },
            a.name
        ));
        match &a.body {
            AnnotationBody::Empty => {}
            AnnotationBody::Unstructured(tokens) => {
                self.out.push(if a.pragma { ' ' } else { '(' });
                for (i, t) in tokens.iter().enumerate() {
                    if i > 0 {
                        self.out.push(' ');
                    }
                    match t.kind {
                        AnnotationTokenKind::String => self.put(format_args!("\"{}\"", t.text)),
                        _ => self.put(&t.text),
                    }
                }
                if !a.pragma {
                    self.out.push(')');
                }
            }
            AnnotationBody::Expressions(list) => {
                self.out.push('[');
                self.commas(list, |p, e| p.expr(e));
                self.out.push(']');
            }
            AnnotationBody::KeyValues(pairs) => {
                self.out.push('[');
                self.commas(pairs, Self::named_expr);
                self.out.push(']');
            }
        }
    }
}

impl fmt::Display for Program {
    /// The program as P4 text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer::new();
        for d in &self.decls {
            p.decl(d);
            p.out.push('\n');
        }
        f.write_str(&p.out)
    }
}

/// Displays a node as P4 text.
macro_rules! display {
    ($($ty:ty => $method:ident),*) => {$(
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut p = Printer::new();
                p.$method(self);
                f.write_str(&p.out)
            }
        }
    )*};
}

display!(
    Expr => expr, Type => ty, Param => param, Annotation => annotation, super::Decl => decl,
    super::Stmt => stmt, super::Keyset => keyset, super::Path => path
);
