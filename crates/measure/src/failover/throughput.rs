//! Max-min fair throughput of flows by progressive filling, links of hosts included (Stephens15
//! section 4.7; algorithm 2 of DevoFlow11).

use std::collections::BTreeSet;

use plan::check::resilience::FlowOutcome;

use super::traffic::Bundle;

/// The sum of all flows' rates over the hosts times line rate. All links have the same rate. A lost
/// flow gets nothing.
pub(super) fn max_min(outcomes: &[FlowOutcome], bundle: &Bundle) -> f64 {
    // Links: two directions of every link between switches, then hosts sending, then hosts
    // receiving.
    let crossed = outcomes
        .iter()
        .flat_map(|outcome| outcome.way.iter().flatten());
    let fabric = 2 * (crossed.map(|(link, _)| link.index() + 1).max().unwrap_or(0));
    let mut filling = Filling::new(fabric + 2 * bundle.hosts, outcomes.len());
    for (at, (outcome, &(from, to))) in outcomes.iter().zip(&bundle.ends).enumerate() {
        let Some(way) = &outcome.way else { continue };
        let crossed = way
            .iter()
            .map(|&(link, first)| 2 * link.index() + usize::from(first));
        let ends = [fabric + from, fabric + bundle.hosts + to];
        filling.add(at, crossed.chain(ends).collect());
    }
    filling.fill() / bundle.hosts.max(1) as f64
}

/// Links of rate 1 and the flows over them.
struct Filling {
    left: Vec<f64>,
    /// The flows over each link.
    users: Vec<Vec<usize>>,
    /// How many of them still wait for their rate.
    waiting: Vec<usize>,
    paths: Vec<Vec<usize>>,
    rate: Vec<Option<f64>>,
}

impl Filling {
    fn new(links: usize, flows: usize) -> Self {
        Self {
            left: vec![1.0; links],
            users: vec![Vec::new(); links],
            waiting: vec![0; links],
            paths: vec![Vec::new(); flows],
            rate: vec![None; flows],
        }
    }

    fn add(&mut self, flow: usize, path: Vec<usize>) {
        for &link in &path {
            self.users[link].push(flow);
            self.waiting[link] += 1;
        }
        self.paths[flow] = path;
    }

    /// What each waiting flow of a link would get, in parts of 1e12 so that links can be sorted by
    /// it.
    fn share(&self, link: usize) -> u64 {
        (self.left[link].max(0.0) / self.waiting[link].max(1) as f64 * 1e12) as u64
    }

    /// Gives every flow the fair share of its tightest link, tightest links first; the sum of all
    /// rates.
    fn fill(mut self) -> f64 {
        let used = (0..self.left.len()).filter(|&link| self.waiting[link] > 0);
        let mut tightest: BTreeSet<(u64, usize)> =
            used.map(|link| (self.share(link), link)).collect();
        while let Some((_, link)) = tightest.pop_first() {
            let fair = self.left[link].max(0.0) / self.waiting[link] as f64;
            for flow in std::mem::take(&mut self.users[link]) {
                if self.rate[flow].is_some() {
                    continue;
                }
                self.rate[flow] = Some(fair);
                for &other in &self.paths[flow] {
                    tightest.remove(&(self.share(other), other));
                    self.left[other] -= fair;
                    self.waiting[other] -= 1;
                    if self.waiting[other] > 0 && other != link {
                        tightest.insert((self.share(other), other));
                    }
                }
            }
        }
        self.rate.iter().flatten().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::LinkId;

    #[test]
    fn flows_share_what_is_scarce() {
        let outcome = |way: &[u32]| FlowOutcome {
            met_failure: false,
            way: Some(way.iter().map(|&l| (LinkId::new(l), true)).collect()),
            fewest: Some(1),
        };
        // Two hosts with two flows each: three flows share link 0, the fourth has its host's other
        // half.
        let bundle = Bundle {
            hosts: 4,
            flows: vec![],
            ends: vec![(0, 0), (0, 1), (1, 2), (1, 3)],
        };
        let outcomes = [outcome(&[0]), outcome(&[0]), outcome(&[0]), outcome(&[1])];
        let sum = max_min(&outcomes, &bundle) * 4.0;
        assert!((sum - (1.0 + 2.0 / 3.0)).abs() < 1e-9, "{sum}");
        let lost = FlowOutcome {
            way: None,
            ..outcome(&[])
        };
        assert_eq!(max_min(&vec![lost; 4], &bundle), 0.0);
    }
}
