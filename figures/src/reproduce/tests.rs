//! The list is whole, names are unique, and what is recorded has verdicts.

use std::collections::BTreeSet;

use super::item::{Effort, Paper, Said};
use super::{Recorded, Run, Verdict, catalogue, page};

#[test]
fn every_entry_is_named_once_and_every_number_has_its_row() {
    let mut names = BTreeSet::new();
    for item in catalogue() {
        assert!(names.insert((item.paper, item.name)), "{} twice", item.name);
        let rows = (item.rows)();
        assert!(!rows.is_empty(), "{} has no numbers", item.name);
        let own: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(own.len(), rows.len(), "{}: a row twice", item.name);
        for text in [
            item.title,
            item.topology,
            item.sizes,
            item.seeds,
            item.place,
        ] {
            assert!(!text.is_empty(), "{}", item.name);
        }
    }
    assert!(names.len() >= 60, "{}", names.len());
}

/// Numbers of the papers' tables by entry, counted in the papers: a cell without a row fails.
#[test]
fn tables_are_whole() {
    for (name, numbers, open) in [
        // Ratios with source routes and hop by hop: two kinds of ways each; 8192 hosts at t = 4 and
        // 4096 at t = 6 have none hop by hop.
        ("table-4.11", 92, 4),
        ("table-4.12", 92, 4),
        ("table-4.13", 30, 0),
        // df-fi and rising tags.
        ("table-5.1", 2 * 76, 20),
        ("table-5.2", 2 * 79, 17),
        ("table-5.3", 2 * 70, 26),
        ("table-algorithm-2", 21, 0),
        // By random and by shallow trees.
        ("table-4.14", 2 * 52, 2 * 8),
        ("table-4.15", 2 * 55, 2 * 3),
    ] {
        let item = catalogue()
            .into_iter()
            .find(|item| item.name == name)
            .unwrap();
        let rows = (item.rows)();
        let legible = rows
            .iter()
            .filter(|row| row.said != Said::NotLegible)
            .count();
        assert_eq!((legible, rows.len() - legible), (numbers, open), "{name}");
    }
}

/// Every row that the recorded run was to compute has a verdict there, or says that it is out of
/// reach; and every difference has a reason, if only that none is known.
#[test]
fn no_recorded_row_is_without_a_verdict() {
    let recorded = Recorded::read().unwrap();
    for item in catalogue() {
        let found = recorded.of(&item);
        let found = found.unwrap_or_else(|| panic!("{} is not recorded", item.name));
        for row in (item.rows)() {
            let own = found.rows.iter().find(|own| own.name == row.name);
            let own = own.unwrap_or_else(|| panic!("{}: no `{}`", item.name, row.name));
            if row.effort <= found.effort && own.verdict.is_none() {
                let reason = row.out_of_reach;
                assert!(
                    reason.is_some() && own.reason.as_deref() == reason,
                    "{}: {own:?}",
                    item.name
                );
            }
            if own.verdict == Some(Verdict::Differs) {
                let reason = own.reason.as_deref();
                assert!(
                    reason.is_some_and(|why| !why.is_empty()),
                    "{}: {own:?}",
                    item.name
                );
            }
        }
    }
}

/// Entries that take seconds, computed here: the same twice, and as recorded.
#[test]
fn small_entries_come_out_as_recorded() {
    let recorded = Recorded::read().unwrap();
    let run = Run {
        effort: Effort::Quick,
        progress: &std::sync::Arc::default(),
    };
    let small = [
        (Paper::Tagger17, "table-algorithm-1"),
        (Paper::Tagger17, "table-algorithm-2"),
        (Paper::Tagger17, "class-tags"),
        (Paper::FC23, "figure-5"),
        (Paper::FC23, "table-5"),
        (Paper::TaggerDraft, "equation-1"),
    ];
    let mut pages = Vec::new();
    for _ in 0..2 {
        let mut reports = Vec::new();
        let items = catalogue();
        for item in items
            .iter()
            .filter(|item| small.contains(&(item.paper, item.name)))
        {
            let report = item.compute(&run);
            assert_eq!(report.reason, None, "{}", item.name);
            let beside = recorded.of(item).unwrap();
            assert_eq!(report.verdict, beside.verdict, "{}", item.name);
            assert!(
                report.rows.iter().all(|row| row.verdict.is_some()),
                "{report:?}"
            );
            reports.push((Some(item), report));
        }
        assert_eq!(reports.len(), small.len());
        pages.push(page(&reports).unwrap());
    }
    assert_eq!(pages[0], pages[1]);
    assert!(pages[0].contains("<svg"));
}
