//! A diagram over simulated time: its axes, and marks of what happened.

use crate::page::{ALARM, GRID, Page};
use crate::scale::{number, ticks};

/// Width of a character of a label, about.
const CHARACTER: f64 = 6.1;

/// Something that happened, to be marked on the axis of time.
#[derive(Clone, Debug)]
pub struct Mark {
    /// In microseconds.
    pub at: f64,
    /// What happened.
    pub text: String,
    /// Whether it is something wrong.
    pub alarm: bool,
}

/// The place of a diagram on its page, and what its axes stand for.
#[derive(Clone, Debug)]
pub struct TimeAxes {
    /// Left end, in pixels of the page.
    pub left: f64,
    /// Upper end.
    pub top: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// Time at the right end, in microseconds; the left end is 0.
    pub until: f64,
    /// Value at the upper end; the lower end is 0.
    pub most: f64,
}

impl TimeAxes {
    /// Where a value at a time, in microseconds, stands on the page.
    #[must_use]
    pub fn at(&self, time: f64, value: f64) -> (f64, f64) {
        let x = self.left + self.width * (time / self.until.max(1e-9)).clamp(0.0, 1.0);
        let part = value / self.most.max(1e-9);
        (x, self.top + self.height * (1.0 - part))
    }

    /// Draws the axis of time.
    pub fn time(&self, page: &mut Page) {
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
    pub fn values(&self, page: &mut Page, what: &str) {
        for value in ticks(self.most, 5.0) {
            let (left, y) = self.at(0.0, value);
            page.line((left, y), (left + self.width, y), GRID);
            page.label(left - 6.0, y + 4.0, "end", &number(value));
        }
        let (x, y) = (self.left - 52.0, self.top + self.height / 2.0);
        page.upright(x, y, what);
    }

    /// Rows that [`TimeAxes::marks`] needs above the diagram.
    #[must_use]
    pub fn rows(&self, marks: &[Mark]) -> usize {
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

    /// From where to where the text of a mark goes: to the left where there is no room to the
    /// right.
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
    pub fn marks(&self, page: &mut Page, marks: &[Mark]) {
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
