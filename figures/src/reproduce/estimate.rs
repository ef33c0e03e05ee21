//! Means of several runs, with confidence intervals.

use serde::{Deserialize, Serialize};

/// The mean of several runs; all numbers are rounded to six digits, so that they are the same after
/// writing and reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Where the true mean lies with a probability of 95 %, by Student's t; absent for a single
    /// run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<(f64, f64)>,
    /// Runs.
    pub runs: usize,
}

/// Two-sided 95 % quantiles of Student's t by degrees of freedom, from one on; beyond, those of the
/// normal distribution do.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl Estimate {
    /// Of so many runs, at least one.
    #[must_use]
    pub fn of(runs: &[f64]) -> Self {
        let count = runs.len().max(1) as f64;
        let mean = runs.iter().sum::<f64>() / count;
        let interval = (runs.len() > 1).then(|| {
            let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
            let error = (squares / (count - 1.0) / count).sqrt();
            let t = STUDENT.get(runs.len() - 2).copied().unwrap_or(1.96);
            (rounded(mean - t * error), rounded(mean + t * error))
        });
        Self {
            mean: rounded(mean),
            interval,
            runs: runs.len(),
        }
    }

    /// In words: the mean, and the interval if there is one.
    #[must_use]
    pub fn words(&self) -> String {
        match self.interval {
            Some((low, high)) if low < high => {
                format!("{} ({} to {})", short(self.mean), short(low), short(high))
            }
            _ => short(self.mean),
        }
    }
}

/// Six digits of a number.
#[must_use]
pub(super) fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// A number for people: four digits.
#[must_use]
pub fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{number:.1e}");
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_students_t() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!((estimate.mean, estimate.runs), (2.0, 3));
        let (low, high) = estimate.interval.unwrap();
        // 4.303 * sqrt(1 / 3)
        assert!((low + 0.48434).abs() < 1e-4 && (high - 4.48434).abs() < 1e-4);
        assert_eq!(Estimate::of(&[7.0]).interval, None);
        assert_eq!(Estimate::of(&[7.0, 7.0]).words(), "7");
    }

    #[test]
    fn numbers_are_short_and_survive_writing() {
        assert_eq!(short(21968.0), "21968");
        assert_eq!(short(0.125), "0.125");
        assert_eq!(short(10.0), "10");
        assert_eq!(short(4.2e-7), "4.2e-7");
        let number = rounded(1.0 / 3.0);
        assert_eq!(number, 0.333_333);
        assert_eq!(rounded(number), number);
    }
}
