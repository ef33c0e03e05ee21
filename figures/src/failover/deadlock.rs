//! How many lossless priorities failover needs: ours beside Stephens15's Tables 5.1 to 5.3.

use schemes::TaggerOptions;
use schemes::failover::{
    FailoverError, FailoverOptions, FailoverScheme, Method, PathPolicy, failover, lossless,
};
use serde::Serialize;
use topology::Topology;
use topology::generate::{Cables, Egft, EgftSize, Jellyfish, JellyfishSize};

use super::super::machine::timed;
use super::super::planning::MeasureError;
use super::PORTS;

/// A topology of those tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Graph {
    /// An extended generalized fat-tree with so many hosts per unit of bisection bandwidth.
    Egft(u8),
    /// A random regular graph at full bisection bandwidth.
    Jellyfish,
}

/// A row of those tables: virtual channels by the number of routings to every switch, 1, 2, 4 and
/// 8; 0 where the source leaves a cell open.
#[derive(Clone, Copy, Debug)]
struct Row {
    graph: Graph,
    hosts: u32,
    resilience: u8,
    compression_aware: bool,
    channels: [u32; 4],
}

const fn row(
    graph: Graph,
    hosts: u32,
    resilience: u8,
    compression_aware: bool,
    channels: [u32; 4],
) -> Row {
    Row {
        graph,
        hosts,
        resilience,
        compression_aware,
        channels,
    }
}

