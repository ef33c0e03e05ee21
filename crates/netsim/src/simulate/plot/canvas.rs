//! Drawing as SVG: a page with a title, axes of time and value, marks of what happened.

use std::fmt::Write;

/// Colours that differ in lightness too, for those who see fewer (Okabe and Ito).
pub(super) const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31",
];
/// What is wrong.
pub(super) const ALARM: &str = "#c1121f";
const GRID: &str = "stroke=\"#e3e7ee\"";
/// Width of a character of a label, about.
const CHARACTER: f64 = 6.1;

/// Something that happened, to be marked on the axis of time.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// In microseconds.
    pub(super) at: f64,
    pub(super) text: String,
    pub(super) alarm: bool,
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// An SVG document. Writing to a string cannot fail.
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
    pub(super) fn new(title: &str, width: f64, height: f64) -> Self {
        let mut text = String::new();
        let title = escape(title);
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"Inter,'Segoe UI',Roboto,Arial,sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"700\" fill=\"#1c2330\">{title}</text>\n"
        );
        Self { text }
    }

    pub(super) fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.styled(
            x,
            y,
            &format!("text-anchor=\"{anchor}\" fill=\"#495057\""),
            text,
        );
    }

    pub(super) fn styled(&mut self, x: f64, y: f64, style: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" {style} paint-order=\"stroke\" stroke=\"#fff\" \
             stroke-width=\"3\">{}</text>",
            escape(text)
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// The place of a diagram on its page, and what its axes stand for.
pub(super) struct Axes {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// In microseconds.
    pub(super) until: f64,
    pub(super) most: f64,
}

impl Axes {
    pub(super) fn at(&self, time: f64, value: f64) -> (f64, f64) {
        let x = self.left + self.width * (time / self.until.max(1e-9)).clamp(0.0, 1.0);
        let part = value / self.most.max(1e-9);
        (x, self.top + self.height * (1.0 - part))
    }

    /// Draws the axis of time.
    pub(super) fn time(&self, page: &mut Page) {
        let bottom = self.top + self.height;
        let (unit, worth) = match self.until {
            until if until >= 2e6 => ("s", 1e6),
            until if until >= 2e3 => ("ms", 1e3),
            _ => ("us", 1.0),
        };
        for time in ticks(self.until, 8.0) {
            let (x, _) = self.at(time, 0.0);
            page.line((x, self.top), (x, bottom), GRID);
            page.label(x, bottom + 16.0, "middle", &number(time / worth));
        }
        let middle = self.left + self.width / 2.0;
        page.label(
            middle,
            bottom + 32.0,
            "middle",
            &format!("simulated time, {unit}"),
        );
    }

    /// Draws the axis of values.
    pub(super) fn values(&self, page: &mut Page, what: &str) {
        for value in ticks(self.most, 5.0) {
            let (left, y) = self.at(0.0, value);
            page.line((left, y), (left + self.width, y), GRID);
            page.label(left - 6.0, y + 4.0, "end", &number(value));
        }
        let (x, y) = (self.left - 52.0, self.top + self.height / 2.0);
        let style = format!(
            "text-anchor=\"middle\" fill=\"#495057\" transform=\"rotate(-90 {x:.1} {y:.1})\""
        );
        page.styled(x, y, &style, what);
    }

    /// Rows that [`Axes::marks`] needs above the diagram.
    pub(super) fn rows(&self, marks: &[Mark]) -> usize {
        self.rows_of(marks).iter().max().map_or(0, |row| row + 1)
    }

    /// In which row the text of each mark stands, so that none covers another.
    fn rows_of(&self, marks: &[Mark]) -> Vec<usize> {
        let mut ends: Vec<f64> = Vec::new();
        let row = |mark: &Mark| {
            let (from, until) = self.span(mark);
            let free = ends.iter().position(|end| *end <= from);
            let row = free.unwrap_or(ends.len());
            match ends.get_mut(row) {
                Some(end) => *end = until,
                None => ends.push(until),
            }
            row
        };
        marks.iter().map(row).collect()
    }

    /// From where to where the text of a mark goes: to the left where there is no room to the right.
    fn span(&self, mark: &Mark) -> (f64, f64) {
        let (x, _) = self.at(mark.at, 0.0);
        let width = CHARACTER * mark.text.len() as f64 + 8.0;
        if x + width > self.left + self.width {
            (x - width, x)
        } else {
            (x, x + width)
        }
    }

    /// Marks what happened, with its text above the diagram.
    pub(super) fn marks(&self, page: &mut Page, marks: &[Mark]) {
        for (mark, row) in marks.iter().zip(self.rows_of(marks)) {
            let colour = if mark.alarm { ALARM } else { "#5b6678" };
            let (x, bottom) = self.at(mark.at, 0.0);
            let y = self.top - 8.0 - 14.0 * row as f64;
            let style = format!("stroke=\"{colour}\" stroke-dasharray=\"4 3\"");
            page.line((x, y - 8.0), (x, bottom), &style);
            let (from, until) = self.span(mark);
            let (x, anchor) = match from < x {
                true => (until - 4.0, "end"),
                false => (from + 4.0, "start"),
            };
            let style = format!("text-anchor=\"{anchor}\" fill=\"{colour}\"");
            page.styled(x, y, &style, &mark.text);
        }
    }
}

/// Round numbers from 0 up to `most`, about so many.
fn ticks(most: f64, count: f64) -> Vec<f64> {
    let step = nice(most / count);
    let last = (most / step * 1.0001).floor().max(0.0) as u32;
    (0..=last.min(1_000)).map(|i| f64::from(i) * step).collect()
}

/// A number without the noise of binary fractions.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A round number near this one.
fn nice(raw: f64) -> f64 {
    if raw <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0];
    power * times.into_iter().find(|t| power * t >= raw).unwrap_or(10.0)
}
