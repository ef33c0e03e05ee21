//! Tag tables under construction: per level and switch a square of cells, one per (ingress,
//! egress).
//!
//! Hosts on one switch are equivalent, so a switch with `d` fabric ports has a square of `d + 1`:
//! row and column 0 stand for all its host ports, the others for its fabric ports in port order.

use plan::{NewTag, PortSet, RuleForm, Tag, TagRule};
use quantities::PortId;
use rayon::prelude::*;
use topology::{ArcId, Fabric, SwitchId};

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

    /// Takes over what the other says. Both say the same where both say something.
    pub(super) fn merge(mut self, other: &Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
        self
    }

    /// What any of the levels uses, all kept in the first level.
    pub(super) fn of_one_level(levels: &[Self]) -> Self {
        let cells = levels.iter().map(|level| level.0.len()).max().unwrap_or(0);
        let used = |at: usize| levels.iter().any(|level| level.get(at).is_some());
        Self((0..cells).map(|at| Cell::from(used(at))).collect())
    }

    /// Number of cells that any route uses.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|cell| **cell != 0).count()
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

    /// Few rules over sets of ports. For every new tag in turn, rectangles of rows and columns are
    /// taken greedily, the one that covers most uncovered cells first; they may overlap, since they
    /// agree.
    fn sets(&mut self, square: &[Cell], side: usize) {
        let mut values: Vec<Cell> = square.iter().copied().filter(|cell| *cell != 0).collect();
        values.sort_unstable();
        values.dedup();
        let empty = |group: usize| self.ports[group].is_empty();
        for value in values {
            let wanted = |row: usize, column: usize| {
                square[row * side + column] == value && !empty(row) && !empty(column)
            };
            for (rows, columns) in rectangles(side, wanted) {
                let set = |groups: &[usize]| -> PortSet {
                    groups
                        .iter()
                        .flat_map(|g| self.ports[*g].iter().copied())
                        .collect()
                };
                let (in_ports, out_ports) = (set(&rows), set(&columns));
                self.push(in_ports, out_ports, value);
            }
        }
    }
}

/// Covers the wanted cells of a square with few rectangles of rows and columns.
fn rectangles(side: usize, wanted: impl Fn(usize, usize) -> bool) -> Vec<(Vec<usize>, Vec<usize>)> {
    match side.div_ceil(64) {
        0 | 1 => Rectangles::<1>::cover(side, wanted),
        2..=9 => Rectangles::<9>::cover(side, wanted),
        // More ports than any switch can have; a topology may say so all the same.
        _ => Rectangles::<1025>::cover(side, wanted),
    }
}

/// Rows that want the same columns.
struct Kind<const W: usize> {
    columns: Bits<W>,
    /// Columns that no rectangle covers yet.
    open: Bits<W>,
    rows: Vec<usize>,
}

/// A cover under way.
struct Rectangles<const W: usize> {
    kinds: Vec<Kind<W>>,
    /// By kind: the kinds that want all its columns, itself included.
    wider: Vec<Vec<usize>>,
}

impl<const W: usize> Rectangles<W> {
    fn cover(side: usize, wanted: impl Fn(usize, usize) -> bool) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut kinds: Vec<Kind<W>> = Vec::new();
        for row in 0..side {
            let columns: Bits<W> = (0..side).filter(|c| wanted(row, *c)).collect();
            if columns.len() == 0 {
                continue;
            }
            match kinds.iter_mut().find(|kind| kind.columns == columns) {
                Some(kind) => kind.rows.push(row),
                None => kinds.push(Kind {
                    columns,
                    open: columns,
                    rows: vec![row],
                }),
            }
        }
        let inside = |kind: &Kind<W>| {
            let wider = (0..kinds.len()).filter(|k| kind.columns.is_subset(&kinds[*k].columns));
            wider.collect()
        };
        let wider = kinds.iter().map(inside).collect();
        Self { kinds, wider }.take_all()
    }

    /// How many uncovered cells the rectangle of a kind's columns and all rows that want them
    /// covers.
    fn gain(&self, kind: usize) -> usize {
        let columns = &self.kinds[kind].columns;
        let wider = self.wider[kind].iter().map(|k| &self.kinds[*k]);
        wider.map(|k| k.rows.len() * columns.common(&k.open)).sum()
    }

    /// Takes the rectangle that covers most until all is covered. Gains only fall, so most of them
    /// need not be computed again.
    fn take_all(mut self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut gains: Vec<usize> = (0..self.kinds.len()).map(|k| self.gain(k)).collect();
        let mut found = Vec::new();
        while let Some(best) = (0..gains.len()).rev().max_by_key(|k| gains[*k])
            && gains[best] > 0
        {
            let gain = self.gain(best);
            if gain < gains[best] {
                gains[best] = gain;
                continue;
            }
            let columns = self.kinds[best].columns;
            let mut rows = Vec::new();
            for &wide in &self.wider[best] {
                let kind = &mut self.kinds[wide];
                rows.extend(&kind.rows);
                kind.open.remove_all(&columns);
            }
            rows.sort_unstable();
            found.push((rows, columns.iter().collect()));
            gains[best] = 0;
        }
        found
    }
}

/// A set of up to `64 * W` row or column numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    fn len(&self) -> usize {
        self.common(self)
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(own, other)| own & !other == 0)
    }

    /// Number of members that both have.
    fn common(&self, other: &Self) -> usize {
        let both = self.0.iter().zip(&other.0).map(|(own, other)| own & other);
        both.map(|word| word.count_ones() as usize).sum()
    }

    fn remove_all(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= !other;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * W).filter(|at| self.0[at / 64] >> (at % 64) & 1 == 1)
    }
}

impl<const W: usize> FromIterator<usize> for Bits<W> {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let mut words = [0; W];
        for member in members {
            words[member / 64] |= 1 << (member % 64);
        }
        Self(words)
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
            let mut covered = vec![vec![false; 9]; 9];
            for (rows, columns) in rectangles(9, |row, column| cells[row][column]) {
                for row in rows {
                    for column in &columns {
                        covered[row][*column] = true;
                    }
                }
            }
            prop_assert_eq!(covered, cells);
        }
    }
}