/// Stephens15's Tables 5.1, 5.2 and 5.3.
const ROWS: &[Row] = &[
    row(Graph::Egft(1), 512, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(1), 1024, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(1), 2048, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(1), 512, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(1), 1024, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(1), 2048, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(1), 512, 1, false, [1, 1, 1, 0]),
    row(Graph::Egft(1), 1024, 1, false, [1, 0, 0, 0]),
    row(Graph::Egft(1), 2048, 1, false, [4, 7, 11, 0]),
    row(Graph::Egft(1), 512, 1, true, [1, 1, 0, 1]),
    row(Graph::Egft(1), 1024, 1, true, [1, 1, 1, 0]),
    row(Graph::Egft(1), 2048, 1, true, [3, 5, 0, 0]),
    row(Graph::Egft(1), 512, 2, false, [1, 1, 1, 1]),
    row(Graph::Egft(1), 1024, 2, false, [3, 5, 7, 11]),
    row(Graph::Egft(1), 2048, 2, false, [9, 16, 29, 0]),
    row(Graph::Egft(1), 512, 2, true, [1, 1, 1, 1]),
    row(Graph::Egft(1), 1024, 2, true, [3, 4, 6, 10]),
    row(Graph::Egft(1), 2048, 2, true, [7, 12, 21, 0]),
    row(Graph::Egft(1), 512, 4, false, [2, 3, 5, 0]),
    row(Graph::Egft(1), 1024, 4, false, [9, 17, 31, 0]),
    row(Graph::Egft(1), 2048, 4, false, [27, 51, 0, 0]),
    row(Graph::Egft(1), 512, 4, true, [2, 3, 4, 0]),
    row(Graph::Egft(1), 1024, 4, true, [7, 14, 25, 0]),
    row(Graph::Egft(1), 2048, 4, true, [18, 0, 0, 0]),
    row(Graph::Egft(6), 512, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 1024, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 2048, 0, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 512, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(6), 1024, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(6), 2048, 0, true, [1, 1, 1, 1]),
    row(Graph::Egft(6), 512, 1, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 1024, 1, false, [1, 1, 1, 0]),
    row(Graph::Egft(6), 2048, 1, false, [0, 10, 0, 28]),
    row(Graph::Egft(6), 512, 1, true, [0, 1, 0, 1]),
    row(Graph::Egft(6), 1024, 1, true, [1, 0, 1, 1]),
    row(Graph::Egft(6), 2048, 1, true, [5, 0, 12, 0]),
    row(Graph::Egft(6), 512, 2, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 1024, 2, false, [1, 1, 1, 1]),
    row(Graph::Egft(6), 2048, 2, false, [15, 26, 48, 89]),
    row(Graph::Egft(6), 512, 2, true, [1, 1, 1, 1]),
    row(Graph::Egft(6), 1024, 2, true, [1, 1, 1, 1]),
    row(Graph::Egft(6), 2048, 2, true, [10, 18, 34, 62]),
    row(Graph::Egft(6), 512, 4, false, [1, 1, 1, 0]),
    row(Graph::Egft(6), 1024, 4, false, [9, 16, 27, 0]),
    row(Graph::Egft(6), 2048, 4, false, [49, 0, 0, 0]),
    row(Graph::Egft(6), 512, 4, true, [1, 1, 1, 0]),
    row(Graph::Egft(6), 1024, 4, true, [7, 13, 21, 0]),
    row(Graph::Egft(6), 2048, 4, true, [31, 0, 108, 0]),
    row(Graph::Jellyfish, 512, 0, false, [1, 1, 1, 1]),
    row(Graph::Jellyfish, 1024, 0, false, [1, 1, 2, 2]),
    row(Graph::Jellyfish, 2048, 0, false, [2, 2, 3, 4]),
    row(Graph::Jellyfish, 512, 0, true, [1, 1, 1, 1]),
    row(Graph::Jellyfish, 1024, 0, true, [1, 1, 2, 2]),
    row(Graph::Jellyfish, 2048, 0, true, [2, 2, 3, 5]),
    row(Graph::Jellyfish, 512, 1, false, [1, 0, 0, 0]),
    row(Graph::Jellyfish, 1024, 1, false, [0, 0, 4, 7]),
    row(Graph::Jellyfish, 2048, 1, false, [5, 7, 11, 0]),
    row(Graph::Jellyfish, 512, 1, true, [0, 1, 2, 2]),
    row(Graph::Jellyfish, 1024, 1, true, [0, 0, 0, 6]),
    row(Graph::Jellyfish, 2048, 1, true, [4, 6, 10, 0]),
    row(Graph::Jellyfish, 512, 2, false, [2, 3, 3, 6]),
    row(Graph::Jellyfish, 1024, 2, false, [5, 7, 12, 19]),
    row(Graph::Jellyfish, 2048, 2, false, [9, 16, 0, 0]),
    row(Graph::Jellyfish, 512, 2, true, [2, 3, 4, 5]),
    row(Graph::Jellyfish, 1024, 2, true, [4, 6, 10, 18]),
    row(Graph::Jellyfish, 2048, 2, true, [8, 14, 0, 0]),
    row(Graph::Jellyfish, 512, 4, false, [5, 7, 12, 0]),
    row(Graph::Jellyfish, 1024, 4, false, [13, 23, 39, 0]),
    row(Graph::Jellyfish, 2048, 4, false, [0, 0, 0, 0]),
    row(Graph::Jellyfish, 512, 4, true, [5, 7, 12, 0]),
    row(Graph::Jellyfish, 1024, 4, true, [11, 20, 35, 0]),
    row(Graph::Jellyfish, 2048, 4, true, [23, 0, 0, 0]),
];

/// A cell of those tables, to be measured.
#[derive(Clone, Copy, Debug)]
pub struct PriorityCase {
    row: Row,
    ways: u16,
    paper: u32,
}

/// Lossless priorities that failover needs.
#[derive(Clone, Debug, Serialize)]
pub struct PriorityFigure {
    /// What was planned.
    pub case: String,
    /// Seed of the topology and the ways.
    pub seed: u64,
    /// Failures that the ways survive.
    pub resilience: u8,
    /// Independent routings to every switch.
    pub multipath: u16,
    /// Virtual channels in Stephens15.
    pub paper: u32,
    /// Channels by `df-fi`; `null` if there are too many walks to look at.
    pub df_fi: Option<u32>,
    /// The fewest channels that can do, as far as is known: units of which no two fit into one
    /// channel.
    pub df_fi_at_least: Option<u32>,
    /// Tags that rise, for the same ways.
    pub rising: Option<u32>,
    /// The fewest of any kind that can do, as far as is known: 2 where all ways together close a
    /// cycle.
    pub rising_at_least: Option<u32>,
    /// Why nothing was computed, if so.
    pub refused: Option<String>,
    /// How long all of it took.
    pub seconds: f64,
}

/// Lossless priorities of a switch that keeps one of 8 lossy.
const LOSSLESS_PRIORITIES: u32 = 7;

