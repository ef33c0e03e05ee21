//! All up-down paths as one graph, for work that does not need the routes one by one.

use crate::{ArcId, Fabric};

/// A state of [`UpDownAutomaton`]: a packet has just crossed `arc`, having bounced `bounces` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpDownState {
    /// The arc just crossed.
    pub arc: ArcId,
    /// Bounces so far.
    pub bounces: u8,
}

/// All up-down paths with at most so many bounces, between all switches with hosts, as an
/// automaton.
///
/// Every up-down route is a run. The converse holds for runs that visit no switch twice: the
/// automaton only forbids to turn straight back, so it describes slightly more than the routes,
/// which is on the safe side for a proof.
#[derive(Clone, Debug)]
pub struct UpDownAutomaton<'a> {
    fabric: &'a Fabric,
    most: u8,
    /// Whether a state can be reached from a host and lead to one, by `arc * (most + 1) + bounces`.
    live: Vec<bool>,
}

impl<'a> UpDownAutomaton<'a> {
    /// The up-down paths of a layered fabric with at most `most` bounces.
    #[must_use]
    pub fn new(fabric: &'a Fabric, most: u8) -> Self {
        let classes = usize::from(most) + 1;
        let mut automaton = Self {
            fabric,
            most,
            live: vec![true; fabric.arcs().len() * classes],
        };
        let states: Vec<_> = automaton.states().collect();
        let reached = automaton.closure(
            states.iter().copied().filter(|&s| automaton.is_initial(s)),
            |state| automaton.successors(state).collect(),
        );
        let mut before: Vec<Vec<UpDownState>> = vec![Vec::new(); states.len()];
        for &state in &states {
            for next in automaton.successors(state) {
                before[automaton.index(next)].push(state);
            }
        }
        let leading = automaton.closure(
            states.iter().copied().filter(|&s| automaton.is_final(s)),
            |state| before[automaton.index(state)].clone(),
        );
        let live = reached.iter().zip(leading).map(|(&a, b)| a && b);
        automaton.live = live.collect();
        automaton
    }

    fn index(&self, state: UpDownState) -> usize {
        state.arc.index() * (usize::from(self.most) + 1) + usize::from(state.bounces)
    }

    /// What can be reached from some states.
    fn closure(
        &self,
        from: impl Iterator<Item = UpDownState>,
        next: impl Fn(UpDownState) -> Vec<UpDownState>,
    ) -> Vec<bool> {
        let mut met = vec![false; self.live.len()];
        let mut stack: Vec<_> = from.collect();
        while let Some(state) = stack.pop() {
            if !std::mem::replace(&mut met[self.index(state)], true) {
                stack.extend(next(state));
            }
        }
        met
    }

    /// The states on some path from a host to a host, in order of arcs and bounces.
    pub fn states(&self) -> impl Iterator<Item = UpDownState> + '_ {
        let arcs = (0..).map(ArcId::new).take(self.fabric.arcs().len());
        let states =
            arcs.flat_map(|arc| (0..=self.most).map(move |bounces| UpDownState { arc, bounces }));
        states.filter(|&state| self.live[self.index(state)])
    }

    /// Whether a path may begin here: at a switch with hosts, without a bounce.
    #[must_use]
    pub fn is_initial(&self, state: UpDownState) -> bool {
        let from = self.fabric.arc(state.arc).from;
        state.bounces == 0 && !self.fabric.attachments(from).is_empty()
    }

    /// Whether a path may end here: at a switch with hosts.
    #[must_use]
    pub fn is_final(&self, state: UpDownState) -> bool {
        !self
            .fabric
            .attachments(self.fabric.arc(state.arc).to)
            .is_empty()
    }

    /// The states that may follow, in port order.
    pub fn successors(&self, state: UpDownState) -> impl Iterator<Item = UpDownState> + '_ {
        let last = self.fabric.arc(state.arc);
        let descending = !self.fabric.is_up(state.arc);
        self.fabric
            .out_arcs(last.to)
            .filter_map(move |(arc, next)| {
                let bounces = state.bounces + u8::from(descending && self.fabric.is_up(arc));
                let next_state = UpDownState { arc, bounces };
                let allowed = next.to != last.from && bounces <= self.most;
                (allowed && self.live[self.index(next_state)]).then_some(next_state)
            })
    }
}
