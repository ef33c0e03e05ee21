//! Tagger17: rules of its example, tags by topology and routes, and the deadlock that tags prevent.

mod counts;
mod rules;

use super::item::{Axes, Item, Paper};

const SEED: &str = "nothing is drawn";

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "table-algorithm-1",
        "rules of three switches by Algorithm 1, a tag per hop",
        (Paper::Tagger17, "section 4, the table under Algorithm 1"),
        (
            "three switches in a triangle, one host each",
            "all simple paths of at most three switches",
            SEED,
        ),
        "switchwright plan three.json --algorithm brute-force --routes all --rules exact",
        None,
        (rules::brute_force_rows, rules::brute_force),
    ),
    Item::measured(
        "table-algorithm-2",
        "rules of the same switches by Algorithm 2, greedy",
        (Paper::Tagger17, "section 4, the table under Algorithm 2"),
        (
            "three switches in a triangle, one host each",
            "all simple paths of at most three switches",
            SEED,
        ),
        "switchwright plan three.json --algorithm greedy --routes all --rules exact",
        None,
        (rules::greedy_rows, rules::greedy),
    ),
    Item::measured(
        "clos-tags",
        "lossless priorities of Clos networks by bounces",
        (Paper::Tagger17, "section 3, and section 4 on optimality"),
        (
            "three-layer Clos (fat-tree, k = 4)",
            "20 switches; 0 to 3 bounces",
            SEED,
        ),
        "switchwright bench tags --only fat-tree",
        Some(Axes {
            x: ("bounces that stay lossless", false),
            y: ("lossless priorities", false),
        }),
        (counts::clos_rows, counts::clos),
    ),
    Item::measured(
        "bcube-tags",
        "a k-level BCube needs k tags",
        (Paper::Tagger17, "section 4.3, number of tags"),
        (
            "BCube(n, k - 1) of n = 4, routes in all rotated orders of digits",
            "2 and 3 levels",
            SEED,
        ),
        "switchwright bench tags --only bcube",
        Some(Axes {
            x: ("levels", false),
            y: ("tags", false),
        }),
        (counts::bcube_rows, counts::bcube),
    ),
    Item::measured(
        "jellyfish-tags",
        "five tags for Jellyfish of 1000 switches",
        (Paper::Tagger17, "section 4.3, number of tags"),
        (
            "Jellyfish, half of the ports to hosts, all shortest paths",
            "1000 switches of 12, 24 and 40 ports: the paper does not say how many",
            "topology: 1",
        ),
        "switchwright bench tags --only jellyfish",
        None,
        (counts::jellyfish_rows, counts::jellyfish),
    ),
    Item::measured(
        "class-tags",
        "N classes with M bounces take M + N tags",
        (Paper::Tagger17, "section 4.3, multiple application classes"),
        (
            "three-layer Clos (fat-tree, k = 4)",
            "N = 1 to 3, M = 1 and 2",
            SEED,
        ),
        "switchwright plan fat-tree.json --classes 2 --bounces 1",
        None,
        (counts::class_rows, counts::classes),
    ),
    Item::measured(
        "figure-bounce",
        "two failures, two bounced flows: a deadlock without tags, none with them",
        (Paper::Tagger17, "Figs. 2 and 3"),
        ("three-layer Clos of two pods", "10 switches, 40 Gb/s", SEED),
        "switchwright simulate --scenario bounce --without-tags",
        None,
        (counts::bounce_rows, counts::bounce),
    ),
];
