//! Meters: the two-rate three-colour marker of RFC 2698, colour-blind.
//!
//! Tokens are counted exactly, in billionths, so that no rate loses to rounding however often the
//! meter runs. A meter that was never configured says green.

use quantities::{Bytes, Nanos};

use super::counter::CounterCell;

/// The outcome, numbered as v1model numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Colour {
    /// Within the committed rate.
    Green = 0,
    /// Within the peak rate.
    Yellow = 1,
    /// Beyond the peak rate.
    Red = 2,
}

/// What a meter has marked, by colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marked {
    /// Within the committed rate.
    pub green: CounterCell,
    /// Within the peak rate.
    pub yellow: CounterCell,
    /// Beyond the peak rate.
    pub red: CounterCell,
}

impl Marked {
    fn count(&mut self, colour: Colour, length: Bytes) {
        match colour {
            Colour::Green => self.green.count(length),
            Colour::Yellow => self.yellow.count(length),
            Colour::Red => self.red.count(length),
        }
    }
}

/// What a meter measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeterKind {
    /// Packets: rates in packets per second, bursts in packets.
    Packets,
    /// Bytes: rates in bytes per second, bursts in bytes.
    Bytes,
}

/// Rates (units per second) and bursts (units) of RFC 2698.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeterConfig {
    /// Committed information rate.
    pub cir: u64,
    /// Committed burst size.
    pub cburst: u64,
    /// Peak information rate.
    pub pir: u64,
    /// Peak burst size.
    pub pburst: u64,
}

/// Tokens per unit: a rate of one unit per second earns one token per nanosecond.
const SCALE: u128 = 1_000_000_000;

/// One token bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    tokens: u128,
}

impl Bucket {
    const fn full(burst: u64) -> Self {
        Self {
            tokens: burst as u128 * SCALE,
        }
    }

    fn fill(&mut self, rate: u64, burst: u64, elapsed: u64) {
        let earned = u128::from(rate) * u128::from(elapsed);
        self.tokens = self
            .tokens
            .saturating_add(earned)
            .min(u128::from(burst) * SCALE);
    }

