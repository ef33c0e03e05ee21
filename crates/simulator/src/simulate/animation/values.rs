//! Values of an attribute over the time of the picture.

use std::fmt::{Display, Write};

/// The time of the picture: moments, then a pause, then all of it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    seconds: f64,
    /// The share of the whole that the moments take.
    play: f64,
    moments: u64,
}

impl Clock {
    pub(super) fn new(play: f64, hold: f64, moments: u64) -> Self {
        Self {
            seconds: play + hold,
            play: play / (play + hold),
            moments,
        }
    }

    /// The share of the whole at which a moment begins.
    fn share(self, moment: usize) -> f64 {
        moment as f64 / self.moments as f64 * self.play
    }

    /// An animation of an attribute that has a value at each moment and keeps it until the next.
    /// Nothing, if it never changes.
    pub(super) fn steps<T: Display + PartialEq>(self, attribute: &str, values: &[T]) -> String {
        let mut changes = vec![0];
        changes.extend((1..values.len()).filter(|&at| values[at] != values[at - 1]));
        if changes.len() < 2 {
            return String::new();
        }
        let mut list = String::new();
        let mut times = String::new();
        for (number, &at) in changes.iter().enumerate() {
            let separator = if number == 0 { "" } else { ";" };
            let _ = write!(list, "{separator}{}", values[at]);
            let _ = write!(times, "{separator}{}", short(self.share(at)));
        }
        format!(
            "<animate attributeName=\"{attribute}\" dur=\"{}s\" repeatCount=\"indefinite\" calcMode=\"discrete\" values=\"{list}\" keyTimes=\"{times}\"/>",
            self.seconds
        )
    }

    /// An animation of an attribute that grows from one value to another while the moments pass.
    pub(super) fn sweep(self, attribute: &str, from: f64, to: f64) -> String {
        format!(
            "<animate attributeName=\"{attribute}\" dur=\"{}s\" repeatCount=\"indefinite\" values=\"{from};{to};{to}\" keyTimes=\"0;{};1\"/>",
            self.seconds,
            short(self.play)
        )
    }
}

/// A share to a thousandth, without what is not needed.
fn short(share: f64) -> String {
    let text = format!("{share:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = text.strip_prefix('0').unwrap_or(text);
    match text {
        "" => "0".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_written() {
        let clock = Clock::new(8.0, 2.0, 4);
        assert_eq!(clock.steps("opacity", &[1, 1, 1, 1, 1]), "");
        let text = clock.steps("opacity", &[0, 0, 1, 1, 0]);
        assert!(
            text.contains("values=\"0;1;0\" keyTimes=\"0;.4;.8\""),
            "{text}"
        );
        let text = clock.sweep("width", 0.0, 5.5);
        assert!(
            text.contains("values=\"0;5.5;5.5\" keyTimes=\"0;.8;1\""),
            "{text}"
        );
    }
}
