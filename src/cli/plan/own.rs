//! Which options a scheme has. Any other is refused: it would change nothing.

use clap::ValueEnum;
use schemes::ClassSpec;
use topology::Topology;
use topology::routes::RoutePolicy;

use super::super::fault::Fault;
use super::super::given::Given;
use super::important::OF_EITHER;
use super::{Plan, Scheme};

/// Options of lossless tags that failover schemes have too, if their packets are to be lossless.
pub(super) const OF_TAGS: &[&str] = &[
    "carrier",
    "rules",
    "priorities",
    "buffer",
    "mtu",
    "tcam_bits",
    "ports",
];

/// The schemes that an option shapes. One that is not listed shapes none, so that whoever adds it must say.
fn owners(option: &str) -> &'static [Scheme] {
    use Scheme::{Adst, DfEdst, DfFi, Edst, Fcp, FlattenedClos, Ksp, MplsFrr, Plinko, Tagger, Ttl};
    match option {
        "topology" | "scheme" | "output" | "unproven" | "seed" | "json" | "quiet" | "verbose" => {
            Scheme::value_variants()
        }
        _ if OF_TAGS.contains(&option) => Scheme::value_variants(),
        "algorithm" | "search_moves" | "time_limit" => &[Tagger],
        "hops" => &[Ttl],
        "k" => &[Tagger, Ttl, Ksp],
        "bounces" | "classes" | "class" | "class_bits" => &[Tagger, Ttl, FlattenedClos],
        "routes" | "max_switches" => &[Tagger, Ttl],
        "lossless" => &[Plinko, Fcp, MplsFrr, Edst, Adst, DfFi],
        "channels" => &[DfFi, DfEdst],
        "ttg" | "tree_order" | "initial_trees" | "subset" | "connect_layers" => &[DfEdst],
        "source_routes" => &[FlattenedClos, Plinko, Fcp, MplsFrr, DfFi],
        "compress" | "paths" | "protect" => &[Plinko, Fcp, MplsFrr, DfFi],
        "default_tree" | "trees" | "mark_trees" => &[Edst, Adst, DfEdst],
        "growth" => &[Edst, Adst],
        "important" | "important_scheme" | "important_resilience" => {
            &[Plinko, Fcp, MplsFrr, Edst, Adst]
        }
        "hop_by_hop" | "resilience" => &[Plinko, Fcp, MplsFrr, Edst, Adst, DfFi, DfEdst],
        "multipath" => &[
            FlattenedClos,
            Plinko,
            Fcp,
            MplsFrr,
            Edst,
            Adst,
            DfFi,
            DfEdst,
        ],
        // Packets on trees carry no hops.
        "stack" => &[FlattenedClos, Plinko, Fcp, MplsFrr, DfFi],
        _ => &[],
    }
}

