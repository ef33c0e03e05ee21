//! An SVG document with a title: text, lines, and whatever else its caller writes into it.

use std::fmt::Write;

/// Colours that differ in lightness too, for those who see fewer (Okabe and Ito).
pub const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31",
];
/// What is wrong.
pub const ALARM: &str = "#c1121f";
/// How lines of a grid are drawn.
pub(crate) const GRID: &str = "stroke=\"#e3e7ee\"";

/// Text as it may stand in SVG and HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// An SVG document. Writing to a string cannot fail.
#[derive(Clone, Debug)]
pub struct Page {
    /// What was written so far.
    pub text: String,
}

impl Page {
    /// An empty document of a size in pixels.
    #[must_use]
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        let mut text = String::new();
        let title = escape(title);
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" font-family=\"Inter,'Segoe UI',Roboto,Arial,sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"700\" fill=\"#1c2330\">{title}</text>\n"
        );
        Self { text }
    }

    /// Text in the ordinary style; `anchor` is SVG's `text-anchor`: `start`, `middle` or `end`.
    pub fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.styled(
            x,
            y,
            &format!("text-anchor=\"{anchor}\" fill=\"#495057\""),
            text,
        );
    }

    /// Text with attributes; a halo keeps it readable over lines.
    pub fn styled(&mut self, x: f64, y: f64, style: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" {style} paint-order=\"stroke\" stroke=\"#fff\" \
             stroke-width=\"3\">{}</text>",
            escape(text)
        );
    }

    /// A label that reads upward, for an axis of values.
    pub fn upright(&mut self, x: f64, y: f64, text: &str) {
        let style = format!(
            "text-anchor=\"middle\" fill=\"#495057\" transform=\"rotate(-90 {x:.1} {y:.1})\""
        );
        self.styled(x, y, &style, text);
    }

    /// A straight line with attributes.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// The document.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}
