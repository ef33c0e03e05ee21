//! Types, compile-time values and what the language says about them: which types are equal, what
//! converts to what, what constant expressions come to.
//!
//! This module knows nothing about scopes or about p4ir; [`crate::lower`] drives it.

pub(crate) mod fold;
pub(crate) mod infer;
mod ty;

pub(crate) use ty::{EnumTy, Extent, FieldTy, NewTy, Record, RecordKind, Ty, Types};
