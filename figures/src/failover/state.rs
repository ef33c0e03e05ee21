//! State per switch: rules and TCAM bits of every scheme (Stephens15 section 4.8.1), and what
//! compression saves.

use std::collections::BTreeSet;

use plan::failover::{Output, StateCounts};
use quantities::Bytes;
use schemes::failover::{FailoverOptions, FailoverScheme, PathPolicy};
use serde::{Deserialize, Serialize};
use topology::Topology;

use super::super::machine::{peak_memory, reset_peak_memory, timed};
use super::super::planning::MeasureError;
use super::paper::RatioCell;
use super::tables;

/// What one table of Plinko takes, before and after compression.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StateFigure {
    /// `egft-b1` or `jellyfish-b1`.
    pub topology: String,
    /// Hosts.
    pub hosts: u32,
    /// Resilience.
    pub t: u8,
    /// `source-routes` or `hop-by-hop`.
    pub output: String,
    /// Whether the hosts of a switch share backup ways, which Stephens15's do not.
    pub shared_backup_ways: bool,
    /// Switches.
    pub switches: usize,
    /// Rules over all switches before compression; the routes are the compression-aware ones of
    /// Stephens15 section 4.5.3, as in Stephens15's tables.
    pub plain_rules: u64,
    /// Rules of the switch with most, before compression.
    pub plain_rules_max: u64,
    /// TCAM bits of the switch with most, before compression.
    pub plain_bits_max: u64,
    /// The same rules compressed, over all switches.
    pub rules: u64,
    /// Rules of the switch with most.
    pub rules_max: u64,
    /// TCAM bits of the switch with most.
    pub bits_max: u64,
    /// TCAM bits that Tofino 1 would allot on the switch that needs most.
    pub tofino_bits_max: u64,
    /// Stages of it that Tofino 1 would fill.
    pub tofino_stages_max: u64,
    /// Rules of the switch with most before over after.
    pub ratio: f64,
    /// Stephens15's ratio, where its table has it.
    pub ratio_of_paper: Option<f64>,
    /// Seconds to plan without compression.
    pub plan_seconds: f64,
    /// Seconds to plan with compression and its proof of equivalence.
    pub compress_seconds: f64,
    /// The most memory held.
    pub peak_memory: Option<Bytes>,
}

fn plinko(t: u8, output: Output, paths: PathPolicy) -> FailoverOptions {
    FailoverOptions {
        resilience: t,
        output,
        paths,
        stack: Some(32),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    }
}

fn most(counts: &[StateCounts], figure: fn(&StateCounts) -> u64) -> u64 {
    counts.iter().map(figure).max().unwrap_or(0)
}

/// Plans one cell with and without compression, along compression-aware ways: with
/// [`PathPolicy::CommonOnly`] just as Stephens15 has them, with [`PathPolicy::Common`] where backup
/// ways are shared beyond that (ours).
///
/// # Errors
/// [`MeasureError`].
pub fn state(
    cell: &RatioCell,
    output: Output,
    paths: PathPolicy,
) -> Result<StateFigure, MeasureError> {
    let &(shape, hosts, t, source, hop) = cell;
    let topology = shape.topology(hosts)?;
    reset_peak_memory();
    let options = plinko(t, output, paths);
    let (plain, plan_seconds) = timed(|| tables(&topology, &options));
    let before = plain?.counts();
    let options = FailoverOptions {
        compress: true,
        ..options
    };
    let (compressed, compress_seconds) = timed(|| tables(&topology, &options));
    let after = compressed?.counts();
    let rules_max = most(&after, |c| c.rules);
    let plain_rules_max = most(&before, |c| c.rules);
    Ok(StateFigure {
        topology: shape.name().to_owned(),
        hosts,
        t,
        output: output_name(output).to_owned(),
        shared_backup_ways: paths == PathPolicy::Common,
        switches: topology.switches().len(),
        plain_rules: before.iter().map(|c| c.rules).sum(),
        plain_rules_max,
        plain_bits_max: most(&before, |c| c.tcam_bits),
        rules: after.iter().map(|c| c.rules).sum(),
        rules_max,
        bits_max: most(&after, |c| c.tcam_bits),
        tofino_bits_max: most(&after, |c| c.tofino.bits),
        tofino_stages_max: most(&after, |c| c.tofino.stages),
        ratio: plain_rules_max as f64 / rules_max.max(1) as f64,
        ratio_of_paper: match output {
            Output::SourceRoutes => Some(source),
            Output::HopByHop => hop,
        },
        plan_seconds,
        compress_seconds,
        peak_memory: peak_memory(),
    })
}

const fn output_name(output: Output) -> &'static str {
    match output {
        Output::SourceRoutes => "source-routes",
        Output::HopByHop => "hop-by-hop",
    }
}

/// What the tables of one scheme take on the switch that needs most.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SchemeState {
    /// `egft-b1`, `jellyfish-b6` and so on.
    pub topology: String,
    /// Hosts.
    pub hosts: u32,
    /// The scheme, with what has been done to shrink its tables.
    pub variant: String,
    /// Resilience.
    pub t: u8,
    /// Rules.
    pub rules_max: u64,
    /// TCAM bits as Stephens15 counts them.
    pub bits_max: u64,
    /// TCAM bits as Tofino 1 would allot them.
    pub tofino_bits_max: u64,
    /// Distinct (output, action) pairs: what compression cannot go below.
    pub actions_max: u64,
}

