//! What cables and what they join cost.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Cable, CableKind, Cabling};

/// Unit prices, all in the same currency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// A switch.
    pub switch: f64,
    /// An optical circuit switch.
    pub ocs: f64,
    /// A copper cable within a rack.
    pub copper: f64,
    /// Fibers, by rising length: the first that is long enough is taken.
    pub fiber: Vec<FiberPrice>,
    /// What fibers cost that are longer than all of these.
    pub further_fiber: Option<FurtherFiber>,
    /// Transceivers, by rising reach. Through an OCS the last is taken, which has power to spare
    /// (FC23 appendix A.4.3).
    pub transceivers: Vec<TransceiverPrice>,
}

/// A fiber that can be bought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiberPrice {
    /// Its length in metres.
    pub metres: f64,
    /// What it costs.
    pub price: f64,
}

/// What every further piece of fiber costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurtherFiber {
    /// Metres of a piece.
    pub metres: f64,
    /// What it costs.
    pub price: f64,
}

/// A transceiver that can be bought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransceiverPrice {
    /// How far it reaches, in metres.
    pub reach: f64,
    /// What it costs.
    pub price: f64,
}

/// Why prices are refused, or a cable has none.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PriceError {
    /// A list is empty or does not rise.
    #[error("`{list}` is empty or not in rising order; list every {what} once, the shortest first")]
    Order {
        /// The list.
        list: &'static str,
        /// What stands in it.
        what: &'static str,
    },
    /// A price or length that is none.
    #[error("{value} is no price or length; use numbers of 0 or more")]
    Value {
        /// It.
        value: f64,
    },
    /// A cable is longer than anything that can be bought.
    #[error("a cable of {metres} m is longer than all `{list}`; add a longer one")]
    TooLong {
        /// Its length.
        metres: f64,
        /// The list.
        list: &'static str,
    },
}

/// What a network costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Switches.
    pub switches: f64,
    /// Optical circuit switches.
    pub ocs: f64,
    /// Copper cables.
    pub copper: f64,
    /// Fibers; absent while the pitch of the grid is not known.
    pub fiber: Option<f64>,
    /// Transceivers; absent where that depends on an unknown pitch.
    pub transceivers: Option<f64>,
    /// All of it; absent if a part is.
    pub total: Option<f64>,
    /// All but fibers; absent if transceivers are.
    pub without_fiber: Option<f64>,
}

impl Prices {
    /// FC23's Table 5, in dollars: switches of 32 ports at 400 Gb/s, OCSs of 320 ports.
    #[must_use]
    pub fn fc23() -> Self {
        let fiber = [
            (2.0, 4.29),
            (5.0, 4.71),
            (10.0, 5.29),
            (15.0, 5.71),
            (20.0, 6.38),
            (30.0, 7.38),
            (50.0, 9.46),
            (100.0, 16.54),
        ];
        let transceivers = [(100.0, 499.0), (500.0, 799.0), (2000.0, 1099.0)];
        Self {
            switch: 59_099.0,
            ocs: 60_000.0,
            copper: 189.0,
            fiber: fiber
                .map(|(metres, price)| FiberPrice { metres, price })
                .to_vec(),
            further_fiber: Some(FurtherFiber {
                metres: 50.0,
                price: 6.3,
            }),
            transceivers: transceivers
                .map(|(reach, price)| TransceiverPrice { reach, price })
                .to_vec(),
        }
    }

    /// Checks the lists.
    ///
    /// # Errors
    /// [`PriceError`].
    pub fn check(&self) -> Result<(), PriceError> {
        let rising = |lengths: &[f64]| !lengths.is_empty() && lengths.is_sorted_by(|a, b| a < b);
        let fiber: Vec<f64> = self.fiber.iter().map(|fiber| fiber.metres).collect();
        let reach: Vec<f64> = self.transceivers.iter().map(|one| one.reach).collect();
        let mut values = vec![self.switch, self.ocs, self.copper];
        values.extend(
            self.fiber
                .iter()
                .flat_map(|fiber| [fiber.metres, fiber.price]),
        );
        values.extend(
            self.transceivers
                .iter()
                .flat_map(|one| [one.reach, one.price]),
        );
        if let Some(further) = self.further_fiber {
            values.push(further.price);
            if further.metres <= 0.0 {
                return Err(PriceError::Value {
                    value: further.metres,
                });
            }
        }
        if let Some(&value) = values
            .iter()
            .find(|value| !value.is_finite() || **value < 0.0)
        {
            return Err(PriceError::Value { value });
        }
        if !rising(&fiber) {
            return Err(PriceError::Order {
                list: "fiber",
                what: "length",
            });
        }
        if !rising(&reach) {
            return Err(PriceError::Order {
                list: "transceivers",
                what: "reach",
            });
        }
        Ok(())
    }

    /// What the shortest fiber costs that is long enough.
    ///
    /// # Errors
    /// [`PriceError::TooLong`] if none is.
    pub fn fiber(&self, metres: f64) -> Result<f64, PriceError> {
        if let Some(fiber) = self.fiber.iter().find(|fiber| fiber.metres >= metres) {
            return Ok(fiber.price);
        }
        match (self.fiber.last(), self.further_fiber) {
            (Some(last), Some(further)) => {
                let pieces = ((metres - last.metres) / further.metres).ceil();
                Ok(last.price + pieces * further.price)
            }
            _ => Err(PriceError::TooLong {
                metres,
                list: "fiber",
            }),
        }
    }

    /// What the weakest transceiver costs that reaches so far.
    ///
    /// # Errors
    /// [`PriceError::TooLong`] if none does.
    pub fn transceiver(&self, metres: f64) -> Result<f64, PriceError> {
        let reaching = self.transceivers.iter().find(|one| one.reach >= metres);
        reaching.map(|one| one.price).ok_or(PriceError::TooLong {
            metres,
            list: "transceivers",
        })
    }
}

impl Cabling<'_> {
    /// What all of it costs. Lengths are those between places: what a cable needs within racks is
    /// not known.
    ///
    /// # Errors
    /// [`PriceError`].
    pub fn cost(&self, prices: &Prices) -> Result<Cost, PriceError> {
        prices.check()?;
        let summary = self.summary();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let times = |count: usize, price: f64| count as f64 * price;
        let fibers = || {
            self.cables
                .iter()
                .filter(|cable| cable.kind == CableKind::Fiber)
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let metres = |cable: &Cable| self.pitch.map(|pitch| cable.distance() as f64 * pitch);
        let mut fiber = Some(0.0);
        let mut transceivers = Some(0.0);
        for cable in fibers() {
            let length = metres(cable);
            let price = length.map(|metres| prices.fiber(metres)).transpose()?;
            fiber = fiber.zip(price).map(|(sum, price)| sum + price);
            let price = match (cable.transceivers(), length) {
                (1, _) => prices.transceivers.last().map(|one| one.price),
                (_, Some(metres)) => Some(prices.transceiver(metres)?),
                (_, None) => None,
            };
            let price = price.map(|price| times(cable.transceivers(), price));
            transceivers = transceivers.zip(price).map(|(sum, price)| sum + price);
        }
        let switches = times(summary.switches, prices.switch);
        let ocs = f64::from(summary.ocs) * prices.ocs;
        let copper = times(summary.copper_cables, prices.copper);
        let without_fiber = transceivers.map(|lit| switches + ocs + copper + lit);
        Ok(Cost {
            switches,
            ocs,
            copper,
            fiber,
            transceivers,
            total: without_fiber.zip(fiber).map(|(rest, fiber)| rest + fiber),
            without_fiber,
        })
    }
}
