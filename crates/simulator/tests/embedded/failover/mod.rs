//! Failover plans as programs: what the executed P4 does is what the tables say, builds hold the
//! same entries in every format, and the entries of the three-switch examples are kept as goldens.
#![allow(clippy::unwrap_used, clippy::panic)]

mod agreement;
mod build;
mod lossless;
mod versions;

use plan::check::{FailureOptions, Options};
use plan::failover::Output;
use plan::{CheckedPlan, check};
use schemes::failover::{FailoverOptions, FailoverScheme, Important, PathPolicy, failover};
use topology::{HostId, Topology};

/// A plan by all schemes, hop by hop and with source routes, compressed and not, with its name.
pub(crate) fn variants() -> Vec<(&'static str, FailoverOptions)> {
    let base = FailoverOptions::new;
    let routed = |scheme| FailoverOptions {
        output: Output::SourceRoutes,
        ..base(scheme)
    };
    vec![
        ("plinko", base(FailoverScheme::Plinko)),
        ("plinko-routes", routed(FailoverScheme::Plinko)),
        (
            "plinko-routes-compressed",
            FailoverOptions {
                compress: true,
                paths: PathPolicy::Common,
                ..routed(FailoverScheme::Plinko)
            },
        ),
        (
            "plinko-compressed-multipath",
            FailoverOptions {
                compress: true,
                multipath: Some(3),
                ..base(FailoverScheme::Plinko)
            },
        ),
        ("fcp", base(FailoverScheme::Fcp)),
        (
            "fcp-routes-compressed",
            FailoverOptions {
                compress: true,
                ..routed(FailoverScheme::Fcp)
            },
        ),
        ("mpls-frr", base(FailoverScheme::MplsFrr)),
        ("mpls-frr-routes", routed(FailoverScheme::MplsFrr)),
        ("edst", base(FailoverScheme::Edst)),
        ("adst", base(FailoverScheme::Adst)),
        (
            "adst-default-tree",
            FailoverOptions {
                default_tree: true,
                multipath: Some(1),
                ..base(FailoverScheme::Adst)
            },
        ),
        (
            "plinko-beside-adst",
            beside(base(FailoverScheme::Plinko), base(FailoverScheme::Adst)),
        ),
        (
            "plinko-routes-compressed-multipath-beside-marked-edst",
            beside(
                FailoverOptions {
                    compress: true,
                    multipath: Some(3),
                    ..routed(FailoverScheme::Plinko)
                },
                FailoverOptions {
                    default_tree: true,
                    ..base(FailoverScheme::Edst)
                },
            ),
        ),
        (
            "adst-beside-plinko-routes",
            beside(base(FailoverScheme::Adst), routed(FailoverScheme::Plinko)),
        ),
        (
            "fcp-beside-adst",
            beside(base(FailoverScheme::Fcp), base(FailoverScheme::Adst)),
        ),
    ]
}

/// Two hosts by another scheme.
fn beside(rest: FailoverOptions, other: FailoverOptions) -> FailoverOptions {
    FailoverOptions {
        important: Some(Important {
            hosts: [HostId::new(0), HostId::new(2)].into(),
            all_trees: other.scheme.by_trees(),
            options: Box::new(other),
        }),
        ..rest
    }
}

/// The options with headers that hold so many hops.
fn with_stack(mut options: FailoverOptions, stack: u8) -> FailoverOptions {
    options.stack = Some(stack);
    if let Some(important) = &mut options.important {
        important.options.stack = Some(stack);
    }
    options
}

/// A proven plan; the proof is kept short, for other tests are about it.
pub(crate) fn plan(topology: &Topology, options: &FailoverOptions) -> CheckedPlan {
    let tables = failover(topology, options).unwrap();
    let short = Options {
        failures: FailureOptions {
            failures: Some(0),
            ..FailureOptions::default()
        },
        ..Options::default()
    };
    check(tables, &short).unwrap()
}
