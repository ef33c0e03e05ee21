//! Which options of a plan belong to which scheme: one list, for the command line and for all who
//! describe plans by fields (scenarios, the page, Python). An option that would change nothing is
//! refused in the same words everywhere.

use topology::Topology;
use topology::routes::RoutePolicy;

use super::failover::FailoverScheme;

/// A scheme that tables can be made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    /// Tagger.
    Tagger,
    /// TTL tagging.
    Ttl,
    /// Up, then down through the virtual layers of a Flattened Clos.
    FlattenedClos,
    /// All shortest paths with one tag.
    Ecmp,
    /// The k shortest paths with one tag.
    Ksp,
    /// A failover scheme.
    Failover(FailoverScheme),
}

const PLINKO: SchemeKind = SchemeKind::Failover(FailoverScheme::Plinko);
const FCP: SchemeKind = SchemeKind::Failover(FailoverScheme::Fcp);
const MPLS_FRR: SchemeKind = SchemeKind::Failover(FailoverScheme::MplsFrr);
const EDST: SchemeKind = SchemeKind::Failover(FailoverScheme::Edst);
const ADST: SchemeKind = SchemeKind::Failover(FailoverScheme::Adst);
const DF_FI: SchemeKind = SchemeKind::Failover(FailoverScheme::DfFi);
const DF_EDST: SchemeKind = SchemeKind::Failover(FailoverScheme::DfEdst);

impl SchemeKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Tagger,
        Self::Ttl,
        Self::FlattenedClos,
        Self::Ecmp,
        Self::Ksp,
        PLINKO,
        FCP,
        MPLS_FRR,
        EDST,
        ADST,
        DF_FI,
        DF_EDST,
    ];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tagger => "tagger",
            Self::Ttl => "ttl",
            Self::FlattenedClos => "flattened-clos",
            Self::Ecmp => "ecmp",
            Self::Ksp => "ksp",
            Self::Failover(scheme) => scheme.name(),
        }
    }

    /// The failover scheme, if it is one.
    #[must_use]
    pub const fn failover(self) -> Option<FailoverScheme> {
        match self {
            Self::Failover(scheme) => Some(scheme),
            _ => None,
        }
    }
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `--class-bits`.
    CommandLine,
    /// `class_bits`.
    Fields,
}

impl Spelling {
    /// An option by the name of its field.
    #[must_use]
    pub fn option(self, name: &str) -> String {
        match self {
            Self::CommandLine => format!("`--{}`", name.replace('_', "-")),
            Self::Fields => format!("`{name}`"),
        }
    }

    /// An option with a value.
    #[must_use]
    pub fn with_value(self, name: &str, value: &str) -> String {
        match self {
            Self::CommandLine => format!("`--{} {value}`", name.replace('_', "-")),
            Self::Fields => format!("`{name}: {value}`"),
        }
    }
}

/// Options that every scheme has, beside those of lossless tags.
const OF_ALL: &[&str] = &[
    "topology", "scheme", "output", "unproven", "seed", "json", "quiet", "verbose",
];

/// Options of lossless tags that failover schemes have too, if their packets are to be lossless.
pub const OF_TAGS: &[&str] = &[
    "carrier",
    "rules",
    "priorities",
    "buffer",
    "mtu",
    "tcam_bits",
    "ports",
];

/// Options that shape the one of two failover schemes that they mean something for, where important
/// destinations have their own.
const OF_EITHER: &[&str] = &[
    "compress",
    "paths",
    "source_routes",
    "stack",
    "growth",
    "default_tree",
    "mark_trees",
];

/// The schemes that an option shapes, by the name of its field. One that is not listed shapes none,
/// so that whoever adds an option must say.
#[must_use]
pub fn owners(option: &str) -> &'static [SchemeKind] {
    use SchemeKind::{FlattenedClos, Ksp, Tagger, Ttl};
    match option {
        _ if OF_ALL.contains(&option) || OF_TAGS.contains(&option) => &SchemeKind::ALL,
        "algorithm" | "search_moves" | "time_limit" => &[Tagger],
        "hops" => &[Ttl],
        "k" => &[Tagger, Ttl, Ksp],
        "bounces" | "classes" | "class" | "class_bits" => &[Tagger, Ttl, FlattenedClos],
        "routes" | "max_switches" => &[Tagger, Ttl],
        "lossless" => &[PLINKO, FCP, MPLS_FRR, EDST, ADST, DF_FI],
        "channels" => &[DF_FI, DF_EDST],
        "ttg" | "tree_order" | "initial_trees" | "subset" | "connect_layers" => &[DF_EDST],
        "source_routes" => &[FlattenedClos, PLINKO, FCP, MPLS_FRR, DF_FI],
        "compress" | "paths" | "protect" => &[PLINKO, FCP, MPLS_FRR, DF_FI],
        "default_tree" | "trees" | "mark_trees" => &[EDST, ADST, DF_EDST],
        "growth" => &[EDST, ADST],
        "important" | "important_scheme" | "important_resilience" => {
            &[PLINKO, FCP, MPLS_FRR, EDST, ADST]
        }
        "hop_by_hop" | "resilience" => &[PLINKO, FCP, MPLS_FRR, EDST, ADST, DF_FI, DF_EDST],
        "multipath" => &[
            FlattenedClos,
            PLINKO,
            FCP,
            MPLS_FRR,
            EDST,
            ADST,
            DF_FI,
            DF_EDST,
        ],
        // Packets on trees carry no hops.
        "stack" => &[FlattenedClos, PLINKO, FCP, MPLS_FRR, DF_FI],
        _ => &[],
    }
}

