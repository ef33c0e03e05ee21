//! What packets of DF-EDST carry: the number of their channel, as a mark where there are several
//! and as their lossless tag.

use plan::failover::{Action, Origin, SwitchTable};
use plan::{Tables, Tag};
use topology::{ArcId, Fabric, SwitchId};

use super::super::FailoverError;
use super::super::channels::among_hosts;
use super::Channels;
use crate::cells::Squares;
use crate::{FIRST_TAG, Tagged, TaggerOptions};

impl Channels {
    /// What the header of packets says that are on a tree: where trees are marked the tree, else
    /// the channel if there are several.
    pub(super) fn mark(&self, channel: usize, place: usize) -> Option<u8> {
        let number = match (self.options.mark_trees, self.channels.len()) {
            (true, _) => channel * self.trees() + place,
            (false, 1) if !self.options.default_tree => return None,
            (false, _) => channel,
        };
        u8::try_from(number + 1).ok()
    }

    /// What the header of packets says that are on a minimal way: one more than all trees and
    /// channels.
    pub(super) fn minimal_mark(&self) -> Option<u8> {
        let last = self.mark(self.channels.len() - 1, self.trees() - 1);
        last.filter(|_| self.options.default_tree)
            .and_then(|last| last.checked_add(1))
    }

    /// The number of the first channel of trees: minimal ways have the one before.
    fn first(&self) -> u8 {
        u8::from(self.options.default_tree)
    }

    /// The channel of packets that a rule for packets from hosts has marked so.
    fn channel_of(&self, mark: Option<u8>) -> u8 {
        if mark.is_some() && mark == self.minimal_mark() {
            return 0;
        }
        let trees = if self.options.mark_trees {
            self.trees().max(1)
        } else {
            1
        };
        let number = mark.map_or(0, |mark| usize::from(mark).saturating_sub(1) / trees);
        u8::try_from(number)
            .unwrap_or(u8::MAX)
            .saturating_add(self.first())
    }

    /// The tag rules: a channel's packets keep its tag on every tree, and from a tree to what can
    /// be reached from it.
    fn tags(
        &self,
        fabric: &Fabric,
        destinations: &[(u32, SwitchId)],
        options: &TaggerOptions,
    ) -> Result<Tagged, FailoverError> {
        let squares = Squares::new(fabric);
        let mut levels = Vec::new();
        if self.options.default_tree {
            levels.push(self.minimal_cells(fabric, &squares, destinations)?);
        }
        levels.extend(vec![squares.empty(); self.channels.len()]);
        among_hosts(fabric, &squares, &mut levels[0]);
        let of_trees = levels.iter_mut().skip(usize::from(self.first()));
        for (number, (channel, cells)) in (self.first()..).zip(self.channels.iter().zip(of_trees)) {
            for arc in (0u32..).map(ArcId::new).take(fabric.arcs().len()) {
                let Some(place) = channel.owner[arc.index()].map(usize::from) else {
                    continue;
                };
                let end = fabric.arc(arc).to;
                if !fabric.attachments(end).is_empty() {
                    cells.set(squares.to_hosts(arc), number);
                }
                for (at, out) in fabric.out(end).enumerate() {
                    let next = channel.owner[out.index()].map(usize::from);
                    let stays = next == Some(place) && out != fabric.reverse(arc);
                    let changes =
                        next.is_some_and(|next| channel.graph.reach(place) >> next & 1 == 1);
                    if stays || changes {
                        cells.set(squares.through(arc, at), number);
                    }
                }
            }
        }
        Ok(crate::tables(fabric, options, &levels)?)
    }

    /// Makes the rules for packets from hosts give channels; the tag rules.
    pub(in super::super) fn lossless(
        &self,
        tables: &mut Tables,
        options: &TaggerOptions,
    ) -> Result<Tagged, FailoverError> {
        let fabric = Fabric::new(&tables.topology);
        let destinations: Vec<(u32, SwitchId)> = tables
            .failover
            .iter()
            .flat_map(|failover| &failover.destinations)
            .map(|to| (to.code, to.homes(&tables.topology)[0]))
            .collect();
        for table in tables
            .failover
            .iter_mut()
            .flat_map(|failover| &mut failover.tables)
        {
            let mut given = SwitchTable::default();
            for rule in table.iter() {
                let mut rule = rule.to_rule();
                if let (Origin::Host, Action::Forward { write, .. }) =
                    (rule.origin, &mut rule.action)
                {
                    write.channel = Some(Tag::new(FIRST_TAG.get() + self.channel_of(write.tree)));
                }
                given.push(rule);
            }
            given.shrink();
            *table = given;
        }
        self.tags(&fabric, &destinations, options)
    }
}
