//! What the code that is being made can name, and how places of a wanted type are found in it.

use super::super::ast::{Code, Direction, ELEMENTS, Program, Record, Ty, VarRef};

/// A variable in sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) var: VarRef,
    pub(super) ty: Ty,
    /// Whether it may be written.
    pub(super) writable: bool,
}

/// A step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// A field.
    Field(usize),
    /// Some element of a stack.
    Element,
}

/// A way from a variable to a part of it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) var: VarRef,
    pub(super) hops: Vec<Hop>,
    pub(super) ty: Ty,
}

/// What kind of code it is, as far as statements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Function,
    Action,
    Control,
    Parser,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) place: Place,
    pub(super) known: Vec<Known>,
    /// Functions that may be called.
    pub(super) functions: Vec<usize>,
    /// Actions of the control below this number may be called.
    pub(super) actions: usize,
    /// Tables that may still be applied; BMv2 takes each at one place only.
    pub(super) tables: Vec<usize>,
    /// Width of what a function returns.
    pub(super) result: Option<u32>,
    /// Calls that may still be written.
    pub(super) calls: usize,
}

impl Scope {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            known: Vec::new(),
            functions: Vec::new(),
            actions: 0,
            tables: Vec::new(),
            result: None,
            calls: 4,
        }
    }

    /// Adds the variables that code has so far.
    pub(super) fn learn(&mut self, program: &Program, code: Code, outer: bool) {
        let callable = program.code(code);
        for (index, var) in callable.vars.iter().enumerate() {
            let direction = callable.directions.get(index);
            self.known.push(Known {
                var: if outer {
                    VarRef::Outer(index)
                } else {
                    VarRef::Own(index)
                },
                ty: var.ty,
                writable: !matches!(direction, Some(Direction::In | Direction::None)),
            });
        }
    }

    /// Adds a variable that may be written.
    pub(super) fn know(&mut self, var: VarRef, ty: Ty) {
        self.known.push(Known {
            var,
            ty,
            writable: true,
        });
    }

    /// All places of types that `fits`, writable ones only if asked.
    pub(super) fn paths(&self, writable: bool, fits: impl Fn(Ty) -> bool) -> Vec<Path> {
        let mut found = Vec::new();
        for known in self.known.iter().filter(|k| k.writable || !writable) {
            let path = Path {
                var: known.var,
                hops: Vec::new(),
                ty: known.ty,
            };
            descend(path, &fits, &mut found);
        }
        found
    }
}

fn descend(path: Path, fits: &impl Fn(Ty) -> bool, found: &mut Vec<Path>) {
    let below = |hop: Hop, ty: Ty| {
        let mut hops = path.hops.clone();
        hops.push(hop);
        Path { hops, ty, ..path }
    };
    match path.ty {
        Ty::Bits(_) => {}
        // Egress writes it.
        Ty::Record(Record::Report) => return,
        Ty::Record(record) => {
            for (index, (_, ty)) in record.fields().iter().enumerate() {
                descend(below(Hop::Field(index), *ty), fits, found);
            }
        }
        Ty::Stack => {
            const { assert!(ELEMENTS > 0, "a stack has elements") };
            let element = below(Hop::Element, Ty::Record(Record::Element));
            descend(element, fits, found);
        }
    }
    if fits(path.ty) {
        found.push(path);
    }
}