/// Where the priorities of a switch end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriorityEnd {
    /// The kind of network.
    pub graph: String,
    /// The first case, by failures and size, that needs more channels of `df-fi`; `null` if none of
    /// those measured does.
    pub df_fi: Option<String>,
    /// The same for tags that rise.
    pub rising: Option<String>,
}

/// Where the priorities of a switch end, among figures in the order of [`priority_cases`].
#[must_use]
pub fn priority_ends(figures: &[PriorityFigure]) -> Vec<PriorityEnd> {
    let graph = |figure: &PriorityFigure| {
        let name = figure.case.split(' ').next().unwrap_or_default();
        name.to_owned()
    };
    let mut graphs: Vec<String> = figures.iter().map(graph).collect();
    graphs.sort_unstable();
    graphs.dedup();
    let first = |name: &str, needed: fn(&PriorityFigure) -> Option<u32>| {
        let mut own = figures.iter().filter(|figure| graph(figure) == name);
        own.find_map(|figure| {
            let needed = needed(figure).filter(|&needed| needed > LOSSLESS_PRIORITIES)?;
            Some(format!("{} needs {needed}", figure.case))
        })
    };
    let end = |graph: String| PriorityEnd {
        df_fi: first(&graph, |figure| figure.df_fi),
        rising: first(&graph, |figure| figure.rising),
        graph,
    };
    graphs.into_iter().map(end).collect()
}

/// All cells, smaller networks and fewer failures first.
#[must_use]
pub fn priority_cases() -> Vec<PriorityCase> {
    let cells = ROWS.iter().flat_map(|&row| {
        let paper = [1, 2, 4, 8].into_iter().zip(row.channels);
        let reported = paper.filter(|(_, paper)| *paper > 0);
        reported.map(move |(ways, paper)| PriorityCase { row, ways, paper })
    });
    let mut cells: Vec<PriorityCase> = cells.collect();
    cells.sort_by_key(|cell| (cell.row.resilience, cell.row.hosts, cell.ways));
    cells
}

/// The names of cells that the source leaves open.
#[must_use]
pub fn open_priority_cells() -> Vec<String> {
    let cells = ROWS.iter().flat_map(|&row| {
        let ways = [1, 2, 4, 8].into_iter().zip(row.channels);
        let open = ways.filter(|(_, paper)| *paper == 0);
        open.map(move |(ways, paper)| PriorityCase { row, ways, paper }.name())
    });
    cells.collect()
}

const SEED: u64 = 1;

impl PriorityCase {
    /// Hosts.
    #[must_use]
    pub const fn hosts(&self) -> u32 {
        self.row.hosts
    }

    /// Failures that the ways survive.
    #[must_use]
    pub const fn resilience(&self) -> u8 {
        self.row.resilience
    }

    /// Whether the ways are compression-aware.
    #[must_use]
    pub const fn compression_aware(&self) -> bool {
        self.row.compression_aware
    }

    /// Routings to every switch.
    #[must_use]
    pub const fn ways(&self) -> u16 {
        self.ways
    }

    /// Virtual channels in Stephens15.
    #[must_use]
    pub const fn paper(&self) -> u32 {
        self.paper
    }

    /// The name, such as `egft-b1 1024 t2 e1` or `jellyfish-b1 2048 t1 e2 compression-aware`.
    #[must_use]
    pub fn name(&self) -> String {
        let row = &self.row;
        let graph = match row.graph {
            Graph::Egft(hosts) => format!("egft-b{hosts}"),
            Graph::Jellyfish => "jellyfish-b1".to_owned(),
        };
        let aware = if row.compression_aware {
            " compression-aware"
        } else {
            ""
        };
        format!(
            "{graph} {} t{} e{}{aware}",
            row.hosts, row.resilience, self.ways
        )
    }

    fn topology(&self) -> Result<Topology, MeasureError> {
        let cables = Cables::default();
        let hosts = self.row.hosts;
        Ok(match self.row.graph {
            Graph::Egft(oversubscription) => {
                let size = EgftSize::Hosts {
                    hosts,
                    ports: PORTS,
                    oversubscription: f64::from(oversubscription),
                };
                Egft { size, cables }.generate()
            }
            Graph::Jellyfish => {
                let size = JellyfishSize::Hosts {
                    hosts,
                    oversubscription: 1.0,
                };
                let jellyfish = Jellyfish {
                    size,
                    ports: PORTS,
                    seed: SEED,
                    cables,
                };
                jellyfish.generate()
            }
        }?)
    }
}

