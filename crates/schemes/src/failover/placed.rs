//! The rules of one destination, before they go to the tables of their switches.

use plan::failover::{Rule, RuleRef, SwitchTable};
use topology::SwitchId;

use super::{FailoverError, FailoverOptions};

/// Rules, each with the switch that it is for. What equal rules of several switches ask and do is
/// held once.
#[derive(Debug, Default)]
pub(super) struct Placed {
    rules: SwitchTable,
    switches: Vec<SwitchId>,
    /// The most hops of a way whose ports stand in headers.
    longest: usize,
}

impl Placed {
    /// The same rules with the number of hops of their longest route.
    ///
    /// # Errors
    /// [`FailoverError::Stack`] if a header has no room for it.
    pub(super) fn with_longest(
        mut self,
        longest: usize,
        options: &FailoverOptions,
    ) -> Result<Self, FailoverError> {
        self.longest = longest;
        if longest <= options.most_hops() {
            return Ok(self);
        }
        Err(FailoverError::Stack {
            resilience: options.resilience,
            needed: longest,
            stack: options.most_hops(),
        })
    }

    /// Appends a rule for a switch.
    pub(super) fn push(&mut self, switch: SwitchId, rule: Rule) {
        self.switches.push(switch);
        self.rules.push(rule);
    }

    /// The same rules switch by switch.
    pub(super) fn by_switch(self) -> BySwitch {
        let mut order: Vec<(SwitchId, u32)> = self.switches.into_iter().zip(0..).collect();
        order.sort_unstable();
        BySwitch {
            rules: self.rules,
            order,
            longest: self.longest,
        }
    }
}

/// Rules in the order of their switches.
#[derive(Debug)]
pub(super) struct BySwitch {
    rules: SwitchTable,
    order: Vec<(SwitchId, u32)>,
    /// The most hops of a way whose ports stand in headers.
    pub(super) longest: usize,
}

impl BySwitch {
    /// The rules of one switch.
    pub(super) fn of(&self, switch: SwitchId) -> impl Iterator<Item = RuleRef<'_>> {
        let start = self.order.partition_point(|&(other, _)| other < switch);
        let own = self.order[start..].iter();
        own.take_while(move |&&(other, _)| other == switch)
            .filter_map(|&(_, at)| self.rules.get(at as usize))
    }
}
