//! Tag tables under construction: per level and switch a square of cells, one per (ingress, egress).
//!
//! Hosts on one switch are equivalent, so a switch with `d` fabric ports has a square of `d + 1`: row and
//! column 0 stand for all its host ports, the others for its fabric ports in port order.

use rayon::prelude::*;
use units::PortId;

use crate::plan::{NewTag, PortSet, RuleForm, Tag, TagRule};
use crate::topology::{ArcId, Fabric, SwitchId};

/// A cell: 0 if no route uses it, else 1 + the new level.
type Cell = u8;

/// The highest level that a cell can hold.
pub(super) const LAST_LEVEL: u8 = Cell::MAX - 1;

/// Where the cells of each switch lie.
pub(super) struct Squares<'a> {
    pub(super) fabric: &'a Fabric,
    first: Vec<usize>,
    /// By arc: its row at the switch where it ends, as a position of that row's first cell.
    row: Vec<usize>,
}

/// The cells of one level, all switches.
#[derive(Clone)]
pub(super) struct Cells(Vec<Cell>);

impl<'a> Squares<'a> {
    pub(super) fn new(fabric: &'a Fabric) -> Self {
        let mut first = vec![0];
        let mut end = 0;
        for switch in fabric.switch_ids() {
            let side = fabric.out(switch).count() + 1;
            end += side * side;
            first.push(end);
        }
        let mut squares = Self {
            fabric,
            first,
            row: Vec::new(),
        };
        squares.row = (0..fabric.arcs().len())
            .map(|id| squares.row_of(arc_id(id)))
            .collect();
        squares
    }

    fn row_of(&self, arc: ArcId) -> usize {
        let switch = self.fabric.arc(arc).to;
        let place = self.place(self.fabric.reverse(arc));
        self.first[switch.index()] + (place + 1) * self.side(switch)
    }

    /// The position of an arc among those that leave its switch.
    fn place(&self, arc: ArcId) -> usize {
        let switch = self.fabric.arc(arc).from;
        let first = self.fabric.out(switch).next().unwrap_or(arc);
        arc.index() - first.index()
    }

    /// Rows of a switch's square.
    fn side(&self, switch: SwitchId) -> usize {
        (self.first[switch.index() + 1] - self.first[switch.index()]).isqrt()
    }

    /// No route uses any cell.
    pub(super) fn empty(&self) -> Cells {
        Cells(vec![0; self.first.last().copied().unwrap_or(0)])
    }

    /// The cell from an arc to the `place`-th arc that leaves the switch where it ends.
    pub(super) fn through(&self, arc: ArcId, place: usize) -> usize {
        self.row[arc.index()] + 1 + place
    }

    /// The cell from an arc to the hosts where it ends.
    pub(super) fn to_hosts(&self, arc: ArcId) -> usize {
        self.row[arc.index()]
    }

    /// The cell from the hosts of a switch to the `place`-th arc that leaves it.
    pub(super) fn out_of_hosts(&self, switch: SwitchId, place: usize) -> usize {
        self.first[switch.index()] + 1 + place
    }

    /// The cell from the hosts of a switch to each other.
    pub(super) fn among_hosts(&self, switch: SwitchId) -> usize {
        self.first[switch.index()]
    }

    /// Rules of all switches from the cells of each level.
    pub(super) fn rules(
        &self,
        levels: &[Cells],
        tags: &[Tag],
        form: RuleForm,
    ) -> Vec<Vec<TagRule>> {
        let switches: Vec<SwitchId> = self.fabric.switch_ids().collect();
        switches
            .into_par_iter()
            .map(|switch| self.switch_rules(switch, levels, tags, form))
            .collect()
    }

    fn switch_rules(
        &self,
        switch: SwitchId,
        levels: &[Cells],
        tags: &[Tag],
        form: RuleForm,
    ) -> Vec<TagRule> {
        let side = self.side(switch);
        let ports = self.ports(switch);
        let first = self.first[switch.index()];
        let mut rules = Vec::new();
        for (cells, &tag) in levels.iter().zip(tags) {
            let square = &cells.0[first..first + side * side];
            let mut cover = Cover {
                tags,
                tag,
                ports: &ports,
                rules: &mut rules,
            };
            match form {
                RuleForm::PortSets => cover.sets(square, side),
                RuleForm::Exact => cover.exact(square, side),
            }
        }
        rules
    }

    /// The ports that each row (and column) of a switch's square stands for.
    fn ports(&self, switch: SwitchId) -> Vec<Vec<PortId>> {
        let hosts = self.fabric.attachments(switch).iter().map(|a| a.port);
        let mut ports = vec![hosts.collect::<Vec<_>>()];
        ports.extend(
            self.fabric
                .out_arcs(switch)
                .map(|(_, arc)| vec![arc.out_port]),
        );
        ports
    }
}

impl Cells {
    /// What a cell says: the new level, if any route uses it.
    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.0[at].checked_sub(1)
    }

    /// Says that packets leave with this level.
    pub(super) fn set(&mut self, at: usize, level: u8) {
        self.0[at] = level.min(LAST_LEVEL) + 1;
    }
}

/// The arc with this index.
pub(super) fn arc_id(index: usize) -> ArcId {
    ArcId::new(u32::try_from(index).unwrap_or(u32::MAX))
}

