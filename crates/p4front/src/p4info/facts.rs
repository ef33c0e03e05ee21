//! What lowering notes down for P4Info: declarations and source-level types that p4ir no longer
//! has.

use p4ir::{ActionId, ExternArg, ExternId, TableId, ValueSetId};

use crate::ast;
use crate::source::Span;
use crate::types::Ty;

/// An action.
#[derive(Clone)]
pub(crate) struct ActionFact<'a> {
    pub(crate) id: ActionId,
    pub(crate) decl: &'a ast::Decl,
    pub(crate) annotations: &'a [ast::Annotation],
    pub(crate) params: Vec<(&'a ast::Param, Ty)>,
}

/// A table.
#[derive(Clone)]
pub(crate) struct TableFact<'a> {
    pub(crate) id: TableId,
    pub(crate) annotations: &'a [ast::Annotation],
    pub(crate) decl: &'a ast::Decl,
    pub(crate) table: &'a ast::Table,
    pub(crate) key_types: Vec<Ty>,
}

/// An extern object.
#[derive(Clone)]
pub(crate) struct ExternFact<'a> {
    pub(crate) id: ExternId,
    /// Where it is made.
    pub(crate) span: Span,
    pub(crate) annotations: &'a [ast::Annotation],
    pub(crate) type_args: Vec<Ty>,
}

/// A parser value set.
#[derive(Clone)]
pub(crate) struct ValueSetFact<'a> {
    pub(crate) id: ValueSetId,
    /// Where it is declared.
    pub(crate) span: Span,
    pub(crate) annotations: &'a [ast::Annotation],
    pub(crate) element: Ty,
}

/// All of them, in order of elaboration.
#[derive(Clone, Default)]
pub(crate) struct Facts<'a> {
    pub(crate) actions: Vec<ActionFact<'a>>,
    pub(crate) tables: Vec<TableFact<'a>>,
    pub(crate) externs: Vec<ExternFact<'a>>,
    pub(crate) value_sets: Vec<ValueSetFact<'a>>,
    /// Types of digested data.
    pub(crate) digests: Vec<Ty>,
    /// Selectors that draw from a profile of their own.
    pub(crate) selectors: Vec<SelectorFact>,
}

/// A selector that draws from a profile: two objects of `tna.p4` that are one to P4Runtime.
#[derive(Clone, Copy)]
pub(crate) struct SelectorFact {
    pub(crate) selector: ExternId,
    pub(crate) profile: ExternId,
    pub(crate) max_group_size: Option<i32>,
}

impl<'a> Facts<'a> {
    pub(crate) fn action(
        &mut self,
        id: ActionId,
        decl: &'a ast::Decl,
        params: Vec<(&'a ast::Param, Ty)>,
    ) {
        let annotations = &decl.annotations;
        self.actions.push(ActionFact {
            id,
            decl,
            annotations,
            params,
        });
    }

    /// `id` is `of` under another number.
    pub(crate) fn same_action(&mut self, id: ActionId, of: ActionId) {
        if let Some(known) = self.actions.iter().find(|a| a.id == of) {
            let fact = ActionFact {
                id,
                ..known.clone()
            };
            self.actions.push(fact);
        }
    }

    pub(crate) fn table(
        &mut self,
        id: TableId,
        decl: &'a ast::Decl,
        table: &'a ast::Table,
        key_types: Vec<Ty>,
    ) {
        self.tables.push(TableFact {
            id,
            decl,
            annotations: &decl.annotations,
            table,
            key_types,
        });
    }

    pub(crate) fn extern_instance(
        &mut self,
        id: ExternId,
        type_args: &[Ty],
        annotations: &'a [ast::Annotation],
        span: Span,
    ) {
        self.externs.push(ExternFact {
            id,
            span,
            annotations,
            type_args: type_args.to_vec(),
        });
    }

    pub(crate) fn value_set(
        &mut self,
        id: ValueSetId,
        annotations: &'a [ast::Annotation],
        element: Ty,
        span: Span,
    ) {
        self.value_sets.push(ValueSetFact {
            id,
            span,
            annotations,
            element,
        });
    }

    pub(crate) fn extern_call(
        &mut self,
        proto: &ast::Prototype,
        type_args: &[Ty],
        _args: &[ExternArg],
    ) {
        if &*proto.name.name == "digest"
            && let [ty] = type_args
        {
            self.digests.push(ty.clone());
        }
    }
}
