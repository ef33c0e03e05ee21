//! P4Info of a program.

use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{
    Action, ActionProfile, ActionRef, MatchField, P4Info, PkgInfo, Preamble, Table, action,
};

use crate::plan::layout::{Layout, MatchKind};

/// The P4Info of the program with this layout.
pub(super) fn of(layout: &Layout) -> P4Info {
    P4Info {
        pkg_info: Some(PkgInfo {
            arch: "v1model".to_owned(),
            ..PkgInfo::default()
        }),
        tables: layout.tables.iter().map(|t| table(layout, t)).collect(),
        actions: layout.actions.iter().map(action).collect(),
        action_profiles: vec![ActionProfile {
            preamble: preamble(layout.selector_id, crate::plan::layout::ECMP_SELECTOR),
            table_ids: layout
                .tables
                .iter()
                .filter(|t| t.selector.is_some())
                .map(|t| t.id)
                .collect(),
            with_selector: true,
            size: i64::from(layout.selector_size),
            max_group_size: i32::try_from(layout.group_members).unwrap_or(i32::MAX),
            ..ActionProfile::default()
        }],
        ..P4Info::default()
    }
}

fn preamble(id: u32, name: &str) -> Option<Preamble> {
    Some(Preamble {
        id,
        name: name.to_owned(),
        alias: name.rsplit('.').next().unwrap_or(name).to_owned(),
        ..Preamble::default()
    })
}

fn table(layout: &Layout, table: &crate::plan::layout::Table) -> Table {
    let field = |f: &crate::plan::layout::KeyField| MatchField {
        id: f.id,
        name: f.name.to_owned(),
        bitwidth: i32::from(f.bits),
        r#match: Some(Match::MatchType(match f.kind {
            MatchKind::Exact => MatchType::Exact,
            MatchKind::Lpm => MatchType::Lpm,
            MatchKind::Ternary => MatchType::Ternary,
        } as i32)),
        ..MatchField::default()
    };
    let id_of = |name: &&str| layout.action(name).map(|a| a.id);
    Table {
        preamble: preamble(table.id, table.name),
        match_fields: table.key.iter().map(field).collect(),
        action_refs: table
            .actions
            .iter()
            .filter_map(id_of)
            .map(|id| ActionRef {
                id,
                ..ActionRef::default()
            })
            .collect(),
        implementation_id: table.selector.map_or(0, |_| layout.selector_id),
        size: i64::from(table.size),
        ..Table::default()
    }
}

fn action(a: &crate::plan::layout::Action) -> Action {
    Action {
        preamble: preamble(a.id, a.name),
        params: a
            .params
            .iter()
            .map(|p| action::Param {
                id: p.id,
                name: p.name.to_owned(),
                bitwidth: i32::from(p.bits),
                ..action::Param::default()
            })
            .collect(),
    }
}
