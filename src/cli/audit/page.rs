//! The audit as a page, in one file that needs nothing else.

use askama::Template;
use report::STYLE;
use sonic::audit::{AuditReport, FindingKind};
use topology::Topology;

/// The largest network that the page draws.
const PICTURE_SWITCHES_MAX: usize = 200;

/// The page. Every field is text in its final form.
#[derive(Template)]
#[template(path = "audit.html")]
struct Page<'a> {
    style: &'static str,
    folder: &'a str,
    routes: &'a str,
    version: &'static str,
    clean: bool,
    verdict: String,
    figures: Vec<(usize, &'static str)>,
    kinds: Vec<Kind<'a>>,
    picture: String,
}

/// The findings of one kind.
struct Kind<'a> {
    title: &'static str,
    mend: &'static str,
    rows: Vec<(&'a str, &'a str)>,
}

/// Renders the page.
///
/// # Errors
/// None today.
pub(super) fn render(
    folder: &str,
    routes: &str,
    report: &AuditReport,
    parts: &[&Topology],
) -> Result<String, askama::Error> {
    let kind = |kind: FindingKind| {
        let of = report.findings.iter().filter(|f| f.kind == kind);
        let rows: Vec<_> = of.map(|f| (f.place.as_str(), f.problem.as_str())).collect();
        (!rows.is_empty()).then_some(Kind {
            title: kind.title(),
            mend: kind.mend(),
            rows,
        })
    };
    Page {
        style: STYLE,
        folder,
        routes,
        version: env!("CARGO_PKG_VERSION"),
        clean: report.findings.is_empty() && report.cbd_free == Some(true),
        verdict: super::verdict(report),
        figures: vec![
            (report.switches, "switches"),
            (report.links, "links"),
            (report.lossless_dscps.len(), "lossless DSCPs"),
            (report.lossless_priorities.len(), "priorities with PFC"),
            (report.findings.len(), "findings"),
        ],
        kinds: FindingKind::ALL.into_iter().filter_map(kind).collect(),
        picture: match report.switches {
            0..=PICTURE_SWITCHES_MAX => parts.iter().map(|part| part.to_svg()).collect(),
            _ => String::new(),
        },
    }
    .render()
}
