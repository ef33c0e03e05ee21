//! Names of leaves, as a person would call them.

use std::ops::Range;

use p4ir::{Annotation, RecordKind, Type, TypeId, ValidProgram, VarId};

/// A leaf with the name a person would call it by.
#[derive(Clone, Debug)]
pub struct NamedLeaf {
    /// E.g. `meta.tag`, `hdr.ipv4.dscp`, `standard_metadata.egress_spec`.
    pub name: String,
    /// Its index in the layout.
    pub leaf: usize,
    /// For a header field: the leaf of the header's validity.
    pub valid: Option<usize>,
}

/// Walks a variable's type and visits every leaf with its name and the annotations above it.
pub(crate) struct Walk<'p> {
    program: &'p ValidProgram,
    next: usize,
    valid: Option<usize>,
    pub(crate) names: Vec<NamedLeaf>,
    pub(crate) annotated: Vec<(usize, &'p Annotation)>,
}

impl<'p> Walk<'p> {
    pub(crate) fn new(program: &'p ValidProgram) -> Self {
        Self {
            program,
            next: 0,
            valid: None,
            names: Vec::new(),
            annotated: Vec::new(),
        }
    }

    /// All leaves of a variable.
    pub(crate) fn variable(&mut self, var: VarId, name: &str) -> Range<usize> {
        self.next = self.program.layout().base(var) as usize;
        let start = self.next;
        self.visit(self.program.vars[var].ty, name, &[]);
        start..self.next
    }

    fn leaf(&mut self, name: String, annotations: &[&'p Annotation]) {
        self.names.push(NamedLeaf {
            name,
            leaf: self.next,
            valid: self.valid,
        });
        self.annotated
            .extend(annotations.iter().map(|a| (self.next, *a)));
        self.next += 1;
    }

    fn visit(&mut self, ty: TypeId, name: &str, annotations: &[&'p Annotation]) {
        let program = self.program;
        match &program.types[ty] {
            Type::Record { kind, fields, .. } => {
                let outer = self.valid;
                if *kind == RecordKind::Header {
                    self.valid = None;
                    let leaf = self.next;
                    self.leaf(format!("{name}.$valid$"), &[]);
                    self.valid = Some(leaf);
                }
                for field in fields {
                    let mut inherited = annotations.to_vec();
                    inherited.extend(&field.annotations);
                    let name = inner_name(name, &field.name);
                    self.visit(field.ty, &name, &inherited);
                }
                self.valid = outer;
            }
            Type::Stack { element, size } => {
                self.leaf(format!("{name}.nextIndex"), &[]);
                for i in 0..*size {
                    self.visit(*element, &format!("{name}[{i}]"), annotations);
                }
            }
            _ => self.leaf(name.to_owned(), annotations),
        }
    }
}

/// The name of a field inside something; where names get very long, without what is outside.
fn inner_name(outer: &str, field: &str) -> String {
    if outer.len() + field.len() > LONG_NAME {
        return field.chars().take(LONG_NAME).collect();
    }
    format!("{outer}.{field}")
}

/// Bytes of names that are shown whole.
const LONG_NAME: usize = 1024;