/// Why an option means nothing for a scheme, as the end of a sentence; `None` if it means
/// something. `important` is the scheme of important destinations, if they have their own.
#[must_use]
pub fn idle_for_scheme(
    option: &str,
    scheme: SchemeKind,
    important: Option<FailoverScheme>,
) -> Option<String> {
    let owners = owners(option);
    if owners.contains(&scheme) {
        return None;
    }
    let shapes = |owner: &SchemeKind| important.is_some() && owner.failover() == important;
    if OF_EITHER.contains(&option) && owners.iter().any(shapes) {
        return None;
    }
    let owners: Vec<&str> = owners.iter().map(|owner| owner.name()).collect();
    Some(format!(
        "for the scheme {}: it is for {}",
        scheme.name(),
        owners.join(", ")
    ))
}

/// The numbers of trees and of failures that contradict each other, in words; `None` if they agree.
#[must_use]
pub fn contradiction(
    scheme: SchemeKind,
    trees: Option<u8>,
    resilience: Option<u8>,
    spelling: Spelling,
) -> Option<String> {
    let (trees, failures) = (trees?, resilience?);
    let agree = scheme == DF_EDST || u16::from(trees) == u16::from(failures) + 1;
    (!agree).then(|| {
        format!(
            "{} survives {} failures, but {} says otherwise",
            spelling.with_value("trees", &trees.to_string()),
            trees.saturating_sub(1),
            spelling.with_value("resilience", &failures.to_string()),
        )
    })
}

/// Why an option means nothing with the routes that are promised or the algorithm that makes tags,
/// as the end of a sentence.
#[must_use]
pub fn idle_for_routes(
    option: &str,
    topology: &Topology,
    routes: &RoutePolicy,
    searches: bool,
    spelling: Spelling,
) -> Option<String> {
    let for_routes = |kind: &str| {
        let unlayered = topology.unlayered_switch().is_some();
        let layers = if unlayered {
            " (the topology has no layers)"
        } else {
            ""
        };
        let wanted = spelling.with_value("routes", kind);
        format!("with {routes}{layers}: it is for {wanted}")
    };
    match (option, routes) {
        ("search_moves" | "time_limit", _) if !searches => Some(format!(
            "here: it is for {}",
            spelling.with_value("algorithm", "optimal")
        )),
        ("bounces", RoutePolicy::UpDown { .. })
        | ("k", RoutePolicy::Ksp { .. })
        | ("max_switches", RoutePolicy::AllSimple { .. }) => None,
        ("bounces", _) => Some(for_routes("up-down")),
        ("k", _) => Some(for_routes("ksp")),
        ("max_switches", _) => Some(for_routes("all")),
        _ => None,
    }
}

/// Why an option of lossless tags means nothing for failover tables without them, as the end of a
/// sentence.
#[must_use]
pub fn idle_without_tags(option: &str, spelling: Spelling) -> Option<String> {
    OF_TAGS.contains(&option).then(|| {
        let rising = spelling.with_value("lossless", "rising");
        format!("without lossless tags: it is for {rising} or the scheme df-fi")
    })
}

/// Why an option of disjoint paths means nothing where a Flattened Clos has tables by destination,
/// as the end of a sentence.
#[must_use]
pub fn idle_by_destination(option: &str, spelling: Spelling) -> Option<String> {
    ["multipath", "stack"].contains(&option).then(|| {
        let routes = match spelling {
            Spelling::CommandLine => spelling.option("source_routes"),
            Spelling::Fields => "source routes".to_owned(),
        };
        format!("without {routes}: tables by destination keep no paths apart")
    })
}
