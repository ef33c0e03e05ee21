//! The schemes, and which options of a plan belong to which of them. An option that would change
//! nothing is refused in the same words everywhere.

use schemes::failover::FailoverScheme;
use strum::{EnumMessage, IntoStaticStr};
use topology::Topology;
use topology::routes::RoutePolicy;

use crate::choice::Choice;

/// A scheme that tables can be made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum SchemeKind {
    /// Tagger.
    #[strum(message = "Tagger (Tagger17): tags rise where a cycle of buffers could close")]
    #[default]
    Tagger,
    /// TTL tagging.
    #[strum(message = "TTL tagging (TaggerDraft section 4.2): a tag per hop, whatever the routes")]
    Ttl,
    /// Up, then down through the virtual layers of a Flattened Clos.
    #[strum(
        message = "Up, then down through the virtual layers of a Flattened Clos keeps the tag, any other turn raises it (FC23 section 3)"
    )]
    FlattenedClos,
    /// All shortest paths with one tag.
    #[strum(
        message = "All shortest paths with one tag, as without a scheme: refused where a cycle of buffers can close"
    )]
    Ecmp,
    /// The k shortest paths with one tag.
    #[strum(
        message = "The k shortest paths with one tag, as without a scheme: refused where a cycle of buffers can close"
    )]
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

impl Choice for SchemeKind {
    const ALL: &'static [Self] = &[
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

    fn name(self) -> &'static str {
        match self {
            Self::Failover(scheme) => scheme.name(),
            named => named.into(),
        }
    }

    fn about(self) -> &'static str {
        let about = match &self {
            Self::Failover(scheme) => scheme.get_message(),
            named => named.get_message(),
        };
        about.unwrap_or_default()
    }
}

impl SchemeKind {
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
const OF_ALL: &[&str] = &["scheme", "seed"];

/// Options of lossless tags that failover schemes have too, if their packets are to be lossless.
const OF_TAGS: &[&str] = &[
    "carrier",
    "codes",
    "tag_priorities",
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
        _ if OF_ALL.contains(&option) || OF_TAGS.contains(&option) => <SchemeKind as Choice>::ALL,
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
pub(super) fn idle_for_scheme(
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
pub(super) fn contradiction(
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

/// Why a number of bounces means nothing with routes that are not up-down, as the end of a
/// sentence.
pub(super) fn without_bounces(
    topology: &Topology,
    routes: &RoutePolicy,
    spelling: Spelling,
) -> String {
    let layers = match topology.unlayered_switch() {
        Some(_) => " (the topology has no layers)",
        None => "",
    };
    let wanted = spelling.with_value("routes", "up-down");
    format!("with {routes}{layers}: it is for {wanted}")
}

/// Why an option of lossless tags means nothing for failover tables without them, as the end of a
/// sentence.
pub(super) fn idle_without_tags(option: &str, spelling: Spelling) -> Option<String> {
    OF_TAGS.contains(&option).then(|| {
        let rising = spelling.with_value("lossless", "rising");
        format!("without lossless tags: it is for {rising} or the scheme df-fi")
    })
}

/// Why an option of disjoint paths means nothing where a Flattened Clos has tables by destination,
/// as the end of a sentence.
pub(super) fn idle_by_destination(option: &str, spelling: Spelling) -> Option<String> {
    ["multipath", "stack"].contains(&option).then(|| {
        let routes = match spelling {
            Spelling::CommandLine => spelling.option("source_routes"),
            Spelling::Fields => "source routes".to_owned(),
        };
        format!("without {routes}: tables by destination keep no paths apart")
    })
}
