//! An SVG document with a title: text, lines, and whatever else its caller writes into it.

use std::fmt::Write;

/// Colours that differ in lightness too, for those who see fewer (Okabe and Ito).
pub const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31",
];
/// The stylesheet of all pages, reports and what is drawn in them: light and dark.
pub const STYLE: &str = include_str!("page.css");

/// Colours of flows that are called after one.
const NAMED: [(&str, &str); 10] = [
    ("blue", "#0072b2"),
    ("red", "#d0322d"),
    ("green", "#009e73"),
    ("yellow", "#c9a400"),
    ("orange", "#e69f00"),
    ("purple", "#8a4fbf"),
    ("pink", "#cc79a7"),
    ("brown", "#8c6d31"),
    ("black", "#000000"),
    ("gray", "#7a828c"),
];

/// A colour for every name: the one that it is, or else the first that no other has, while there
/// are any.
#[must_use]
pub fn colours_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let said = |name: &str| {
        let known = NAMED.iter().find(|(word, _)| *word == name);
        known.map(|(_, colour)| *colour)
    };
    let mut colours: Vec<Option<&'static str>> = names.into_iter().map(said).collect();
    let mut free: Vec<&'static str> = COLOURS.to_vec();
    free.retain(|colour| !colours.contains(&Some(colour)));
    let mut free = free.into_iter().chain(COLOURS.into_iter().cycle());
    let take = |colour: &mut Option<&'static str>| colour.or_else(|| free.next());
    colours.iter_mut().filter_map(take).collect()
}

/// How a document looks where everything is dark: each colour has its counterpart.
const DARK: &str = "@media (prefers-color-scheme:dark){\
.plot .paper{fill:#1a212e}.plot .over{stroke:#1a212e}\
.plot [fill=\"#1c2330\"],.plot [fill=\"#495057\"]{fill:#e6eaf2}.plot [fill=\"#5b6678\"]{fill:#aeb8c8}\
.plot [stroke=\"#e3e7ee\"]{stroke:#333d4e}.plot [stroke=\"#495057\"],.plot [stroke=\"#5b6678\"]{stroke:#9aa6ba}\
.plot [fill=\"#f4f6fa\"]{fill:#242d3c}.plot [fill=\"#fdecee\"]{fill:#4a2027}\
.plot [stroke=\"#0072b2\"]{stroke:#4aa8ea}.plot [fill=\"#0072b2\"]{fill:#4aa8ea}\
.plot [stroke=\"#000000\"]{stroke:#f2f4f8}.plot [fill=\"#000000\"]{fill:#f2f4f8}\
.plot [stroke=\"#8c6d31\"]{stroke:#d1ab66}.plot [fill=\"#8c6d31\"]{fill:#d1ab66}\
.plot [stroke=\"#8a4fbf\"]{stroke:#bb8cf0}.plot [stroke=\"#c1121f\"]{stroke:#ff7d86}.plot [fill=\"#c1121f\"]{fill:#ff7d86}}";

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
             height=\"{height:.0}\" style=\"--natural:{width:.0}px\" role=\"img\" class=\"plot\" font-family=\"Inter,'Segoe UI',Roboto,Arial,sans-serif\">\n\
             <title>{title}</title>\n<style>{DARK}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
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
            "<text class=\"over\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" {style} paint-order=\"stroke\" stroke=\"#fff\" \
             stroke-width=\"3\">{}</text>",
            escape(text)
        );
    }

    /// Text with attributes and without a halo, for what stands on a box.
    pub fn plain(&mut self, x: f64, y: f64, style: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" {style}>{}</text>",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_a_colour_has_it_and_no_other_does() {
        let found = colours_of(["elephant", "blue", "red", "mouse"]);
        assert_eq!(found[1], "#0072b2");
        assert_eq!(found[2], "#d0322d");
        assert!(!found[..1].contains(&found[1]) && !found[3..].contains(&found[1]));
        assert_ne!(found[0], found[3]);
        let many: Vec<String> = (0..30).map(|n| format!("flow {n}")).collect();
        assert_eq!(colours_of(many.iter().map(String::as_str)).len(), 30);
    }
}
