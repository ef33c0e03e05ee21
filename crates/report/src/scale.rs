//! How numbers are spread over an axis, and which of them get a line and a label.

/// Parts of a linear axis at most.
const PARTS: f64 = 10.0;

/// How numbers are spread over an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    #[default]
    Linear,
    /// By factors of ten.
    Log,
}

/// An axis with its ends on the drawing.
pub(crate) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// The ruler that has room for all values.
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let shown = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let (low, high) = match scale {
            _ if low > high => (1.0, 10.0),
            Scale::Linear => {
                let step = nice(high.max(f64::MIN_POSITIVE) / PARTS);
                (0.0, (high / step).ceil().max(1.0) * step)
            }
            Scale::Log => {
                let (low, high) = (low.log10().floor(), high.log10().ceil());
                (10f64.powf(low), 10f64.powf(high.max(low + 1.0)))
            }
        };
        Self {
            scale,
            low,
            high,
            from,
            to,
        }
    }

    /// Where a value stands, if it can be shown.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => {
                (value / self.low).log10() / (self.high / self.low).log10()
            }
            Scale::Log => return None,
        };
        part.is_finite()
            .then_some(self.from + part * (self.to - self.from))
    }

    /// The values that get a line and a number.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => ticks(self.high, PARTS),
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                let every = (decades / 8 + 1).max(1) as usize;
                let first = self.low.log10().round() as i32;
                let all = (first..=first + decades).step_by(every);
                // Two numbers tell nobody what stands between them.
                let within: &[f64] = if decades <= 2 {
                    &[1.0, 2.0, 5.0]
                } else {
                    &[1.0]
                };
                let all = all.flat_map(|exponent| {
                    within.iter().map(move |digit| digit * 10f64.powi(exponent))
                });
                all.filter(|value| *value <= self.high * 1.0001).collect()
            }
        }
    }
}

/// Round numbers from 0 up to `most`, about so many.
pub(crate) fn ticks(most: f64, count: f64) -> Vec<f64> {
    let step = nice(most / count);
    let last = (most / step * 1.0001).floor().max(0.0) as u32;
    (0..=last.min(1_000)).map(|i| f64::from(i) * step).collect()
}

/// A number on an axis: plain where that is short, else a power of ten.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e5).contains(&value) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let text = format!("{value:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    format!(
        "{}e{power}",
        digits.trim_end_matches('0').trim_end_matches('.')
    )
}

/// The next round number, 1, 2 or 5 times a power of ten, that is not below this one.
fn nice(raw: f64) -> f64 {
    if raw <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0];
    power * times.into_iter().find(|t| power * t >= raw).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([0.7, 1.2, 10.0, 0.04].map(nice), [1.0, 2.0, 10.0, 0.05]);
        let numbers = [0.0, 0.05, 1.0, 1000.0, 1e-9, 150_000.0].map(number);
        assert_eq!(numbers, ["0", "0.05", "1", "1000", "1e-9", "1.5e5"]);
    }
}
