//! Cables and cost of Flattened Clos beside FC23's Table 4.

use quantities::Progress;
use serde::Serialize;
use thiserror::Error;
use topology::cabling::{Cabling, CablingError, CablingOptions, PriceError, Prices};
use topology::generate::{Cables, FlattenedClos, GenerateError, OpticalSwitches};

use super::halving::halving;
use super::machine::timed;

/// A row of Table 4 for Flattened Clos: 32-port switches, OCSs of 320 ports.
#[derive(Clone, Copy, Debug)]
pub struct CablingCase {
    switches: u32,
    hosts_per_switch: u16,
    paper: PaperCabling,
}

/// What Table 4 prints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperCabling {
    /// Optical circuit switches.
    pub ocs: u32,
    /// Kilometres of copper.
    pub copper_km: f64,
    /// Kilometres of fiber.
    pub fiber_km: f64,
    /// Transceivers.
    pub transceivers: usize,
    /// Cost in millions of dollars.
    pub cost: f64,
}

/// One network, cabled.
#[derive(Clone, Debug, Serialize)]
pub struct CablingFigure {
    /// Its name: switches, and hosts of each.
    pub case: String,
    /// Optical circuit switches.
    pub ocs: u32,
    /// Kilometres of copper, of 2 m a cable.
    pub copper_km: f64,
    /// Distances from rack to rack that all fibers cross together.
    pub fiber_distance: u64,
    /// Racks of a column, which make that least.
    pub racks_per_column: Option<u32>,
    /// Metres from rack to rack that would make FC23's length of it; FC23 does not say its own.
    pub metres_per_rack: f64,
    /// Transceivers.
    pub transceivers: usize,
    /// Links that the best halving cuts of those that were found: a bound of the bisection
    /// bandwidth, in links.
    pub bisection: u64,
    /// Cost in millions of dollars without fibers.
    pub cost_without_fiber: Option<f64>,
    /// With fibers, at so many metres from rack to rack.
    pub cost: Option<f64>,
    /// What FC23 prints.
    pub paper: PaperCabling,
    /// Whether OCSs, copper and transceivers are FC23's, and the cost at FC23's length of fiber
    /// within 0.5 % of it.
    pub agrees: bool,
    /// Seconds for making and cabling it.
    pub seconds: f64,
}