fn name(scheme: Scheme) -> String {
    scheme
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

impl Plan {
    /// Refuses options that the scheme has not.
    pub(super) fn refuse_idle(&self, given: &Given) -> Result<(), Fault> {
        given.refuse(|option| {
            let owners = owners(option);
            if owners.contains(&self.scheme) {
                return None;
            }
            // The other scheme's.
            let important = self.failover.important.scheme();
            let shapes = |owner: &Scheme| important.is_some() && owner.failover() == important;
            if OF_EITHER.contains(&option) && owners.iter().any(shapes) {
                return None;
            }
            // Of the arguments clap lists groups too, which nobody shapes.
            if owners.is_empty() && option.starts_with(char::is_uppercase) {
                return None;
            }
            let owners: Vec<String> = owners.iter().map(|owner| name(*owner)).collect();
            let scheme = name(self.scheme);
            Some(format!(
                "for the scheme {scheme}: it is for {}",
                owners.join(", ")
            ))
        })?;
        if let (Some(trees), Some(failures)) = (self.failover.trees, self.failover.resilience)
            && self.scheme != Scheme::DfEdst
            && u16::from(trees) != u16::from(failures) + 1
        {
            return Err(Fault::input(format!(
                "`--trees {trees}` survives {} failures, but `--resilience {failures}` says otherwise",
                trees.saturating_sub(1)
            ))
            .help("give one of the two"));
        }
        Ok(())
    }

    /// Refuses limits of bounces where nothing counts bounces.
    pub(super) fn refuse_class_limits(
        &self,
        classes: &[ClassSpec],
        routes: &RoutePolicy,
    ) -> Result<(), Fault> {
        let counted = self.scheme == Scheme::Tagger && matches!(routes, RoutePolicy::UpDown { .. });
        match classes.iter().find(|class| class.bounces.is_some()) {
            Some(class) if !counted => Err(Fault::input(format!(
                "class `{}` has a limit of bounces, but only up-down routes under the scheme tagger bounce",
                class.name
            ))
            .help(format!("give `--class {}`, without a number", class.name))),
            _ => Ok(()),
        }
    }

    /// Refuses options of other routes than those that are promised.
    pub(super) fn refuse_idle_for_routes(
        &self,
        topology: &Topology,
        routes: &RoutePolicy,
        given: &Given,
    ) -> Result<(), Fault> {
        let for_routes = |kind: &str| {
            format!(
                "with {}: it is for `--routes {kind}`",
                routes_of(topology, routes)
            )
        };
        let searches = self.tagging.algorithm == Some(super::AlgorithmName::Optimal);
        given.refuse(|option| match (option, routes) {
            ("search_moves" | "time_limit", _) if !searches => {
                Some("here: it is for `--algorithm optimal`".to_owned())
            }
            ("bounces", RoutePolicy::UpDown { .. }) => None,
            ("bounces", _) => Some(for_routes("up-down")),
            ("k", RoutePolicy::Ksp { .. }) => None,
            ("k", _) => Some(for_routes("ksp")),
            ("max_switches", RoutePolicy::AllSimple { .. }) => None,
            ("max_switches", _) => Some(for_routes("all")),
            _ => None,
        })
    }
}

fn routes_of(topology: &Topology, routes: &RoutePolicy) -> String {
    match topology.unlayered_switch() {
        Some(_) => format!("{routes} (the topology has no layers)"),
        None => routes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::super::super::{Cli, Command};
    use super::*;

    /// What to write for an option of `plan`.
    fn words(argument: &clap::Arg) -> Vec<String> {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let takes = argument.get_action().takes_values();
        let possible = argument.get_possible_values();
        let value = possible
            .last()
            // A number that is within the bounds of every option but one.
            .map_or_else(
                || match argument.get_id().as_str() {
                    "mtu" => "1500".to_owned(),
                    _ => "3".to_owned(),
                },
                |value| value.get_name().to_owned(),
            );
        // It wants a file to write to.
        let beside = (argument.get_id() == "unproven").then_some("--output=p".to_owned());
        let option = long.into_iter().chain(takes.then_some(value));
        option.chain(beside).collect()
    }

    /// What `plan` says to an option with a scheme; `None` where there is nothing to say.
    fn refusal(scheme: Scheme, option: &[String]) -> Option<String> {
        let mut line = vec!["switchwright".to_owned(), "plan".to_owned(), "t".to_owned()];
        line.extend(["--scheme".to_owned(), name(scheme)]);
        line.extend_from_slice(option);
        let matches = Cli::command().try_get_matches_from(line).unwrap();
        let given = Given::of(&matches);
        let Command::Plan(plan) = Cli::from_arg_matches(&matches).unwrap().command else {
            panic!("not `plan`");
        };
        plan.refuse_idle(&given)
            .err()
            .map(|fault| fault.to_string())
    }

    #[test]
    fn every_option_is_some_schemes_and_refused_for_the_others() {
        let mut command = Cli::command();
        command.build();
        let plan = command.find_subcommand("plan").unwrap();
        let mut refused = 0;
        for argument in plan.get_arguments() {
            let id = argument.get_id().as_str();
            if matches!(
                id,
                "topology" | "scheme" | "help" | "version" | "json" | "quiet" | "verbose"
            ) {
                continue;
            }
            assert!(!owners(id).is_empty(), "no scheme has `{id}`");
            for &scheme in Scheme::value_variants() {
                let said = refusal(scheme, &words(argument));
                let own = owners(id).contains(&scheme);
                assert_eq!(said.is_none(), own, "{id}, {}: {said:?}", name(scheme));
                refused += usize::from(!own);
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
