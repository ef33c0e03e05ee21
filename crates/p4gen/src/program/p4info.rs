//! P4Info as P4Runtime's message, from what the front end says of a program.

use std::path::PathBuf;

use p4front::Files;
use p4front::source::{SourceError, SourceMap};
use p4runtime::p4::config::v1 as proto;
use p4runtime::p4::config::v1::match_field::Match;

use super::Program;
use crate::layout::{Action, Layout, Table};

/// Why a generated program has no P4Info. The program is ours, so this is never the user's fault.
#[derive(Debug, thiserror::Error)]
pub enum P4InfoError {
    /// The front end refuses the program.
    #[error("the generated program does not compile; this is a bug of Switchwright:\n{0}")]
    Refused(String),
    /// The program is too large to be read.
    #[error("the generated program cannot be read: {0}; this is a bug of Switchwright")]
    Source(#[from] SourceError),
}

/// The P4Info of a generated program, from its own text.
///
/// # Errors
/// [`P4InfoError`] if the front end refuses the text (our bug).
pub fn of(program: &Program) -> Result<proto::P4Info, P4InfoError> {
    let file = |file: &super::SourceFile| (PathBuf::from(&file.name), file.text.clone());
    let options = p4front::Options {
        files: Files::Memory(program.includes.iter().map(file).collect()),
        ..p4front::Options::default()
    };
    let mut map = SourceMap::new();
    let main = map.add(&program.main.name, &program.main.text)?;
    match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => Ok(compiled.p4info),
        Err(findings) => Err(P4InfoError::Refused(findings.render(&map))),
    }
}

/// The P4Info of what entries need of a program, from its layout: tables, actions and the selector,
/// with the ids that the text gives them. It serves programs for architectures whose own
/// declarations the front end need not have.
#[must_use]
pub fn of_layout(layout: &Layout) -> proto::P4Info {
    let selectors = layout
        .tables
        .iter()
        .filter_map(|table| Some((table, table.selector?)));
    proto::P4Info {
        tables: layout.tables.iter().map(|t| table(t, layout)).collect(),
        actions: layout.actions.iter().map(action).collect(),
        action_profiles: selectors
            .map(|(table, name)| proto::ActionProfile {
                preamble: preamble(layout.selector_id, name),
                table_ids: vec![table.id],
                with_selector: true,
                size: layout.selector_size.into(),
                max_group_size: i32::try_from(layout.group_members).unwrap_or(i32::MAX),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn preamble(id: u32, name: &str) -> Option<proto::Preamble> {
    Some(proto::Preamble {
        id,
        name: name.to_owned(),
        alias: name.rsplit('.').next().unwrap_or(name).to_owned(),
        ..Default::default()
    })
}

fn table(table: &Table, layout: &Layout) -> proto::Table {
    let field = |field: &crate::layout::KeyField| proto::MatchField {
        id: field.id,
        name: field.name.to_owned(),
        bitwidth: field.bits.into(),
        r#match: Some(Match::MatchType(p4front::match_type(field.kind).into())),
        ..Default::default()
    };
    let reference = |action: &&str| proto::ActionRef {
        id: layout.action(action).map_or(0, |a| a.id),
        ..Default::default()
    };
    proto::Table {
        preamble: preamble(table.id, table.name),
        match_fields: table.key.iter().map(field).collect(),
        action_refs: table.actions.iter().map(reference).collect(),
        implementation_id: table.selector.map_or(0, |_| layout.selector_id),
        size: table.size.into(),
        ..Default::default()
    }
}

fn action(action: &Action) -> proto::Action {
    let param = |param: &crate::layout::Param| proto::action::Param {
        id: param.id,
        name: param.name.to_owned(),
        bitwidth: param.bits.into(),
        ..Default::default()
    };
    proto::Action {
        preamble: preamble(action.id, action.name),
        params: action.params.iter().map(param).collect(),
    }
}