/// Plans a cell's ways once, and puts them into channels and under rising tags.
///
/// # Errors
/// [`MeasureError`]; too many walks are none, but a figure without numbers.
pub fn priorities(case: &PriorityCase) -> Result<PriorityFigure, MeasureError> {
    let topology = case.topology()?;
    let options = FailoverOptions {
        resilience: case.row.resilience,
        multipath: Some(case.ways),
        paths: if case.row.compression_aware {
            PathPolicy::Common
        } else {
            PathPolicy::RandomShortest
        },
        stack: Some(32),
        seed: SEED,
        ..FailoverOptions::new(FailoverScheme::DfFi)
    };
    let (found, seconds) = timed(|| {
        let tables = failover(&topology, &options)?;
        let tagger = TaggerOptions::default();
        let count = |method| {
            let tagged = lossless(tables.clone(), method, &tagger)?;
            let made = |name| tagged.provenance.options.get(name)?.parse::<u32>().ok();
            Ok::<_, FailoverError>((made("priorities"), made("priorities-at-least")))
        };
        // The count is what is asked for, also where no tag can hold it.
        let channels = match count(Method::Channels(1)) {
            Err(FailoverError::Channels { needed, .. }) => (u32::try_from(needed).ok(), None),
            counted => counted?,
        };
        Ok((channels, count(Method::Rising)?))
    });
    let (found, refused) = match found {
        Ok(found) => (Some(found), None),
        Err(error @ (FailoverError::Walks { .. } | FailoverError::CyclicUnit { .. })) => {
            (None, Some(error.to_string()))
        }
        Err(error) => return Err(error.into()),
    };
    Ok(PriorityFigure {
        case: case.name(),
        seed: SEED,
        resilience: case.row.resilience,
        multipath: case.ways,
        paper: case.paper,
        df_fi: found.and_then(|(channels, _)| channels.0),
        df_fi_at_least: found.and_then(|(channels, _)| channels.1),
        rising: found.and_then(|(_, rising)| rising.0),
        rising_at_least: found.and_then(|(_, rising)| rising.1),
        refused,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_case_beyond_the_priorities_of_a_switch_is_told() {
        let figure = |case: &str, df_fi, rising| PriorityFigure {
            case: case.to_owned(),
            seed: 1,
            resilience: 1,
            multipath: 1,
            paper: 1,
            df_fi,
            df_fi_at_least: None,
            rising,
            rising_at_least: None,
            refused: None,
            seconds: 0.0,
        };
        let figures = [
            figure("a 512 t1 e1", Some(7), Some(2)),
            figure("b 512 t1 e1", None, Some(9)),
            figure("a 1024 t1 e1", Some(8), Some(7)),
            figure("a 2048 t1 e1", Some(12), Some(7)),
        ];
        let ends = priority_ends(&figures);
        assert_eq!(ends.len(), 2);
        assert_eq!(ends[0].df_fi.as_deref(), Some("a 1024 t1 e1 needs 8"));
        assert_eq!(ends[0].rising, None);
        assert_eq!(ends[1].df_fi, None);
        assert_eq!(ends[1].rising.as_deref(), Some("b 512 t1 e1 needs 9"));
    }

    /// Small cells of each table, never above Stephens15.
    #[test]
    fn no_more_priorities_than_stephens15() {
        for name in [
            "egft-b1 512 t2 e1",
            "jellyfish-b1 512 t0 e1",
            "egft-b1 1024 t1 e1",
        ] {
            let cases = priority_cases();
            let case = cases.iter().find(|case| case.name() == name);
            let figure = priorities(case.expect("a cell")).expect("a figure");
            assert!(
                figure.df_fi.is_some_and(|own| own <= figure.paper),
                "{figure:?}"
            );
            assert!(
                figure.rising.is_some_and(|own| own <= figure.paper),
                "{figure:?}"
            );
        }
    }
}
