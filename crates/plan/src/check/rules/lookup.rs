//! The tag tables of all switches spelled out, so that every later step of the proof asks in one
//! load.
//!
//! A cell stands for one key (class, tag, ingress port, egress port) of one switch and holds the
//! new tag. Ingress ports that the same rules name share their cells: hosts mostly are treated
//! alike. Painting the rules into the cells in the order of their precedence finds every pair of
//! rules that match the same packet, have the same precedence and disagree.

use quantities::PortId;
use topology::SwitchId;

use crate::check::error::PlanError;
use crate::model::{Tables, TagRule};
use crate::portset::PortSet;
use crate::tag::{ClassId, NewTag, Tag};

/// The cell of a key whose packets turn lossy.
pub(in crate::check) const LOSSY: u8 = u8::MAX;

/// A position in the sorted list of the plan's tags.
pub(in crate::check) type TagIx = u8;

/// How many tags the proof can tell apart (a set of them is a word). No switch has as many
/// priorities.
pub(in crate::check) const MAX_TAGS: usize = 64;

/// Where the tables of one switch are.
struct Block {
    /// The place in [`Lookup::numbers`] of its first kind, first tag and port 0.
    first: usize,
    /// Ports, counting port 0.
    ports: usize,
}

/// The number of a row: what happens to the packets of one switch, kind and tag that come in by any
/// of the ports that the same rules name.
pub(in crate::check) type RowNumber = u32;

/// One row.
struct Row {
    switch: SwitchId,
    /// The first of its cells, of which it has one for each egress port.
    start: usize,
    /// The place in [`Lookup::numbers`] of its lowest ingress port.
    lowest: usize,
}

/// Every table of every switch, spelled out.
pub(in crate::check) struct Lookup {
    /// The plan's tags, in rising order; a [`TagIx`] is a position in here.
    pub(in crate::check) tags: Vec<Tag>,
    /// How many kinds of packet the rules tell apart by class: 1, or the classes and "no class of
    /// this plan".
    pub(in crate::check) kinds: usize,
    blocks: Vec<Block>,
    /// By switch, kind, tag and ingress port: the number of the row.
    numbers: Vec<RowNumber>,
    rows: Vec<Row>,
    cells: Vec<u8>,
}

impl Lookup {
    /// Spells the tables out. The tables have been checked for shape.
    ///
    /// # Errors
    /// One [`PlanError::Conflict`] per switch that has any.
    pub(in crate::check) fn new(tables: &Tables) -> Result<Self, Vec<PlanError>> {
        let tagging = &tables.tagging;
        let by_class = tagging.rules.iter().flatten().any(|r| r.class.is_some());
        let tags: Vec<Tag> = tagging.priorities.keys().copied().collect();
        let mut lookup = Self {
            kinds: if by_class {
                tagging.classes.len() + 1
            } else {
                1
            },
            tags,
            blocks: Vec::new(),
            numbers: Vec::new(),
            rows: Vec::new(),
            cells: Vec::new(),
        };
        let mut errors = Vec::new();
        let mut sorts = Sorts::default();
        let mut painted = Vec::new();
        let topology = &tables.topology;
        for (switch, rules) in topology.switch_ids().zip(&tagging.rules) {
            let ports = usize::from(topology.switch(switch).ports) + 1;
            let mut order: Vec<&TagRule> = rules.iter().collect();
            order.sort_by_key(|rule| rule.precedence);
            let first = lookup.numbers.len();
            lookup.blocks.push(Block { first, ports });
            let begin = lookup.cells.len();
            lookup.sort(switch, &order, &mut sorts);
            painted.clear();
            painted.resize(lookup.cells.len() - begin, 0);
            let canvas = (begin, &mut painted[..]);
            if let Err(conflict) = lookup.paint(tables, switch, &order, canvas) {
                errors.push(*conflict);
            }
        }
        if errors.is_empty() {
            Ok(lookup)
        } else {
            Err(errors)
        }
    }

    /// Makes the rows of one switch, none of which is painted yet.
    fn sort(&mut self, switch: SwitchId, rules: &[&TagRule], sorts: &mut Sorts) {
        let &Block { first, ports } = &self.blocks[switch.index()];
        sorts.begin(self.kinds * self.tags.len(), ports);
        for rule in rules {
            for table in self.tables(rule) {
                sorts.split(table * ports, &rule.in_ports);
            }
        }
        let new = self.rows.len();
        for (place, number) in (first..).zip(sorts.rows(new)) {
            if number as usize == self.rows.len() {
                let start = self.cells.len();
                self.cells.resize(start + ports, LOSSY);
                self.rows.push(Row {
                    switch,
                    start,
                    lowest: place,
                });
            }
            self.numbers.push(number);
        }
    }

