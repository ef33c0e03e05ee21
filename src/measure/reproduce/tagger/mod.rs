//! Tagger17: rules of its example, tags by topology and routes, and the deadlock that tags prevent.

mod counts;
mod rules;

use super::item::{Axes, Item, Paper, Work};

const SEED: &str = "nothing is drawn";

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item {
        paper: Paper::Tagger17,
        name: "table-algorithm-1",
        title: "rules of three switches by Algorithm 1, a tag per hop",
        topology: "three switches in a triangle, one host each",
        sizes: "all simple paths of at most three switches",
        seeds: SEED,
        place: "section 4, the table under Algorithm 1",
        command: "switchwright plan three.json --algorithm brute-force --routes all --rules exact",
        axes: None,
        rows: rules::brute_force_rows,
        work: Work::Measured(rules::brute_force),
    },
    Item {
        paper: Paper::Tagger17,
        name: "table-algorithm-2",
        title: "rules of the same switches by Algorithm 2, greedy",
        topology: "three switches in a triangle, one host each",
        sizes: "all simple paths of at most three switches",
        seeds: SEED,
        place: "section 4, the table under Algorithm 2",
        command: "switchwright plan three.json --algorithm greedy --routes all --rules exact",
        axes: None,
        rows: rules::greedy_rows,
        work: Work::Measured(rules::greedy),
    },
    Item {
        paper: Paper::Tagger17,
        name: "clos-tags",
        title: "lossless priorities of Clos networks by bounces",
        topology: "three-layer Clos (fat-tree, k = 4)",
        sizes: "20 switches; 0 to 3 bounces",
        seeds: SEED,
        place: "section 3, and section 4 on optimality",
        command: "switchwright bench tags --only fat-tree",
        axes: Some(Axes {
            x: ("bounces that stay lossless", false),
            y: ("lossless priorities", false),
        }),
        rows: counts::clos_rows,
        work: Work::Measured(counts::clos),
    },
    Item {
        paper: Paper::Tagger17,
        name: "bcube-tags",
        title: "a k-level BCube needs k tags",
        topology: "BCube(n, k - 1) of n = 4, routes in all rotated orders of digits",
        sizes: "2 and 3 levels",
        seeds: SEED,
        place: "section 4.3, number of tags",
        command: "switchwright bench tags --only bcube",
        axes: Some(Axes {
            x: ("levels", false),
            y: ("tags", false),
        }),
        rows: counts::bcube_rows,
        work: Work::Measured(counts::bcube),
    },
    Item {
        paper: Paper::Tagger17,
        name: "jellyfish-tags",
        title: "five tags for Jellyfish of 1000 switches",
        topology: "Jellyfish, half of the ports to hosts, all shortest paths",
        sizes: "1000 switches of 12, 24 and 40 ports: the paper does not say how many",
        seeds: "topology: 1",
        place: "section 4.3, number of tags",
        command: "switchwright bench tags --only jellyfish",
        axes: None,
        rows: counts::jellyfish_rows,
        work: Work::Measured(counts::jellyfish),
    },
    Item {
        paper: Paper::Tagger17,
        name: "class-tags",
        title: "N classes with M bounces take M + N tags",
        topology: "three-layer Clos (fat-tree, k = 4)",
        sizes: "N = 1 to 3, M = 1 and 2",
        seeds: SEED,
        place: "section 4.3, multiple application classes",
        command: "switchwright plan fat-tree.json --classes 2 --bounces 1",
        axes: None,
        rows: counts::class_rows,
        work: Work::Measured(counts::classes),
    },
    Item {
        paper: Paper::Tagger17,
        name: "figure-bounce",
        title: "two failures, two bounced flows: a deadlock without tags, none with them",
        topology: "three-layer Clos of two pods",
        sizes: "10 switches, 40 Gb/s",
        seeds: SEED,
        place: "Figs. 2 and 3",
        command: "switchwright simulate --scenario bounce --without-tags",
        axes: None,
        rows: counts::bounce_rows,
        work: Work::Measured(counts::bounce),
    },
];