    /// Takes `units` if they are there.
    fn take(&mut self, units: u64) -> bool {
        match self.tokens.checked_sub(u128::from(units) * SCALE) {
            Some(rest) => {
                self.tokens = rest;
                true
            }
            None => false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Running {
    config: MeterConfig,
    committed: Bucket,
    peak: Bucket,
    /// When the buckets were last filled; `None` until the first packet.
    filled: Option<Nanos>,
}

/// One meter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    running: Option<Running>,
    marked: Marked,
}

impl Meter {
    /// Sets rates and bursts; both buckets start full. `None` takes the configuration away.
    pub fn configure(&mut self, config: Option<MeterConfig>) {
        self.running = config.map(|config| Running {
            config,
            committed: Bucket::full(config.cburst),
            peak: Bucket::full(config.pburst),
            filled: None,
        });
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> Option<MeterConfig> {
        self.running.map(|r| r.config)
    }

    /// What was marked so far; a new configuration leaves it.
    #[must_use]
    pub const fn marked(&self) -> &Marked {
        &self.marked
    }

    /// Says what was marked so far.
    pub const fn set_marked(&mut self, marked: Marked) {
        self.marked = marked;
    }

    /// Meters one packet and counts it by its colour.
    pub fn execute(&mut self, now: Nanos, kind: MeterKind, length: Bytes) -> Colour {
        let colour = self.mark(now, kind, length);
        self.marked.count(colour, length);
        colour
    }

    /// RFC 2698, section 3. Time that runs backwards earns nothing.
    fn mark(&mut self, now: Nanos, kind: MeterKind, length: Bytes) -> Colour {
        let Some(running) = &mut self.running else {
            return Colour::Green;
        };
        let last = running.filled.unwrap_or(now);
        let elapsed = now.get().saturating_sub(last.get());
        running.filled = Some(now.max(last));
        let MeterConfig {
            cir,
            cburst,
            pir,
            pburst,
        } = running.config;
        running.committed.fill(cir, cburst, elapsed);
        running.peak.fill(pir, pburst, elapsed);
        let units = match kind {
            MeterKind::Packets => 1,
            MeterKind::Bytes => length.get(),
        };
        if !running.peak.take(units) {
            Colour::Red
        } else if running.committed.take(units) {
            Colour::Green
        } else {
            Colour::Yellow
        }
    }
}

/// An indexed meter.
#[derive(Clone, Debug)]
pub struct MeterArray {
    /// The control-plane name.
    pub name: String,
    /// What it measures.
    pub kind: MeterKind,
    /// The meters by index.
    pub cells: Vec<Meter>,
}

impl MeterArray {
    /// `size` meters without configuration.
    #[must_use]
    pub fn new(name: String, kind: MeterKind, size: usize) -> Self {
        Self {
            name,
            kind,
            cells: vec![Meter::default(); size],
        }
    }

    /// Meters one packet; `None` if the index is out of range.
    pub fn execute(&mut self, index: usize, now: Nanos, length: Bytes) -> Option<Colour> {
        let kind = self.kind;
        self.cells
            .get_mut(index)
            .map(|meter| meter.execute(now, kind, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Colour::{Green, Red, Yellow};

    /// 1 packet/s committed with a burst of 2, 2 packets/s peak with a burst of 4.
    fn meter() -> Meter {
        let mut meter = Meter::default();
        meter.configure(Some(MeterConfig {
            cir: 1,
            cburst: 2,
            pir: 2,
            pburst: 4,
        }));
        meter
    }

    fn run(meter: &mut Meter, at_ms: u64, packets: usize) -> Vec<Colour> {
        let now = Nanos::new(at_ms * 1_000_000);
        (0..packets)
            .map(|_| meter.execute(now, MeterKind::Packets, Bytes::new(64)))
            .collect()
    }

    #[test]
    fn bursts_then_rates() {
        let mut m = meter();
        assert_eq!(run(&mut m, 0, 6), [Green, Green, Yellow, Yellow, Red, Red]);
        let packets = |m: &Meter| {
            let marked = m.marked();
            [marked.green, marked.yellow, marked.red].map(|cell| cell.packets)
        };
        assert_eq!(packets(&m), [2, 2, 2]);
        assert_eq!(m.marked().red.bytes, Bytes::new(128));
        // Half a second: one peak token, half a committed one.
        assert_eq!(run(&mut m, 500, 2), [Yellow, Red]);
        // Another half: the committed bucket has its first whole token.
        assert_eq!(run(&mut m, 1000, 2), [Green, Red]);
        // A long pause fills both to their bursts and no further.
        assert_eq!(
            run(&mut m, 1_000_000, 5),
            [Green, Green, Yellow, Yellow, Red]
        );
    }

    #[test]
    fn many_short_intervals_lose_nothing() {
        let mut m = Meter::default();
        m.configure(Some(MeterConfig {
            cir: 7,
            cburst: 1,
            pir: 7,
            pburst: 1,
        }));
        let green = (0..10_000_000u64)
            .step_by(1000)
            .filter(|us| {
                let now = Nanos::new(us * 1000);
                m.execute(now, MeterKind::Packets, Bytes::new(0)) == Green
            })
            .count();
        assert_eq!(
            green, 70,
            "7 per second for 10 s: the first at once, the last before 10 s"
        );
    }

    #[test]
    fn bytes_count_when_asked_and_no_configuration_is_green() {
        let mut m = meter();
        assert_eq!(
            m.execute(Nanos::new(0), MeterKind::Bytes, Bytes::new(5)),
            Red
        );
        assert_eq!(
            m.execute(Nanos::new(0), MeterKind::Bytes, Bytes::new(3)),
            Yellow
        );
        assert_eq!(
            Meter::default().execute(Nanos::new(0), MeterKind::Bytes, Bytes::new(5)),
            Green
        );
    }
}