    /// Paints the rules of one switch into the cells from `begin` on; `painted` has all bits of
    /// those set that a rule of the same precedence has painted.
    fn paint(
        &mut self,
        tables: &Tables,
        switch: SwitchId,
        rules: &[&TagRule],
        (begin, painted): (usize, &mut [u8]),
    ) -> Result<(), Box<PlanError>> {
        let &Block { first, ports } = &self.blocks[switch.index()];
        let mut precedence = None;
        for rule in rules {
            let value = self.value(rule.new_tag);
            if precedence.replace(rule.precedence) != Some(rule.precedence) {
                painted.fill(0);
            }
            for table in self.tables(rule) {
                for in_port in rule.in_ports.iter() {
                    let place = first + table * ports + usize::from(in_port.get());
                    let row = &self.rows[self.numbers[place] as usize];
                    // Other ports that the same rules name have the same row.
                    if row.lowest != place {
                        continue;
                    }
                    let start = row.start;
                    for (a, b) in rule.out_ports.runs() {
                        let cells = start + usize::from(a.get())..=start + usize::from(b.get());
                        let painted = &mut painted[cells.start() - begin..=cells.end() - begin];
                        let cells = &mut self.cells[cells];
                        let both = cells.iter().zip(&*painted);
                        let clash = both.map(|(cell, painted)| painted & (cell ^ value));
                        // All at once, then which.
                        if clash.clone().fold(0, |any, clash| any | clash) != 0
                            && let Some((out, &first)) = (a.get()..)
                                .zip(&*cells)
                                .zip(clash)
                                .find_map(|(at, clash)| (clash != 0).then_some(at))
                        {
                            return Err(Box::new(PlanError::Conflict {
                                switch: tables.topology.switch(switch).name.clone(),
                                tag: rule.tag,
                                in_port,
                                out_port: PortId::new(out),
                                first: self.new_tag(first),
                                second: rule.new_tag,
                                precedence: rule.precedence,
                            }));
                        }
                        cells.fill(value);
                        painted.fill(u8::MAX);
                    }
                }
            }
        }
        Ok(())
    }

    /// The tables of a switch, each of a kind and a tag, for which a rule counts.
    fn tables(&self, rule: &TagRule) -> impl Iterator<Item = usize> + use<> {
        let kinds = match rule.class {
            Some(class) => class.index()..class.index() + 1,
            None => 0..self.kinds,
        };
        let (tags, tag) = (self.tags.len(), self.index(rule.tag));
        kinds.filter_map(move |kind| Some(kind * tags + usize::from(tag?)))
    }

    /// The position of a tag.
    pub(in crate::check) fn index(&self, tag: Tag) -> Option<TagIx> {
        let at = self.tags.binary_search(&tag).ok()?;
        TagIx::try_from(at).ok()
    }

    fn value(&self, new_tag: NewTag) -> u8 {
        new_tag
            .tag()
            .and_then(|tag| self.index(tag))
            .unwrap_or(LOSSY)
    }

    fn new_tag(&self, value: u8) -> NewTag {
        match self.tags.get(usize::from(value)) {
            Some(tag) => NewTag::Lossless(*tag),
            None => NewTag::Lossy,
        }
    }

    /// The kind of packet that a class is.
    pub(in crate::check) fn kind(&self, class: ClassId) -> usize {
        if self.kinds == 1 { 0 } else { class.index() }
    }

    /// How many rows there are.
    pub(in crate::check) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The number of the row of packets that came in by a port.
    pub(in crate::check) fn number(
        &self,
        switch: SwitchId,
        kind: usize,
        tag: TagIx,
        in_port: PortId,
    ) -> RowNumber {
        let block = &self.blocks[switch.index()];
        let table = kind * self.tags.len() + usize::from(tag);
        self.numbers[block.first + table * block.ports + usize::from(in_port.get())]
    }

    /// The switch of a row, and the new tags of its packets by egress port; [`LOSSY`] where they
    /// turn lossy.
    pub(in crate::check) fn numbered(&self, number: RowNumber) -> (SwitchId, &[u8]) {
        let &Row { switch, start, .. } = &self.rows[number as usize];
        let ports = self.blocks[switch.index()].ports;
        (switch, &self.cells[start..start + ports])
    }

