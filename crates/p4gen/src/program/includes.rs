//! What every program includes: header types, which are plain P4, and widths, numbers and ids,
//! which are rendered from the lists of the layout.

use askama::Template;

use super::SourceFile;
use crate::family::failover::{MOST_SWITCHES, NO_PORT};
use crate::layout::DropReason;
use crate::layout::ids::{self, Define};

/// What the template of `layout.p4` reads.
#[derive(Template)]
#[template(path = "program/layout.p4", escape = "none")]
struct LayoutFile {
    lossy_priority: u8,
    no_port: u16,
    most_switches: u8,
    drops: [DropReason; DropReason::ALL.len()],
    tables: Vec<Define>,
    actions: Vec<Define>,
    send: u32,
    selector: u32,
    counters: Vec<Define>,
}

/// The files that every program includes.
pub(super) fn all() -> Result<Vec<SourceFile>, askama::Error> {
    let layout = LayoutFile {
        lossy_priority: plan::LOSSY_PRIORITY.get(),
        no_port: NO_PORT,
        most_switches: MOST_SWITCHES,
        drops: DropReason::ALL,
        tables: ids::tables(),
        actions: ids::actions(),
        send: ids::SEND,
        selector: ids::ECMP_SELECTOR,
        counters: ids::counters(),
    };
    let file = |name: &str, text: String| SourceFile {
        name: name.to_owned(),
        text,
    };
    let headers = include_str!("../../headers.p4");
    Ok(vec![
        file("headers.p4", headers.to_owned()),
        file("layout.p4", layout.render()?),
    ])
}
