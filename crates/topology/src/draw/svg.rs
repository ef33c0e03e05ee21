//! Writing SVG.

use std::fmt::Write;

use super::layout::{Band, Point, Shape};
use super::{DOWN_COLOUR, Place};

/// An SVG document under construction. Writing to a `String` cannot fail, so results are dropped.
pub(super) struct Svg {
    text: String,
}

const STYLE: &str = "\
text{font-family:Inter,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
.n{font-size:12px;font-weight:600;fill:#fff;text-anchor:middle}\
.h{font-size:11px;fill:#495057;text-anchor:middle}\
.p,.r{font-size:11px;fill:#495057;text-anchor:middle}\
.o{font-size:11px;font-weight:600;fill:#212529;text-anchor:middle}\
.p,.o,.r{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\
@media (prefers-color-scheme:dark){.topology .paper{fill:#1a212e}.topology .band{fill:#242d3c}\
.topology [fill=\"#212529\"],.topology .o{fill:#e6eaf2}.topology [fill=\"#6c757d\"],.topology .h,.topology .p,.topology .r{fill:#b8c2d0}\
.topology .p,.topology .o,.topology .r{stroke:#1a212e}.topology [stroke=\"#6c757d\"]{stroke:#9aa6ba}}";

/// How far below its middle the baseline of a text of some size lies.
fn baseline(size: f64) -> f64 {
    size * 0.35
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let (w, h) = (width.ceil(), height.ceil());
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" style=\"--natural:{w}px\" role=\"img\" class=\"topology\">\n\
             <style>{STYLE}</style>\n<rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n"
        );
        Self { text }
    }

    pub(super) fn title(&mut self, name: &str, counts: &str) {
        let name = escape(name);
        let _ = writeln!(
            self.text,
            "<title>{name}</title>\n<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"700\" fill=\"#212529\">{name}</text>\n\
             <text x=\"16\" y=\"40\" font-size=\"11\" fill=\"#6c757d\">{counts}</text>"
        );
    }

    pub(super) fn band(&mut self, band: &Band) {
        let (x, y) = (number(band.x), number(band.y));
        let (width, height) = (number(band.width), number(band.height));
        let _ = writeln!(
            self.text,
            "<rect class=\"band\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#f1f3f5\"/>"
        );
    }

    /// Starts the links that are up, or those that are down.
    pub(super) fn open_links(&mut self, live: bool, opacity: f64) {
        let style = match live {
            true => format!("stroke=\"#6c757d\" stroke-opacity=\"{opacity}\""),
            false => format!("stroke=\"{DOWN_COLOUR}\" stroke-dasharray=\"6 4\""),
        };
        let _ = writeln!(self.text, "<g fill=\"none\" {style}>");
    }

    pub(super) fn close(&mut self) {
        self.text.push_str("</g>\n");
    }

    /// A line, or a curve whose middle is `bend` off it; `title` is what a pointer over it shows.
    pub(super) fn link(&mut self, [a, b]: [Point; 2], bend: f64, width: f64, title: &str) {
        let (from, to) = (pair(a), pair(b));
        let _ = write!(self.text, "<path d=\"M{from}");
        if bend == 0.0 {
            let _ = write!(self.text, "L{to}");
        } else {
            let (dx, dy) = (b.x - a.x, b.y - a.y);
            let length = dx.hypot(dy).max(1e-6);
            // The middle of a quadratic curve is half-way to its control point.
            let x = f64::midpoint(a.x, b.x) - dy / length * 2.0 * bend;
            let y = f64::midpoint(a.y, b.y) + dx / length * 2.0 * bend;
            let _ = write!(self.text, "Q{} {to}", pair(Point::new(x, y)));
        }
        let _ = writeln!(
            self.text,
            "\" stroke-width=\"{}\"><title>{}</title></path>",
            (width * 100.0).round() / 100.0,
            escape(title)
        );
    }

    pub(super) fn port(&mut self, at: Point, port: &str) {
        let (x, y, port) = (number(at.x), number(at.y), escape(port));
        let _ = writeln!(
            self.text,
            "<text class=\"p\" x=\"{x}\" y=\"{y}\">{port}</text>"
        );
    }

    pub(super) fn host(&mut self, at: Point, radius: f64, name: Option<&str>, label: Point) {
        let (x, y) = (number(at.x), number(at.y));
        let _ = writeln!(
            self.text,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#ced4da\" stroke=\"#868e96\"/>"
        );
        if let Some(name) = name {
            let (x, y) = (number(label.x), number(label.y + baseline(10.0)));
            let name = escape(name);
            let _ = writeln!(
                self.text,
                "<text class=\"h\" x=\"{x}\" y=\"{y}\">{name}</text>"
            );
        }
    }

    /// A switch; `title` is what a pointer over it shows.
    pub(super) fn switch(&mut self, place: Place, colour: &str, up: bool, title: &str) {
        let (x, y) = (place.at.x, place.at.y);
        let paint = match up {
            true => format!("fill=\"{colour}\""),
            false => format!("fill=\"#f8d7da\" stroke=\"{DOWN_COLOUR}\" stroke-dasharray=\"4 3\""),
        };
        let title = escape(title);
        let (tag, geometry) = match place.shape {
            Shape::Box(w, h) => {
                let (left, top) = (number(x - w / 2.0), number(y - h / 2.0));
                let corner = if h > 12.0 { 5 } else { 1 };
                let size = format!("width=\"{}\" height=\"{}\"", number(w), number(h));
                (
                    "rect",
                    format!("x=\"{left}\" y=\"{top}\" {size} rx=\"{corner}\""),
                )
            }
            Shape::Disc(r) => {
                let at = format!("cx=\"{}\" cy=\"{}\"", number(x), number(y));
                ("circle", format!("{at} r=\"{}\"", number(r)))
            }
        };
        let _ = writeln!(
            self.text,
            "<{tag} {geometry} {paint}><title>{title}</title></{tag}>"
        );
    }

    /// The name of a switch: inside if it fits, else below.
    pub(super) fn name(&mut self, place: Place, name: &str, up: bool) {
        let dark = if up { "" } else { " style=\"fill:#842029\"" };
        let (class, y) = match place.shape {
            Shape::Disc(r) if !fits(name, r) => ("o", place.at.y + r + 10.0 + baseline(11.0)),
            _ => ("n", place.at.y + baseline(12.0)),
        };
        let (x, y, name) = (number(place.at.x), number(y), escape(name));
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{dark}>{name}</text>"
        );
    }

    /// The hosts of a switch that are not drawn one by one.
    pub(super) fn rack(&mut self, place: Place, label: &str) {
        if label.is_empty() {
            return;
        }
        let below = match place.shape {
            Shape::Box(_, h) => h / 2.0 + 6.0,
            // The name stands below a disc.
            Shape::Disc(r) => r + 18.0,
        };
        let (x, y) = (number(place.at.x), number(place.at.y + below + 8.0));
        let label = escape(label);
        let _ = writeln!(
            self.text,
            "<text class=\"r\" x=\"{x}\" y=\"{y}\">{label}</text>"
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// A coordinate to a tenth of a pixel.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // No "-0".
    format!("{}", tenths + 0.0)
}

fn pair(point: Point) -> String {
    format!("{} {}", number(point.x), number(point.y))
}

/// Whether a name fits into a disc.
pub(super) fn fits(name: &str, radius: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a few letters")]
    let width = name.chars().count() as f64 * 7.6;
    width <= 2.0 * radius - 3.0
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
