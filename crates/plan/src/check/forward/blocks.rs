//! Where packets to many destinations go, all of a block at once: which links each switch sends to
//! which of them over.
//!
//! A switch that sends packets to a destination over links that lead nearer to it, and over no
//! others, brings them nearer; where all switches do, every packet arrives and none circulates.
//! That is seen at once for a whole block. It is only enough, not needed: where a switch does
//! otherwise, packets have to be followed.

use topology::{Fabric, SwitchId};

use super::flat::{Action, Groups};
use crate::check::destinations::{Nearer, Set, WORD, add, and, insert, without};

/// What switches do with packets to the hosts of a block of columns.
pub(super) struct Block {
    /// By switch: columns to which there is a way.
    pub(super) joined: Vec<Set>,
    /// By switch: columns whose hosts are its own.
    pub(super) own: Vec<Set>,
    /// By arc: columns whose packets are sent over it.
    pub(super) over: Vec<Set>,
    /// By switch: columns of others whose packets it sends by a port that leads to no other switch,
    /// or nowhere.
    pub(super) astray: Vec<Set>,
    /// Columns to which some switch that has a way does not send nearer, or sends by a port that
    /// leads to no switch.
    pub(super) doubtful: Set,
}

impl Block {
    /// The block of the columns at these switches; `actions` is what a switch, by its index, does
    /// with each of them. Nothing where the network is so wide that columns are better followed one
    /// by one.
    pub(super) fn new<'t>(
        fabric: &Fabric,
        edges: &[SwitchId],
        groups: &[Groups],
        actions: impl Fn(usize) -> &'t [Action],
    ) -> Option<Self> {
        let nearer = Nearer::new(fabric, edges);
        if nearer.wide {
            return None;
        }
        let mut block = Self {
            own: vec![Set::default(); fabric.switch_count()],
            over: vec![Set::default(); fabric.arcs().len()],
            astray: vec![Set::default(); fabric.switch_count()],
            joined: nearer.joined,
            doubtful: Set::default(),
        };
        for (column, edge) in edges.iter().enumerate() {
            insert(&mut block.own[edge.index()], column);
        }
        for (switch, groups) in fabric.switch_ids().zip(groups) {
            block.send(fabric, switch, groups, actions(switch.index()));
            block.doubt(fabric, switch, &nearer.toward);
        }
        Some(block)
    }

    /// Notes over which arcs a switch sends.
    fn send(&mut self, fabric: &Fabric, switch: SwitchId, groups: &Groups, actions: &[Action]) {
        let last = fabric.out_arcs(switch).map(|(_, arc)| arc.out_port).max();
        let ports = last.map_or(0, |port| 1 + usize::from(port.get()));
        // By port, whatever it leads to.
        let mut by_port = vec![Set::default(); ports];
        let mut astray = Set::default();
        for (word, actions) in actions.chunks(WORD).enumerate() {
            let mut first = 0;
            // Columns that lie beside each other are often treated alike.
            for alike in actions.chunk_by(|a, b| a == b) {
                let bits = u64::MAX >> (WORD - alike.len()) << first;
                first += alike.len();
                let ports = groups.ports(alike[0]);
                if ports.is_empty() {
                    astray[word] |= bits;
                }
                for port in ports {
                    let set = by_port.get_mut(usize::from(port.get()));
                    set.unwrap_or(&mut astray)[word] |= bits;
                }
            }
        }
        let own = &self.own[switch.index()];
        for (id, arc) in fabric.out_arcs(switch) {
            let over = std::mem::take(&mut by_port[usize::from(arc.out_port.get())]);
            self.over[id.index()] = without(&over, own);
        }
        // What is left leads to no other switch over a live link.
        by_port.iter().for_each(|over| add(&mut astray, over));
        self.astray[switch.index()] = without(&astray, own);
    }

    /// Adds the columns that a switch does not send nearer.
    fn doubt(&mut self, fabric: &Fabric, switch: SwitchId, toward: &[Set]) {
        let mut astray = self.astray[switch.index()];
        for id in fabric.out(switch) {
            let farther = without(&self.over[id.index()], &toward[id.index()]);
            add(&mut astray, &farther);
        }
        let joined = &self.joined[switch.index()];
        add(&mut self.doubtful, &and(&astray, joined));
    }
}
