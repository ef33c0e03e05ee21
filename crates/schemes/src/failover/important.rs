//! Important destinations (Stephens15 section 4.9): packets to some hosts survive failures by
//! another scheme than all others, or more failures.
//!
//! Every destination is planned by itself, so tables of two schemes live side by side: each
//! destination's header says what its own scheme needs ([`Protection`]). Tables are compressed
//! scheme by scheme, and rules of the one match no destination of the other.

use std::collections::BTreeSet;

use plan::failover::{Destination, Failover, Output, Protection, Target};
use topology::{Fabric, HostId, SwitchId, Topology};

use super::trees::TreeSet;
use super::{FailoverError, FailoverOptions, FailoverScheme, Network, destinations};

/// The most trees that a header marks.
pub(super) const MOST_TREES: usize = 24;

/// Hosts to which packets survive failures in another way than to the rest.
#[derive(Clone, Debug)]
pub struct Important {
    /// The hosts; at least one.
    pub hosts: BTreeSet<HostId>,
    /// How packets to them survive failures. What may fail, the depth of the stack and the number
    /// of routings are those of the rest.
    pub options: Box<FailoverOptions>,
    /// Whether as many trees lead to them as there are, whatever the options say.
    pub all_trees: bool,
}

impl Important {
    /// Refuses what cannot stand beside the rest.
    pub(super) fn check(&self, rest: &FailoverOptions) -> Result<(), FailoverError> {
        let options = &*self.options;
        let refuse = |option, scheme: FailoverScheme, reason| {
            Err(FailoverError::Option {
                option,
                scheme: scheme.name(),
                reason,
            })
        };
        let keeps_channels =
            |scheme| matches!(scheme, FailoverScheme::DfFi | FailoverScheme::DfEdst);
        for scheme in [rest.scheme, options.scheme] {
            if keeps_channels(scheme) {
                return refuse(
                    "--important",
                    scheme,
                    "its packets keep lossless channels, which are planned for all destinations together",
                );
            }
        }
        if self.hosts.is_empty() {
            return refuse("--important", options.scheme, "no host is named");
        }
        if options.protect != rest.protect || options.stack != rest.stack {
            return refuse(
                "--protect, --stack",
                options.scheme,
                "important destinations have those of the rest",
            );
        }
        if options.multipath.is_some() || options.important.is_some() {
            return refuse(
                "--multipath",
                options.scheme,
                "packets to an important host have one routing",
            );
        }
        if !self.all_trees && options.scheme == rest.scheme && options.survives() == rest.survives()
        {
            return refuse(
                "--important",
                options.scheme,
                "packets to these hosts survive what all others do; ask for another scheme or resilience",
            );
        }
        if self.all_trees && !options.scheme.by_trees() {
            return refuse("--important-trees", options.scheme, "it has no trees");
        }
        options.check()
    }

    /// The options by name, as provenance.
    pub(super) fn describe(&self, set: &mut impl FnMut(&str, String)) {
        set("important", self.hosts.len().to_string());
        set("important-scheme", self.options.scheme.name().to_owned());
        for (name, value) in self.options.describe() {
            let value = match name.as_str() {
                "trees" if self.all_trees => "all".to_owned(),
                _ => value,
            };
            set(&format!("important-{name}"), value);
        }
    }
}

/// The tables of a network with important destinations.
pub(super) fn tables(
    mut rest: Network<'_>,
    important: &Important,
) -> Result<Failover, FailoverError> {
    let topology = rest.topology;
    let named = take(&mut rest, important)?;
    let codes = |of: &[Destination]| of.iter().map(|own| own.code).collect();
    let mut others = Network::new(topology, &important.options)?;
    others.foreign = codes(&rest.destinations);
    rest.foreign = codes(&named);
    others.destinations = named;
    others.all_trees = important.all_trees;
    let mut failover = rest.tables()?;
    join(&mut failover, &others.tables().map_err(of_important)?);
    Ok(failover)
}

/// The error with the options that mend it for important destinations.
fn of_important(error: FailoverError) -> FailoverError {
    match error {
        FailoverError::Trees {
            kind,
            asked,
            found,
            place,
            resilience,
        } => FailoverError::ImportantTrees {
            kind,
            asked,
            found,
            place,
            resilience,
        },
        other => other,
    }
}

/// Takes the important destinations from the rest: with routings to switches they are further ones.
fn take(rest: &mut Network<'_>, important: &Important) -> Result<Vec<Destination>, FailoverError> {
    let is_named = |own: &Destination| match own.target {
        Target::Host(host) => important.hosts.contains(&host),
        Target::Switch { .. } => false,
    };
    let mut named = if rest.options.multipath.is_some() {
        let single = FailoverOptions {
            multipath: None,
            ..rest.options.clone()
        };
        let all = destinations(&rest.fabric, &rest.sources, &single)?;
        let after = rest.destinations.last().map_or(0, |last| last.code + 1);
        let hosts = all.into_iter().filter(is_named);
        let numbered = (after..).zip(hosts);
        numbered
            .map(|(code, own)| Destination::new(code, own.target))
            .collect()
    } else {
        let all = std::mem::take(&mut rest.destinations);
        let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_named);
        rest.destinations = others;
        named
    };
    named.sort_unstable_by_key(|own| own.code);
    let known = |host: HostId| named.iter().any(|own| own.target == Target::Host(host));
    if let Some(&lost) = important.hosts.iter().find(|&&host| !known(host)) {
        return Err(FailoverError::ImportantHost {
            host: rest.topology.host(lost).name.clone(),
        });
    }
    if rest.destinations.is_empty() {
        return Err(FailoverError::AllImportant {
            scheme: important.options.scheme.name(),
        });
    }
    Ok(named)
}

/// Puts the tables of important destinations beside those of the rest.
fn join(failover: &mut Failover, others: &Failover) {
    if others.output == Output::SourceRoutes {
        failover.output = Output::SourceRoutes;
    }
    let own = Some(Protection {
        label: others.label,
        failures: others.claim.failures,
    });
    let marked = others.destinations.iter();
    let marked = marked.map(|destination| Destination {
        own,
        ..*destination
    });
    failover.destinations.extend(marked);
    failover.destinations.sort_unstable_by_key(|own| own.code);
    failover.stack = failover.stack.max(others.stack);
    for (table, more) in failover.tables.iter_mut().zip(&others.tables) {
        more.iter().for_each(|rule| table.push_copy(&rule));
        table.shrink();
    }
}

/// As many trees toward these switches as there are.
pub(super) fn all_trees(
    topology: &Topology,
    fabric: &Fabric,
    options: &FailoverOptions,
    roots: &[SwitchId],
) -> Result<TreeSet, FailoverError> {
    let links = fabric.arcs().len() / 2;
    let spanning = links / fabric.switch_count().saturating_sub(1).max(1);
    let degrees = fabric.switch_ids().map(|switch| fabric.out(switch).count());
    let degree = degrees.min().unwrap_or(0);
    // Edge-disjoint trees take an edge each; arc-disjoint ones an arc.
    let most = match options.scheme {
        FailoverScheme::Edst => degree.min(spanning),
        _ => degree,
    };
    let mut asked = most.clamp(1, MOST_TREES);
    loop {
        let trees = FailoverOptions {
            trees: u8::try_from(asked).ok(),
            ..options.clone()
        };
        match TreeSet::toward_all(topology, fabric, &trees, roots) {
            Err(FailoverError::Trees { found, .. }) if found > 0 && found < asked => asked = found,
            found => return found,
        }
    }
}

#[cfg(test)]
mod tests;