    /// The new tags of a packet that came in by a port, by egress port; [`LOSSY`] where it turns
    /// lossy.
    pub(in crate::check) fn row(
        &self,
        switch: SwitchId,
        kind: usize,
        tag: TagIx,
        in_port: PortId,
    ) -> &[u8] {
        self.numbered(self.number(switch, kind, tag, in_port)).1
    }

    /// The new tag of one packet.
    pub(in crate::check) fn get(
        &self,
        switch: SwitchId,
        kind: usize,
        tag: TagIx,
        in_port: PortId,
        out_port: PortId,
    ) -> Option<TagIx> {
        let value = self.row(switch, kind, tag, in_port)[usize::from(out_port.get())];
        (value != LOSSY).then_some(value)
    }
}

/// The ingress ports of one switch, by which rules name them. Ports of a table that the same rules
/// name are of one sort.
#[derive(Default)]
struct Sorts {
    /// By table and port: the sort.
    of: Vec<u32>,
    /// By sort: what the last rule that named some of its ports has made of those.
    split: Vec<u32>,
}

impl Sorts {
    /// So many tables of so many ports, which no rule names yet.
    fn begin(&mut self, tables: usize, ports: usize) {
        self.of.clear();
        for table in (0..).take(tables) {
            self.of.extend(std::iter::repeat_n(table, ports));
        }
        self.split.clear();
        self.split.resize(tables, 0);
    }

    /// A rule names some ports of the table that begins here.
    fn split(&mut self, table: usize, ports: &PortSet) {
        let before = self.split.len();
        for port in ports.iter() {
            let sort = &mut self.of[table + usize::from(port.get())];
            let known = self.split[*sort as usize];
            *sort = if known as usize >= before {
                known
            } else {
                let new = u32::try_from(self.split.len()).unwrap_or(u32::MAX);
                self.split[*sort as usize] = new;
                self.split.push(0);
                new
            };
        }
    }

