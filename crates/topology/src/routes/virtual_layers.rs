//! Ways up and down through the virtual layers of a Flattened Clos (FC23 section 3.1).
//!
//! Arcs have ranks ([`Fabric::rank`]). A way along which ranks rise goes up, then down; where a
//! rank does not rise the way bounces. So all that counts of a packet at a switch is the rank of
//! the arc by which it has come.

use crate::{ArcId, Fabric, SwitchId};

/// The rank that none reaches: any arc may come before.
const ANY: u16 = u16::MAX;

/// From where some switches can be reached with how many bounces.
#[derive(Clone, Debug)]
pub struct VirtualReach {
    /// By bounces and switch: with this rank or a lower one less than so much a packet may arrive.
    below: Vec<Vec<u16>>,
}

impl VirtualReach {
    /// The ways to the nearest of some switches with at most so many bounces.
    #[must_use]
    pub fn new(fabric: &Fabric, targets: &[bool], bounces: u8) -> Self {
        let mut arcs: Vec<(u16, ArcId)> = (0..fabric.arcs().len())
            .filter_map(|at| u32::try_from(at).ok().map(ArcId::new))
            .filter_map(|arc| Some((fabric.rank(arc)?, arc)))
            .collect();
        arcs.sort_unstable();
        let mut below: Vec<Vec<u16>> = Vec::new();
        for _ in 0..=bounces {
            let mut round: Vec<u16> = targets
                .iter()
                .map(|target| if *target { ANY } else { 0 })
                .collect();
            let ends = |arc: ArcId| (fabric.arc(arc).from.index(), fabric.arc(arc).to.index());
            if let Some(fewer) = below.last() {
                for &(rank, arc) in &arcs {
                    let (from, to) = ends(arc);
                    if fewer[to] > rank {
                        round[from] = ANY;
                    }
                }
            }
            for &(rank, arc) in arcs.iter().rev() {
                let (from, to) = ends(arc);
                if round[to] > rank {
                    round[from] = round[from].max(rank);
                }
            }
            below.push(round);
        }
        Self { below }
    }

    /// Whether a packet that has come to a switch by an arc of this rank can go on to a target with
    /// at most so many bounces.
    #[must_use]
    pub fn leads(&self, rank: u16, to: SwitchId, bounces: u8) -> bool {
        let round = self.below.get(usize::from(bounces));
        round.is_some_and(|below| below[to.index()] > rank)
    }
}

/// Whether a packet bounces that has come by an arc of this rank, none from a host, and goes on by
/// the other.
#[must_use]
pub(super) fn bounces(come: Option<u16>, next: u16) -> bool {
    come.is_some_and(|come| next <= come)
}