/// Turns one square of one level into rules.
struct Cover<'a> {
    tags: &'a [Tag],
    tag: Tag,
    ports: &'a [Vec<PortId>],
    rules: &'a mut Vec<TagRule>,
}

impl Cover<'_> {
    fn push(&mut self, in_ports: PortSet, out_ports: PortSet, cell: Cell) {
        let new_tag = self.tags.get(usize::from(cell) - 1);
        self.rules.push(TagRule {
            precedence: 0,
            class: None,
            tag: self.tag,
            in_ports,
            out_ports,
            new_tag: new_tag.map_or(NewTag::Lossy, |tag| NewTag::Lossless(*tag)),
        });
    }

    /// One rule per pair of ports.
    fn exact(&mut self, square: &[Cell], side: usize) {
        let mut rows: Vec<(PortId, usize)> = Vec::new();
        for (row, ports) in self.ports.iter().enumerate() {
            rows.extend(ports.iter().map(|port| (*port, row)));
        }
        rows.sort_unstable();
        for &(in_port, row) in &rows {
            for &(out_port, column) in &rows {
                let cell = square[row * side + column];
                if cell != 0 {
                    self.push(PortSet::single(in_port), PortSet::single(out_port), cell);
                }
            }
        }
    }

    /// Few rules over sets of ports. For every new tag in turn, rectangles of rows and columns are taken
    /// greedily, the one that covers most uncovered cells first; they may overlap, since they agree.
    fn sets(&mut self, square: &[Cell], side: usize) {
        let mut values: Vec<Cell> = square.iter().copied().filter(|cell| *cell != 0).collect();
        values.sort_unstable();
        values.dedup();
        let empty = |group: usize| self.ports[group].is_empty();
        for value in values {
            let mut rows: Vec<Bits> = (0..side)
                .map(|row| {
                    let cells = &square[row * side..][..side];
                    let wanted = (0..side).filter(|c| cells[*c] == value && !empty(*c));
                    if empty(row) {
                        Bits::default()
                    } else {
                        wanted.collect()
                    }
                })
                .collect();
            for (rows, columns) in rectangles(&mut rows) {
                let set = |groups: &Bits| -> PortSet {
                    groups
                        .iter()
                        .flat_map(|g| self.ports[g].iter().copied())
                        .collect()
                };
                let (in_ports, out_ports) = (set(&rows), set(&columns));
                self.push(in_ports, out_ports, value);
            }
        }
    }
}

/// Covers the cells of `wanted` (the columns of every row) with rectangles inside it.
fn rectangles(wanted: &mut [Bits]) -> Vec<(Bits, Bits)> {
    // Rows that want the same columns always go together.
    let mut kinds: Vec<(Bits, Bits)> = Vec::new();
    for (row, columns) in wanted.iter().enumerate() {
        if columns.is_empty() {
            continue;
        }
        match kinds.iter_mut().find(|(known, _)| known == columns) {
            Some((_, rows)) => rows.insert(row),
            None => kinds.push((columns.clone(), std::iter::once(row).collect())),
        }
    }
    let mut open: Vec<Bits> = kinds.iter().map(|(columns, _)| columns.clone()).collect();
    let mut found = Vec::new();
    while open.iter().any(|columns| !columns.is_empty()) {
        let gain = |columns: &Bits| -> usize {
            let inside = kinds.iter().zip(&open);
            let inside = inside.filter(|((kind, _), _)| columns.is_subset(kind));
            inside
                .map(|((_, rows), open)| rows.len() * columns.common(open))
                .sum()
        };
        let Some(best) = (0..kinds.len())
            .rev()
            .max_by_key(|kind| gain(&kinds[*kind].0))
        else {
            break;
        };
        let columns = kinds[best].0.clone();
        let mut rows = Bits::default();
        for ((kind, members), open) in kinds.iter().zip(&mut open) {
            if columns.is_subset(kind) {
                rows.extend(members.iter());
                open.remove_all(&columns);
            }
        }
        found.push((rows, columns));
    }
    found
}

/// A small set of row or column numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0
            .iter()
            .enumerate()
            .all(|(at, word)| word & !other.word(at) == 0)
    }

    /// Number of members that both have.
    fn common(&self, other: &Self) -> usize {
        self.0
            .iter()
            .enumerate()
            .map(|(at, word)| (word & other.word(at)).count_ones() as usize)
            .sum()
    }

    fn remove_all(&mut self, other: &Self) {
        for (at, word) in self.0.iter_mut().enumerate() {
            *word &= !other.word(at);
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

impl Extend<usize> for Bits {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl FromIterator<usize> for Bits {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let mut set = Self::default();
        set.extend(members);
        set
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rectangles_cover_what_is_wanted_and_nothing_else(
            cells in prop::collection::vec(prop::collection::vec(any::<bool>(), 9), 9)
        ) {
            let mut wanted: Vec<Bits> = cells
                .iter()
                .map(|row| (0..9).filter(|c| row[*c]).collect())
                .collect();
            let mut covered = vec![vec![false; 9]; 9];
            for (rows, columns) in rectangles(&mut wanted) {
                for row in rows.iter() {
                    for column in columns.iter() {
                        covered[row][column] = true;
                    }
                }
            }
            prop_assert_eq!(covered, cells);
        }
    }
}