    /// By table and port: the number of the row, where rows are numbered from `first` on in the
    /// order of their lowest ports.
    fn rows(&mut self, first: usize) -> impl Iterator<Item = RowNumber> + '_ {
        let Self { of, split } = self;
        split.fill(RowNumber::MAX);
        let mut next = u32::try_from(first).unwrap_or(RowNumber::MAX);
        of.iter().map(move |sort| {
            let row = &mut split[*sort as usize];
            if *row == RowNumber::MAX {
                *row = next;
                next += 1;
            }
            *row
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use quantities::Priority;
    use topology::generate::{Cables, Line};
    use topology::routes::RoutePolicy;

    use super::*;
    use crate::budget::Budget;
    use crate::carrier::{Carrier, CarrierKind};
    use crate::model::{Class, Provenance, RuleForm, Tagging};

    /// Ports of a switch: two hosts and a neighbour.
    const PORTS: u16 = 3;
    const TAGS: u8 = 3;
    const CLASSES: u8 = 2;

    fn tables(rules: Vec<TagRule>) -> Tables {
        let line = Line {
            switches: 2,
            hosts: PORTS - 1,
            cables: Cables::default(),
        };
        let class = |number: u8| Class {
            name: format!("class{number}"),
            initial: Tag::new(0),
            limit: None,
        };
        let tags = (0..TAGS).map(Tag::new);
        Tables {
            provenance: Provenance::ours("hand", ""),
            topology: line.generate().expect("a line"),
            tagging: Tagging {
                classes: (0..CLASSES).map(class).collect(),
                class_bits: true,
                priorities: tags
                    .clone()
                    .map(|tag| (tag, Priority::new(1 + tag.get())))
                    .collect::<BTreeMap<_, _>>(),
                form: RuleForm::PortSets,
                // The second switch has none.
                rules: vec![rules, vec![]],
            },
            carrier: Carrier::numbered(CarrierKind::Dscp, tags, false),
            promises: vec![],
            forwarding: RoutePolicy::Shortest,
            failover: None,
            budget: Budget::default(),
        }
    }

    fn rule() -> impl Strategy<Value = TagRule> {
        let ports = || {
            prop::collection::btree_set(1..=PORTS, 0..=usize::from(PORTS))
                .prop_map(|ports| ports.into_iter().map(PortId::new).collect::<PortSet>())
        };
        let class = prop::option::weighted(0.3, 0..CLASSES);
        let new = prop::option::of(0..TAGS);
        let all = (0..3u8, class, 0..TAGS, ports(), ports(), new);
        all.prop_map(
            |(precedence, class, tag, in_ports, out_ports, new)| TagRule {
                precedence,
                class: class.map(ClassId::new),
                tag: Tag::new(tag),
                in_ports,
                out_ports,
                new_tag: new.map_or(NewTag::Lossy, |tag| NewTag::Lossless(Tag::new(tag))),
            },
        )
    }

    /// The rules that match a packet.
    fn matching(
        rules: &[TagRule],
        (kind, tag): (usize, u8),
        (in_port, out_port): (PortId, PortId),
    ) -> Vec<&TagRule> {
        let matches = |rule: &&TagRule| {
            rule.class.is_none_or(|class| class.index() == kind)
                && rule.tag == Tag::new(tag)
                && rule.in_ports.contains(in_port)
                && rule.out_ports.contains(out_port)
        };
        rules.iter().filter(matches).collect()
    }

    proptest! {
        #[test]
        fn rows_say_what_the_rules_say(rules in prop::collection::vec(rule(), 0..8)) {
            let tables = tables(rules.clone());
            let lookup = Lookup::new(&tables);
            let by_class = rules.iter().any(|rule| rule.class.is_some());
            let kinds = if by_class { usize::from(CLASSES) + 1 } else { 1 };
            let mut clash = false;
            for kind in 0..kinds {
                for tag in 0..TAGS {
                    for key in (0..=PORTS).flat_map(|a| (0..=PORTS).map(move |b| (a, b))) {
                        let key = (PortId::new(key.0), PortId::new(key.1));
                        let found = matching(&rules, (kind, tag), key);
                        let disagree = |a: &TagRule, b: &TagRule| a.precedence == b.precedence && a.new_tag != b.new_tag;
                        clash |= found.iter().any(|a| found.iter().any(|b| disagree(a, b)));
                        let Ok(lookup) = &lookup else { continue };
                        let first = found.iter().max_by_key(|rule| rule.precedence);
                        let expected = first.and_then(|rule| rule.new_tag.tag()).map(Tag::get);
                        prop_assert_eq!(lookup.get(SwitchId::new(0), kind, tag, key.0, key.1), expected);
                        prop_assert_eq!(lookup.get(SwitchId::new(1), kind, tag, key.0, key.1), None);
                    }
                }
            }
            prop_assert_eq!(lookup.is_err(), clash);
            if let Err(errors) = lookup {
                let [PlanError::Conflict { tag, in_port, out_port, first, second, precedence, .. }] = &errors[..] else {
                    return Err(TestCaseError::fail(format!("{errors:?}")));
                };
                let both = |kind| {
                    let found = matching(&rules, (kind, tag.get()), (*in_port, *out_port));
                    let has = |new: &NewTag| found.iter().any(|rule| rule.precedence == *precedence && rule.new_tag == *new);
                    has(first) && has(second)
                };
                prop_assert!(first != second && (0..kinds).any(both));
            }
        }

        #[test]
        fn ports_share_a_row_where_the_same_rules_name_them(rules in prop::collection::vec(rule(), 0..6)) {
            let tables = tables(rules.clone());
            let Ok(lookup) = Lookup::new(&tables) else { return Ok(()) };
            let naming = |kind: usize, tag: u8, port: PortId| -> Vec<usize> {
                let names = |rule: &TagRule| {
                    rule.class.is_none_or(|class| class.index() == kind) && rule.tag == Tag::new(tag) && rule.in_ports.contains(port)
                };
                (0..rules.len()).filter(|at| names(&rules[*at])).collect()
            };
            let ports = || (0..=PORTS).map(PortId::new);
            let switch = SwitchId::new(0);
            for (kind, tag) in (0..lookup.kinds).flat_map(|kind| (0..TAGS).map(move |tag| (kind, tag))) {
                for (a, b) in ports().flat_map(|a| ports().map(move |b| (a, b))) {
                    let same = lookup.number(switch, kind, tag, a) == lookup.number(switch, kind, tag, b);
                    prop_assert_eq!(same, naming(kind, tag, a) == naming(kind, tag, b));
                }
            }
            let all = (0..).take(lookup.row_count()).map(|row| lookup.numbered(row));
            let widths = all.filter(|(owner, _)| *owner == switch).map(|(_, cells)| cells.len());
            prop_assert!(widths.into_iter().all(|width| width == lookup.blocks[0].ports));
        }
    }
}
