//! Which options a scheme has. Any other is refused: it would change nothing.

use schemes::failover::FailoverScheme;
use schemes::{ClassSpec, SchemeKind, Spelling, contradiction, idle_for_routes, idle_for_scheme};
use topology::Topology;
use topology::routes::RoutePolicy;

use super::super::fault::Fault;
use super::super::given::Given;
use super::{Plan, Scheme};

impl Scheme {
    /// The scheme as the list of options knows it.
    pub(super) const fn kind(self) -> SchemeKind {
        match self {
            Self::Tagger => SchemeKind::Tagger,
            Self::Ttl => SchemeKind::Ttl,
            Self::FlattenedClos => SchemeKind::FlattenedClos,
            Self::Ecmp => SchemeKind::Ecmp,
            Self::Ksp => SchemeKind::Ksp,
            Self::Plinko => SchemeKind::Failover(FailoverScheme::Plinko),
            Self::Fcp => SchemeKind::Failover(FailoverScheme::Fcp),
            Self::MplsFrr => SchemeKind::Failover(FailoverScheme::MplsFrr),
            Self::Edst => SchemeKind::Failover(FailoverScheme::Edst),
            Self::Adst => SchemeKind::Failover(FailoverScheme::Adst),
            Self::DfFi => SchemeKind::Failover(FailoverScheme::DfFi),
            Self::DfEdst => SchemeKind::Failover(FailoverScheme::DfEdst),
        }
    }
}

impl Plan {
    /// Refuses options that the scheme has not.
    pub(super) fn refuse_idle(&self, given: &Given) -> Result<(), Fault> {
        let scheme = self.scheme.kind();
        let important = self.failover.important.scheme();
        given.refuse(|option| {
            // Of the arguments clap lists groups too, which nobody shapes.
            let group = option.starts_with(char::is_uppercase);
            idle_for_scheme(option, scheme, important).filter(|_| !group)
        })?;
        let (trees, failures) = (self.failover.trees, self.failover.resilience);
        match contradiction(scheme, trees, failures, Spelling::CommandLine) {
            Some(problem) => Err(Fault::input(problem).help("give one of the two")),
            None => Ok(()),
        }
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
        let searches = self.tagging.algorithm == Some(super::AlgorithmName::Optimal);
        given.refuse(|option| {
            idle_for_routes(option, topology, routes, searches, Spelling::CommandLine)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::{CommandFactory, FromArgMatches, ValueEnum};
    use schemes::owners;

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
        line.extend(["--scheme".to_owned(), scheme.kind().name().to_owned()]);
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
                let own = owners(id).contains(&scheme.kind());
                assert_eq!(said.is_none(), own, "{id}, {scheme:?}: {said:?}");
                refused += usize::from(!own);
            }
        }
        assert!(refused > 100, "{refused}");
    }

    /// Fields of a scenario's plan, the same on the command line, and values that suit some
    /// network.
    const FIELDS: &[(&str, &str, &str)] = &[
        (
            "algorithm",
            "--algorithm=single-valued",
            r#""single-valued""#,
        ),
        ("search_moves", "--search-moves=1000", "1000"),
        ("routes", "--routes=shortest", r#"{"policy": "shortest"}"#),
        ("bounces", "--bounces=2", "2"),
        ("classes", "--classes=2", "2"),
        ("hops", "--hops=6", "6"),
        ("k", "--k=3", "3"),
        ("class_bits", "--class-bits", "true"),
        ("carrier", "--carrier=vlan-pcp", r#""vlan-pcp""#),
        ("rules", "--rules=exact", r#""exact""#),
        ("resilience", "--resilience=1", "1"),
        ("lossless", "--lossless=rising", r#""rising""#),
        ("multipath", "--multipath=1", "1"),
        ("trees", "--trees=1", "1"),
        ("channels", "--channels=1", "1"),
        ("ttg", "--ttg=line", r#""line""#),
        ("seed", "--seed=3", "3"),
    ];

    /// What the command line makes of these fields; `None` where it plans.
    fn by_command(topology: &Topology, scheme: Scheme, fields: &[usize]) -> Option<String> {
        let mut line = vec![
            "switchwright",
            "plan",
            "t",
            "--scheme",
            scheme.kind().name(),
        ];
        line.extend(fields.iter().map(|at| FIELDS[*at].1));
        let matches = Cli::command().try_get_matches_from(line).unwrap();
        let given = Given::of(&matches);
        let Command::Plan(plan) = Cli::from_arg_matches(&matches).unwrap().command else {
            panic!("not `plan`");
        };
        let made = plan.refuse_idle(&given);
        let made = made.and_then(|()| plan.compute(topology, &given, &Arc::default()));
        made.err().map(|fault| fault.to_string())
    }

    /// What a scenario, the page and Python make of them.
    fn by_fields(topology: &Topology, scheme: Scheme, fields: &[usize]) -> Option<String> {
        let mut text = format!(r#"{{"scheme": "{}""#, scheme.kind().name());
        for at in fields {
            text.push_str(&format!(r#", "{}": {}"#, FIELDS[*at].0, FIELDS[*at].2));
        }
        text.push('}');
        let spec: netsim::simulate::PlanSpec = serde_json::from_str(&text).unwrap();
        spec.tables(topology).err().map(|error| error.to_string())
    }

    #[test]
    fn every_option_of_every_scheme_is_judged_alike_by_the_command_line_and_by_scenarios() {
        use topology::generate::{Cables, Clos, FlattenedClos, Ring};
        let cables = Cables::default();
        let clos = Clos {
            leaves: 3,
            spines: 2,
            hosts: 1,
            parallel: 1,
            cables,
        };
        let ring = Ring {
            switches: 4,
            hosts: 1,
            cables,
        };
        let flattened = FlattenedClos {
            switches: 8,
            ports: 7,
            fabric_ports: 6,
            layers: Some(3),
            split: None,
            single_links: false,
            optical: None,
            seed: 1,
            cables,
        };
        let networks = [
            clos.generate().unwrap(),
            ring.generate().unwrap(),
            flattened.generate().unwrap(),
        ];
        let all = 0..FIELDS.len();
        let mut asked: Vec<Vec<usize>> = vec![vec![]];
        asked.extend(all.clone().map(|at| vec![at]));
        let pairs = all.flat_map(|first| (0..first).map(move |second| vec![second, first]));
        asked.extend(pairs);
        let (mut taken, mut refused) = (0, 0);
        for (number, topology) in networks.iter().enumerate() {
            for &scheme in Scheme::value_variants() {
                for fields in &asked {
                    // Pairs on one network: which it is matters to few.
                    if number > 0 && fields.len() > 1 {
                        continue;
                    }
                    let command = by_command(topology, scheme, fields);
                    let spec = by_fields(topology, scheme, fields);
                    let names: Vec<&str> = fields.iter().map(|at| FIELDS[*at].0).collect();
                    assert_eq!(
                        command.is_none(),
                        spec.is_none(),
                        "{scheme:?} {names:?} on {}: {command:?} but {spec:?}",
                        topology.name()
                    );
                    taken += usize::from(command.is_none());
                    refused += usize::from(command.is_some());
                }
            }
        }
        assert!(taken > 100 && refused > 500, "{taken} {refused}");
    }
}