/// The variants of Stephens15's Figures 4.11 to 4.15: a name and options for a resilience.
#[must_use]
pub fn variants(t: u8) -> Vec<(&'static str, FailoverOptions)> {
    let base = |scheme| FailoverOptions {
        resilience: t,
        stack: Some(32),
        ..FailoverOptions::new(scheme)
    };
    let source = |options| FailoverOptions {
        output: Output::SourceRoutes,
        ..options
    };
    let virtual_8 = |options| FailoverOptions {
        multipath: Some(8),
        ..options
    };
    let compressed = |options| FailoverOptions {
        compress: true,
        paths: PathPolicy::Common,
        ..options
    };
    let by_trees = |scheme, default_tree| FailoverOptions {
        default_tree,
        multipath: Some(8),
        ..base(scheme)
    };
    vec![
        ("plinko hop by hop", base(FailoverScheme::Plinko)),
        ("plinko source routes", source(base(FailoverScheme::Plinko))),
        (
            "plinko source routes, 8 paths",
            virtual_8(source(base(FailoverScheme::Plinko))),
        ),
        (
            "plinko source routes, compressed",
            compressed(source(base(FailoverScheme::Plinko))),
        ),
        (
            "plinko hop by hop, compressed",
            compressed(base(FailoverScheme::Plinko)),
        ),
        (
            "plinko source routes, 8 paths, compressed",
            compressed(virtual_8(source(base(FailoverScheme::Plinko)))),
        ),
        ("fcp hop by hop", base(FailoverScheme::Fcp)),
        (
            "fcp source routes, 8 paths",
            virtual_8(source(base(FailoverScheme::Fcp))),
        ),
        ("mpls-frr hop by hop", base(FailoverScheme::MplsFrr)),
        (
            "mpls-frr source routes, 8 paths",
            virtual_8(source(base(FailoverScheme::MplsFrr))),
        ),
        ("edst, 8 paths", by_trees(FailoverScheme::Edst, false)),
        (
            "edst, default tree, 8 paths",
            by_trees(FailoverScheme::Edst, true),
        ),
        ("adst, 8 paths", by_trees(FailoverScheme::Adst, false)),
        (
            "adst, marked, 8 paths",
            FailoverOptions {
                mark_trees: true,
                ..by_trees(FailoverScheme::Adst, false)
            },
        ),
        (
            "adst, default tree, 8 paths",
            by_trees(FailoverScheme::Adst, true),
        ),
    ]
}

/// Plans one variant and counts; `place` is what the topology is called in reports.
///
/// # Errors
/// [`MeasureError`].
pub fn scheme_state(
    place: &str,
    topology: &Topology,
    variant: &str,
    options: &FailoverOptions,
) -> Result<SchemeState, MeasureError> {
    let counts = tables(topology, options)?.counts();
    Ok(SchemeState {
        topology: place.to_owned(),
        hosts: u32::try_from(topology.hosts().len()).unwrap_or(u32::MAX),
        variant: variant.to_owned(),
        t: options.resilience,
        rules_max: most(&counts, |c| c.rules),
        bits_max: most(&counts, |c| c.tcam_bits),
        tofino_bits_max: most(&counts, |c| c.tofino.bits),
        actions_max: most(&counts, |c| c.actions),
    })
}

/// What disjoint trees take of a switch whose hardware finds the first tree that has not failed by
/// itself: a rule for every destination and tree, not for every pair of trees (Stephens15 section
/// 4.9).
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CustomHardware {
    /// `egft-b1` or `jellyfish-b1`.
    pub topology: String,
    /// The scheme.
    pub scheme: String,
    /// Resilience.
    pub t: u8,
    /// Destinations.
    pub destinations: usize,
    /// Rules on the switch with most.
    pub rules_max: u64,
    /// Bits of exact match there: 72 of destination, 5 of a tree's number.
    pub bits_max: u64,
    /// TCAM bits of the switch that needs most, with rules as they are for today's hardware.
    pub tcam_bits_max: u64,
}

/// Bits of a destination, as Stephens15 counts them, and of the number of one of at most 24 trees.
const CUSTOM_BITS: u64 = 72 + 5;

/// Counts what such hardware would hold: the distinct outputs by destination, of which every tree
/// has its own.
///
/// # Errors
/// [`MeasureError`].
pub fn custom_hardware(
    topology: &Topology,
    options: &FailoverOptions,
) -> Result<CustomHardware, MeasureError> {
    let failover = tables(topology, options)?;
    let outputs = failover.tables.iter().map(|table| {
        let rules = table.iter().map(|rule| rule.to_rule());
        let out = rules.filter_map(|rule| {
            let out = rule.action.out().map(|(port, _)| port)?;
            Some((rule.destination.as_exact(), out))
        });
        out.collect::<BTreeSet<_>>().len() as u64
    });
    let rules_max = outputs.max().unwrap_or(0);
    Ok(CustomHardware {
        topology: topology.name().to_owned(),
        scheme: options.scheme.name().to_owned(),
        t: options.resilience,
        destinations: failover.destinations.len(),
        rules_max,
        bits_max: rules_max * CUSTOM_BITS,
        tcam_bits_max: most(&failover.counts(), |c| c.tcam_bits),
    })
}
