//! Lists that people lay cables and set circuits by.

use serde::Serialize;

use super::floor::ocs_name;
use super::{Cable, CableKind, Cabling, Plug};
use crate::{Topology, spreadsheet};

#[derive(Serialize)]
struct CableRow {
    cable: usize,
    kind: CableKind,
    from: String,
    from_port: String,
    from_x: i32,
    from_y: i32,
    to: String,
    to_port: String,
    to_x: i32,
    to_y: i32,
    distance: u64,
    length_m: Option<f64>,
    transceivers: usize,
    link: String,
}

#[derive(Serialize)]
struct CircuitRow {
    ocs: String,
    port_a: u32,
    port_b: u32,
    link: String,
}

/// Node and port that a cable is plugged into.
fn names(topology: &Topology, plug: Plug) -> (String, String) {
    match plug {
        Plug::Ocs { ocs, port } => (ocs_name(ocs), port.to_string()),
        Plug::Port(end) => (
            topology.node_name(end.node).to_owned(),
            end.port.to_string(),
        ),
    }
}

impl Cabling<'_> {
    /// A line for every cable, as CSV: what is plugged in where, how far that is in places of the
    /// grid and, where its pitch is known, in metres, and the link of which it is the whole or a
    /// half.
    #[must_use]
    pub fn cables_csv(&self) -> String {
        csv_of(
            (1..)
                .zip(&self.cables)
                .map(|(number, cable)| self.cable_row(number, cable)),
        )
    }

    /// A line for every circuit, as CSV: which two ports of which OCS are joined, for which link.
    #[must_use]
    pub fn circuits_csv(&self) -> String {
        csv_of(self.circuits.iter().map(|circuit| CircuitRow {
            ocs: ocs_name(circuit.ocs),
            port_a: circuit.ports[0],
            port_b: circuit.ports[1],
            link: self.topology.link_name(circuit.link),
        }))
    }

    fn cable_row(&self, number: usize, cable: &Cable) -> CableRow {
        let [(from, from_port), (to, to_port)] = cable.ends.map(|end| names(self.topology, end));
        let [start, end] = cable.places;
        let distance = cable.distance();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let length_m = self.pitch.map(|pitch| distance as f64 * pitch);
        CableRow {
            cable: number,
            kind: cable.kind,
            from,
            from_port,
            from_x: start.x,
            from_y: start.y,
            to,
            to_port,
            to_x: end.x,
            to_y: end.y,
            distance,
            length_m,
            transceivers: cable.transceivers(),
            link: self.topology.link_name(cable.link),
        }
    }
}

/// Rows under a line that names the columns.
fn csv_of<R: Serialize>(rows: impl Iterator<Item = R>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // Writing to memory does not fail, and rows are flat.
        if writer.serialize(row).is_err() {
            break;
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    // Names may look like formulas.
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(&*bytes);
    let rows: Vec<csv::StringRecord> = reader.records().flatten().collect();
    spreadsheet::text(&rows).unwrap_or_default()
}
