//! Findings as text: `p4front::diag`, annotate-snippets, ariadne.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};
use p4front::diag::Diagnostic;
use p4front::source::{SourceMap, Span};

use crate::{microseconds, row};

/// A finding with a place, a related place and advice.
fn finding(map: &mut SourceMap, text: &str, at: u32, length: u32, related: u32) -> Diagnostic {
    let file = map.add("program.p4", text).expect("small enough");
    Diagnostic::error(
        "name",
        Span::new(file, at, at + length),
        "`a` is declared twice",
    )
    .with_label("here again")
    .with_related(Span::new(file, related, related + 6), "first declared here")
    .with_help("give one of them another name")
}

/// annotate-snippets, given no more than the lines that are shown.
fn annotate(map: &SourceMap, d: &Diagnostic) -> String {
    let place = |span: Span, label: &str, kind: AnnotationKind| {
        let file = map.file(span.file).expect("a file of the map");
        let index = file.line_index(span.start);
        let (start, line) = (file.line_start(index), file.line_text(index).to_owned());
        let marked = (span.start - start) as usize..((span.end - start) as usize).min(line.len());
        Snippet::source(line)
            .line_start(index as usize + 1)
            .path(file.name.to_string())
            .annotation(kind.span(marked).label(label.to_owned()))
    };
    let mut group = Level::ERROR
        .primary_title(d.message.as_str())
        .id(d.code)
        .elements(
            d.span
                .map(|span| place(span, &d.label, AnnotationKind::Primary)),
        );
    for label in &d.labels {
        group = group.element(place(label.span, &label.message, AnnotationKind::Context));
    }
    if let Some(help) = &d.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::plain().render(&[group])
}

/// ariadne, given the program once.
fn ariadne(source: &Source<String>, d: &Diagnostic) -> String {
    let range = |span: Span| span.start as usize..span.end as usize;
    let span = range(d.span.expect("a place"));
    let config = Config::default()
        .with_color(false)
        .with_index_type(IndexType::Byte);
    let mut report = Report::build(ReportKind::Error, ("program.p4", span.clone()))
        .with_config(config)
        .with_code(d.code)
        .with_message(&d.message)
        .with_label(Label::new(("program.p4", span)).with_message(&d.label));
    for label in &d.labels {
        let span = ("program.p4", range(label.span));
        report = report.with_label(Label::new(span).with_message(&label.message));
    }
    if let Some(help) = &d.help {
        report = report.with_help(help);
    }
    let mut out = Vec::new();
    let written = report.finish().write(("program.p4", source), &mut out);
    written.expect("memory takes everything");
    String::from_utf8(out).expect("text")
}

/// Findings in a small program, a long one, and in text made to hurt.
pub fn compare() {
    let small = "header h {\n\tbit<8> a;\n\tbit<8> b; bit<8> a;\n}\n";
    let long = small.repeat(20_000);
    let wide = format!("header h {{ {} }}", "bit<8> a; ".repeat(100_000));
    let (end, middle) = (long.len() as u32 - 6, wide.len() as u32 / 2);
    for (what, text, at, length, related, calls) in [
        ("a finding in 5 lines", small, 39, 1, 12, 2000),
        ("a finding in 100,000 lines", &long, end, 1, 12, 20),
        ("a finding amid a line of 1 MB", &wide, middle, 1, 12, 5),
        ("a mark of 1 MB", &wide, 12, 900_000, 0, 5),
    ] {
        let mut map = SourceMap::new();
        let d = finding(&mut map, text, at, length, related);
        let source = Source::from(text.to_owned());
        let time = microseconds(calls, || d.render(&map));
        row(what, "p4front::diag", time, d.render(&map).len());
        let time = microseconds(calls, || annotate(&map, &d));
        row(what, "annotate-snippets", time, annotate(&map, &d).len());
        let time = microseconds(calls, || ariadne(&source, &d));
        row(what, "ariadne", time, ariadne(&source, &d).len());
    }
    let mut map = SourceMap::new();
    let d = finding(&mut map, small, 39, 1, 12);
    let source = Source::from(small.to_owned());
    println!(
        "\n{}\n{}\n\n{}",
        d.render(&map),
        annotate(&map, &d),
        ariadne(&source, &d)
    );
}
