//! How many random graphs have a cycle of buffers under shortest paths with one tag, as FC23's
//! Figure 3 counts them.

use quantities::Progress;
use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use report::{Axis, Plot, Stroke};
use serde::Serialize;
use topology::generate::{Cables, GenerateError, Jellyfish, JellyfishSize, Xpander};
use topology::{ArcId, Fabric, SwitchId, Topology};

/// Ports of a switch that lead to switches (FC23 section 2.2.1.1).
const FABRIC_PORTS: u16 = 5;
/// The most switches of a graph.
const MOST_SWITCHES: usize = 60;

/// A family of random regular graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpanderKind {
    /// Jellyfish (Jellyfish12).
    Jellyfish,
    /// Xpander (Xpander16).
    Xpander,
}

impl ExpanderKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Jellyfish, Self::Xpander];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jellyfish => "Jellyfish",
            Self::Xpander => "Xpander",
        }
    }

    /// The numbers of switches that are tried: an Xpander has a multiple of one more than fabric
    /// ports.
    fn sizes(self) -> impl Iterator<Item = u32> {
        let groups = u32::from(FABRIC_PORTS) + 1;
        let step = match self {
            Self::Jellyfish => 2,
            Self::Xpander => groups as usize,
        };
        (groups..)
            .step_by(step)
            .take_while(|&n| n as usize <= MOST_SWITCHES)
    }

    fn generate(self, switches: u32, seed: u64) -> Result<Topology, GenerateError> {
        let (ports, fabric_ports, cables) = (FABRIC_PORTS + 1, FABRIC_PORTS, Cables::default());
        match self {
            Self::Jellyfish => Jellyfish {
                size: JellyfishSize::Switches {
                    switches,
                    fabric_ports,
                },
                ports,
                seed,
                cables,
            }
            .generate(),
            Self::Xpander => Xpander {
                switches,
                ports,
                fabric_ports,
                seed,
                cables,
            }
            .generate(),
        }
    }
}

/// Which switches send to which.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// The share of the other switches, drawn at random, to which every switch sends; 1 for all to
    /// all.
    pub share: f64,
}

/// All to all, then less (FC23's Uniform Random-p; the text does not say which p).
pub const TRAFFIC: [Traffic; 4] = [
    Traffic { share: 1.0 },
    Traffic { share: 0.5 },
    Traffic { share: 0.2 },
    Traffic { share: 0.1 },
];

impl Traffic {
    /// What to call it.
    #[must_use]
    pub fn name(self) -> String {
        if self.share < 1.0 {
            format!("to {:.0} %", self.share * 100.0)
        } else {
            "all to all".to_owned()
        }
    }

    /// By source: whether it sends to each switch.
    fn matrix(self, switches: usize, random: &mut ChaCha8Rng) -> Vec<Vec<bool>> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of at most 60 switches"
        )]
        let each = ((switches - 1) as f64 * self.share).round().max(1.0) as usize;
        let row = |from| {
            let mut row = vec![false; switches];
            for other in sample(random, switches - 1, each) {
                row[other + usize::from(other >= from)] = true;
            }
            row
        };
        (0..switches).map(row).collect()
    }
}

/// Graphs of one family and size.
#[derive(Clone, Debug, Serialize)]
pub struct CyclicFigure {
    /// The family.
    pub kind: ExpanderKind,
    /// Number of switches.
    pub switches: u32,
    /// Graphs that were drawn.
    pub graphs: u32,
    /// The share of them with a cycle, for each [`Traffic`] in turn.
    pub cyclic: Vec<f64>,
}

/// Draws `graphs` graphs of every family and size and tells how many have a cycle.
///
/// # Errors
/// [`GenerateError`] if a graph cannot be made.
pub fn measure_cyclic(
    graphs: u32,
    seed: u64,
    progress: &Progress,
) -> Result<Vec<CyclicFigure>, GenerateError> {
    let kinds = ExpanderKind::ALL.into_iter();
    let cases: Vec<(ExpanderKind, u32)> = kinds
        .flat_map(|kind| kind.sizes().map(move |size| (kind, size)))
        .collect();
    progress.begin(cases.len() as u64);
    let of_case = |&(kind, switches): &(ExpanderKind, u32)| {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ u64::from(switches));
        let mut counts = [0u32; TRAFFIC.len()];
        for _ in 0..graphs {
            let topology = kind.generate(switches, random.random())?;
            let fabric = Fabric::new(&topology);
            for (count, traffic) in counts.iter_mut().zip(TRAFFIC) {
                let sends = traffic.matrix(fabric.switch_count(), &mut random);
                *count += u32::from(has_cycle(&fabric, &sends));
            }
        }
        progress.advance(1);
        let share = |count| f64::from(count) / f64::from(graphs.max(1));
        Ok(CyclicFigure {
            kind,
            switches,
            graphs,
            cyclic: counts.map(share).to_vec(),
        })
    };
    cases.par_iter().map(of_case).collect()
}

