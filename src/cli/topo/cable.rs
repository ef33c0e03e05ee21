//! `switchwright topo cable`: what to plug in where, how long, at what cost.

use clap::Args;
use serde::Serialize;
use topology::cabling::{
    Cabling, CablingError, CablingOptions, CablingSummary, Cost, Floor, Prices,
};

use super::super::fault::{Context, Fault};
use super::super::terminal::{self, Terminal};

#[derive(Debug, Args)]
pub(super) struct CableArgs {
    /// The topology file.
    topology: String,
    /// Where racks stand: CSV of the columns `node,x,y`, for every switch and every OCS (`ocs1`,
    /// `ocs2`, ...); hosts stand with their switch. Without it the layout of FC23 appendix A.4: a
    /// rack for each switch, in columns on both sides of one of OCSs.
    #[arg(long, value_name = "FILE")]
    racks: Option<String>,
    /// Racks of a column, in that layout; without it as many as make fibers shortest.
    #[arg(long, value_name = "N", conflicts_with = "racks", value_parser = clap::value_parser!(u32).range(1..))]
    racks_per_column: Option<u32>,
    /// Run links between switches through optical circuit switches (or patch panels) with this
    /// number of ports, if the topology does not name the switch of each link.
    #[arg(long, value_name = "PORTS")]
    ocs_ports: Option<u16>,
    /// Metres from one rack to the next; without it lengths and what depends on them are not known.
    #[arg(long, value_name = "METRES", value_parser = metres)]
    pitch: Option<f64>,
    /// Unit prices: a JSON file as `--prices fc23 --json` shows them, or `fc23` for FC23's Table 5
    /// (dollars; switches of 32 ports at 400 Gb/s).
    #[arg(long, value_name = "FILE")]
    prices: Option<String>,
    /// The list of circuits to write, as CSV: which ports of each OCS are joined.
    #[arg(long, value_name = "FILE")]
    circuits: Option<String>,
    /// The list of cables to write, as CSV.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Reads a distance of more than nothing.
fn metres(text: &str) -> Result<f64, String> {
    let metres: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    match metres.is_finite() && metres > 0.0 && metres <= 1e6 {
        true => Ok(metres),
        false => Err(format!(
            "{text} is not a distance above 0 and up to 1000000 m"
        )),
    }
}

#[derive(Serialize)]
struct CableReport {
    #[serde(flatten)]
    summary: CablingSummary,
    /// Where prices are given.
    cost: Option<Cost>,
    prices: Option<Prices>,
}

impl CableArgs {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let topology = super::load(&self.topology)?;
        let floor = self.racks.as_deref().map(|path| {
            let text = terminal::read(path)?;
            Floor::from_csv(&text).input(path)
        });
        let options = CablingOptions {
            floor: floor.transpose()?,
            racks_per_column: self.racks_per_column,
            ocs_ports: self.ocs_ports,
            pitch: self.pitch,
        };
        let cabling = Cabling::new(&topology, &options).map_err(|error| {
            let at_fault = match (&error, &self.racks) {
                (CablingError::Floor(_), Some(racks)) => racks,
                _ => &self.topology,
            };
            Fault::input(format!("{at_fault}: {error}"))
        })?;
        let prices = self.prices.as_deref().map(prices).transpose()?;
        let cost = prices.as_ref().map(|prices| cabling.cost(prices));
        let cost = cost.transpose().map_err(Fault::input)?;
        if let Some(path) = &self.circuits {
            if cabling.ocs_count == 0 {
                return Err(Fault::input(
                    "`--circuits`: no link runs through an optical circuit switch",
                )
                .help("give `--ocs-ports`, or a topology made with it"));
            }
            terminal::write(path, &cabling.circuits_csv())?;
        }
        if let Some(path) = &self.output {
            terminal::write(path, &cabling.cables_csv())?;
            if path == "-" {
                return Ok(());
            }
        }
        let report = CableReport {
            summary: cabling.summary(),
            cost,
            prices,
        };
        terminal.result(&report, || describe(&report))
    }
}

fn prices(source: &str) -> Result<Prices, Fault> {
    if source == "fc23" {
        return Ok(Prices::fc23());
    }
    let text = terminal::read(source)?;
    let prices: Prices = serde_json::from_str(&text).input(source)?;
    prices.check().input(source)?;
    Ok(prices)
}

fn describe(report: &CableReport) -> String {
    let found = &report.summary;
    let mut text = format!(
        "{} switches, {} hosts: {} copper cables within racks, {} fibers between them, {} transceivers\n",
        found.switches, found.hosts, found.copper_cables, found.fiber_cables, found.transceivers
    );
    if found.ocs > 0 {
        let cables = found.cables_of_a_switch_to_an_ocs.unwrap_or(0);
        let each = if cables == 1 { "cable" } else { "cables" };
        text += &format!(
            "{} optical circuit switches with {} circuits; a switch has at most {cables} {each} to one\n",
            found.ocs, found.circuits
        );
    }
    if let Some(racks) = found.racks_per_column {
        text += &format!("layout of FC23 appendix A.4, {racks} racks to a column\n");
    }
    let metres = found.fiber_metres.map_or_else(
        || "metres unknown without --pitch".to_owned(),
        |metres| format!("{:.1} km", metres / 1000.0),
    );
    text += &format!(
        "fibers: {} rack distances in all ({metres}), at most {}, {} different ones\n",
        found.fiber_distance, found.longest_fiber_distance, found.distinct_distances
    );
    let Some(cost) = &report.cost else {
        return text;
    };
    let money = |value: Option<f64>| {
        value.map_or_else(
            || "unknown without --pitch".to_owned(),
            |value| format!("{value:.0}"),
        )
    };
    let rows = [
        ("switches", Some(cost.switches)),
        ("optical circuit switches", Some(cost.ocs)),
        ("copper", Some(cost.copper)),
        ("transceivers", cost.transceivers),
        ("fiber", cost.fiber),
        ("all but fiber", cost.without_fiber),
        ("all", cost.total),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(what, value)| vec![what.to_owned(), money(value)])
        .collect();
    text + &terminal::table(&["cost of", ""], &[1], &rows)
}
