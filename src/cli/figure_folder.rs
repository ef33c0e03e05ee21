//! What `--out` of commands that measure makes: a folder with figures as JSON, tables as text,
//! plots as SVG, and a page that shows them.

use std::path::Path;

use askama::Template;
use measure::failover::Named;
use serde::Serialize;

use super::fault::{Context, Fault};
use super::terminal;

/// What `--out` makes.
const FIGURES: &str = "folder of figures";

/// Writes figures as JSON, tables as text and plots as SVG into a folder, and a page that shows
/// them.
///
/// # Errors
/// A place that cannot be written.
pub fn write_out(
    folder: &str,
    name: &str,
    figures: &impl Serialize,
    text: &str,
    plots: &[Named],
) -> Result<(), Fault> {
    terminal::claim(folder, FIGURES)?;
    let put = |file: String, text: &str| {
        let path = Path::new(folder).join(file);
        terminal::write(&path.to_string_lossy(), text)
    };
    let json = serde_json::to_string_pretty(figures).input("figures as JSON")?;
    put(format!("{name}.json"), &(json + "\n"))?;
    put(format!("{name}.txt"), text)?;
    let mut drawn = Vec::with_capacity(plots.len());
    for (file, plot) in plots {
        let svg = plot.svg();
        put(format!("{file}.svg"), &svg)?;
        drawn.push(svg);
    }
    let page = FiguresPage {
        name,
        style: report::STYLE,
        text,
        plots: &drawn,
        version: env!("CARGO_PKG_VERSION"),
    };
    put(
        format!("{name}.html"),
        &page.render().input("figures as a page")?,
    )
}

/// Figures for a person: plots, then the tables that they are drawn from.
#[derive(Template)]
#[template(path = "figures.html")]
struct FiguresPage<'a> {
    name: &'a str,
    style: &'static str,
    text: &'a str,
    plots: &'a [String],
    version: &'static str,
}