/// Why a network was not cabled.
#[derive(Debug, Error)]
pub enum CablingBenchError {
    /// It was not made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// It has no cabling.
    #[error(transparent)]
    Cabling(#[from] CablingError),
    /// It has no price.
    #[error(transparent)]
    Price(#[from] PriceError),
}

/// Ports of a switch.
const PORTS: u16 = 32;
/// Ports of an OCS.
const OCS_PORTS: u16 = 320;
/// How many virtual layers there are; costs do not depend on it.
const LAYERS: u8 = 4;

/// The rows for Flattened Clos.
#[must_use]
pub fn cabling_cases() -> Vec<CablingCase> {
    let row =
        |(switches, hosts_per_switch, ocs, copper_km, fiber_km, transceivers, cost)| CablingCase {
            switches,
            hosts_per_switch,
            paper: PaperCabling {
                ocs,
                copper_km,
                fiber_km,
                transceivers,
                cost,
            },
        };
    [
        (300, 8, 24, 4.8, 158.3, 7200, 27.58),
        (200, 12, 20, 4.8, 75.1, 4000, 17.89),
        (150, 16, 16, 4.8, 40.2, 2400, 12.93),
        (600, 8, 48, 9.6, 424.7, 14400, 55.19),
        (400, 12, 40, 9.6, 202.4, 8000, 35.80),
        (300, 16, 16, 9.6, 110.1, 4800, 24.90),
        (900, 8, 72, 14.4, 760.4, 21600, 82.80),
        (600, 12, 40, 14.4, 361.2, 12000, 52.50),
        (450, 16, 32, 14.4, 196.6, 7200, 37.84),
        (3000, 8, 240, 48.0, 4513.5, 72000, 276.29),
        (2000, 12, 140, 48.0, 2047.1, 40000, 175.53),
        (1500, 16, 80, 48.0, 1102.0, 24000, 124.60),
        (6000, 8, 456, 96.0, 13571.0, 144_000, 551.85),
        (4000, 12, 260, 96.0, 5762.6, 80000, 350.11),
        (3000, 16, 160, 96.0, 3002.8, 48000, 249.32),
        (9000, 8, 696, 144.0, 26774.9, 216_000, 829.49),
        (6000, 12, 380, 144.0, 10830.7, 120_000, 524.91),
        (4500, 16, 240, 144.0, 5462.5, 72000, 374.11),
    ]
    .map(row)
    .to_vec()
}

/// The Flattened Clos of FC23's Table 3, which does not print its OCSs.
#[must_use]
pub const fn table_3_cabling() -> CablingCase {
    CablingCase {
        switches: 144,
        hosts_per_switch: 8,
        paper: PaperCabling {
            ocs: 0,
            copper_km: 2.3,
            fiber_km: 55.5,
            transceivers: 3456,
            cost: 13.98,
        },
    }
}

/// Switches, and hosts of each: `300 x 8 hosts`.
#[must_use]
pub fn cabling_name(switches: u32, hosts_per_switch: u16) -> String {
    format!("{switches} x {hosts_per_switch} hosts")
}

impl CablingCase {
    /// What FC23 prints.
    #[must_use]
    pub const fn paper(&self) -> PaperCabling {
        self.paper
    }

    /// Switches.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.switches
    }

    /// Switches, and hosts of each: `300 x 8 hosts`.
    #[must_use]
    pub fn name(&self) -> String {
        cabling_name(self.switches, self.hosts_per_switch)
    }

    /// Makes the network and cables it.
    ///
    /// # Errors
    /// [`CablingBenchError`].
    pub fn measure(
        &self,
        seed: u64,
        progress: &Progress,
    ) -> Result<CablingFigure, CablingBenchError> {
        progress.begin(1);
        let (figure, seconds) = timed(|| self.cabled(seed));
        progress.advance(1);
        Ok(CablingFigure { seconds, ..figure? })
    }

    fn cabled(&self, seed: u64) -> Result<CablingFigure, CablingBenchError> {
        let network = FlattenedClos {
            switches: self.switches,
            ports: PORTS,
            fabric_ports: PORTS - self.hosts_per_switch,
            layers: Some(LAYERS),
            split: None,
            single_links: false,
            optical: Some(OpticalSwitches {
                ports: OCS_PORTS,
                eta: None,
            }),
            seed,
            cables: Cables::default(),
        };
        let topology = network.generate()?;
        let mut cabling = Cabling::new(&topology, &CablingOptions::default())?;
        let found = cabling.summary();
        let prices = Prices::fc23();
        let millions = |dollars: Option<f64>| dollars.map(|dollars| dollars / 1e6);
        let cost_without_fiber = millions(cabling.cost(&prices)?.without_fiber);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let (copper, distance) = (found.copper_cables as f64, found.fiber_distance as f64);
        let metres_per_rack = self.paper.fiber_km * 1000.0 / distance;
        cabling.pitch = Some(metres_per_rack);
        let cost = millions(cabling.cost(&prices)?.total);
        let copper_km = 2.0 * copper / 1000.0;
        let paper = self.paper;
        let agrees = found.ocs == paper.ocs
            && found.transceivers == paper.transceivers
            && (copper_km - paper.copper_km).abs() < 0.05
            && cost.is_some_and(|cost| (cost / paper.cost - 1.0).abs() <= 0.005);
        Ok(CablingFigure {
            case: self.name(),
            ocs: found.ocs,
            copper_km,
            fiber_distance: found.fiber_distance,
            racks_per_column: found.racks_per_column,
            metres_per_rack,
            transceivers: found.transceivers,
            bisection: halving(&topology, seed),
            cost_without_fiber,
            cost,
            paper,
            agrees,
            seconds: 0.0,
        })
    }
}