/// Whether links wait for each other in a circle, where switches send along all shortest paths.
fn has_cycle(fabric: &Fabric, sends: &[Vec<bool>]) -> bool {
    let mut next = vec![Vec::new(); fabric.arcs().len()];
    for to in fabric.switch_ids() {
        let senders = sends.iter().map(|row| row[to.index()]).collect();
        depend(fabric, to, senders, &mut next);
    }
    let mut waiting = vec![0usize; next.len()];
    for &arc in next.iter().flatten() {
        let arc: ArcId = arc;
        waiting[arc.index()] += 1;
    }
    let mut free: Vec<usize> = (0..next.len()).filter(|&arc| waiting[arc] == 0).collect();
    let mut done = 0;
    while let Some(arc) = free.pop() {
        done += 1;
        for next in &next[arc] {
            waiting[next.index()] -= 1;
            if waiting[next.index()] == 0 {
                free.push(next.index());
            }
        }
    }
    done < next.len()
}

/// Adds what follows every link on the shortest paths to a switch.
fn depend(fabric: &Fabric, to: SwitchId, senders: Vec<bool>, next: &mut [Vec<ArcId>]) {
    let hops = fabric.distances(to);
    let nearer = |at: SwitchId| {
        let out = fabric.out_arcs(at);
        out.filter(|(_, arc)| hops[arc.to.index()] < hops[arc.from.index()])
    };
    let mut met = senders;
    let mut ahead: Vec<SwitchId> = fabric.switch_ids().filter(|s| met[s.index()]).collect();
    while let Some(at) = ahead.pop() {
        for (id, arc) in nearer(at) {
            for (after, _) in nearer(arc.to) {
                if !next[id.index()].contains(&after) {
                    next[id.index()].push(after);
                }
            }
            if !std::mem::replace(&mut met[arc.to.index()], true) {
                ahead.push(arc.to);
            }
        }
    }
}

/// The shares against the number of switches: Jellyfish as lines, Xpander dashed.
#[must_use]
pub fn plot_cyclic(figures: &[CyclicFigure]) -> Plot {
    let mut plot = Plot::new(
        "Graphs with a cyclic buffer dependency, shortest paths, 5 links a switch",
        Axis::linear("switches"),
        Axis::linear("share of graphs"),
    );
    for (kind, stroke) in ExpanderKind::ALL
        .into_iter()
        .zip([Stroke::Solid, Stroke::Dashed])
    {
        for (at, traffic) in TRAFFIC.into_iter().enumerate() {
            let of_kind = figures.iter().filter(|figure| figure.kind == kind);
            let points = of_kind.map(|figure| (f64::from(figure.switches), figure.cyclic[at]));
            let name = format!("{}, {}", kind.name(), traffic.name());
            plot.add(&name, stroke, at, points.collect());
        }
    }
    plot
}

#[cfg(test)]
mod tests {
    use plan::check::{Options, check};
    use schemes::{TaggerOptions, one_tag};
    use topology::routes::RoutePolicy;

    use super::*;

    /// All to all, the proof of the plan of one tag sees a cycle exactly where this does.
    #[test]
    fn the_proof_agrees() {
        let mut seen = [false; 2];
        for kind in ExpanderKind::ALL {
            for switches in [6, 12, 18, 24] {
                for seed in 0..8 {
                    let topology = kind.generate(switches, seed).unwrap();
                    let fabric = Fabric::new(&topology);
                    let mut random = ChaCha8Rng::seed_from_u64(seed);
                    let sends = TRAFFIC[0].matrix(fabric.switch_count(), &mut random);
                    let options = TaggerOptions::default();
                    let routes = RoutePolicy::Shortest;
                    let tables = one_tag(&topology, "ecmp", &routes, &options).unwrap();
                    let cyclic = has_cycle(&fabric, &sends);
                    let refused = check(tables, &Options::default()).is_err();
                    assert_eq!(
                        cyclic, refused,
                        "{kind:?}, {switches} switches, seed {seed}"
                    );
                    seen[usize::from(cyclic)] = true;
                }
            }
        }
        assert_eq!(seen, [true, true]);
    }

    #[test]
    fn less_traffic_closes_fewer_cycles_and_size_closes_all() {
        let figures = measure_cyclic(10, 1, &Progress::default()).unwrap();
        for figure in &figures {
            assert!(
                figure
                    .cyclic
                    .windows(2)
                    .all(|pair| pair[1] <= pair[0] + 0.3),
                "{figure:?}"
            );
            if figure.switches >= 40 {
                assert!(figure.cyclic[0] > 0.99, "{figure:?}");
            }
        }
    }
}
