//! The command line and the fields of scenarios spell one request.

use clap::{Args, Command, CommandFactory, FromArgMatches};
use spec::{Choice, PlanSpec, SchemeKind, Spelling};

use super::super::Cli;

/// Options of a plan on the command line, and the same as fields.
const OPTIONS: &[(&str, &str)] = &[
    ("--seed=3", r#""seed": 3"#),
    (
        "--algorithm=single-valued",
        r#""algorithm": "single-valued""#,
    ),
    ("--algorithm=optimal", r#""algorithm": "optimal""#),
    ("--search-moves=1000", r#""search_moves": 1000"#),
    ("--routes=shortest", r#""routes": "shortest""#),
    ("--routes=lash", r#""routes": "lash""#),
    ("--routes=up-down", r#""routes": "up-down""#),
    ("--bounces=2", r#""bounces": 2"#),
    ("--k=3", r#""k": 3"#),
    ("--max-switches=4", r#""max_switches": 4"#),
    ("--hops=6", r#""hops": 6"#),
    ("--classes=2", r#""classes": 2"#),
    ("--class=gold:2", r#""class": ["gold:2"]"#),
    ("--class-bits", r#""class_bits": true"#),
    ("--carrier=vlan-pcp", r#""carrier": "vlan-pcp""#),
    ("--codes=26,28", r#""codes": [26, 28]"#),
    ("--tag-priorities=3,4", r#""tag_priorities": [3, 4]"#),
    ("--rules=exact", r#""rules": "exact""#),
    ("--resilience=1", r#""resilience": 1"#),
    ("--hop-by-hop", r#""hop_by_hop": true"#),
    ("--source-routes", r#""source_routes": true"#),
    ("--multipath=1", r#""multipath": 1"#),
    ("--compress", r#""compress": true"#),
    ("--paths=first-shortest", r#""paths": "first-shortest""#),
    ("--protect=switches", r#""protect": "switches""#),
    ("--trees=1", r#""trees": 1"#),
    ("--growth=random", r#""growth": "random""#),
    ("--default-tree", r#""default_tree": true"#),
    ("--mark-trees", r#""mark_trees": true"#),
    ("--stack=5", r#""stack": 5"#),
    ("--lossless=rising", r#""lossless": "rising""#),
    ("--channels=1", r#""channels": 1"#),
    ("--ttg=line", r#""ttg": "line""#),
    ("--tree-order=perf", r#""tree_order": "perf""#),
    ("--initial-trees=1", r#""initial_trees": 1"#),
    ("--subset=2", r#""subset": 2"#),
    ("--connect-layers", r#""connect_layers": true"#),
    ("--important=h1,h2", r#""important": ["h1", "h2"]"#),
    ("--important-scheme=adst", r#""important_scheme": "adst""#),
    ("--important-resilience=2", r#""important_resilience": 2"#),
    ("--priorities=3", r#""priorities": 3"#),
    ("--buffer=1024", r#""buffer": "1MiB""#),
    ("--mtu=9000", r#""mtu": 9000"#),
    ("--tcam-bits=100000", r#""tcam_bits": 100000"#),
    ("--ports=64", r#""ports": 64"#),
];

/// Arguments of `plan` that are not of the request.
const OF_THE_COMMAND: &[&str] = &[
    "topology", "output", "unproven", "help", "version", "json", "quiet", "verbose",
];

fn by_command(plan: &Command, scheme: SchemeKind, options: &[usize]) -> PlanSpec {
    let mut line = vec!["plan", "--scheme", scheme.name()];
    line.extend(options.iter().map(|at| OPTIONS[*at].0));
    let matches = plan.clone().try_get_matches_from(&line).unwrap();
    PlanSpec::from_arg_matches(&matches).unwrap()
}

fn by_fields(scheme: SchemeKind, options: &[usize]) -> PlanSpec {
    let fields = options.iter().map(|at| format!(", {}", OPTIONS[*at].1));
    let fields: String = fields.collect();
    serde_json::from_str(&format!(r#"{{"scheme": "{}"{fields}}}"#, scheme.name())).unwrap()
}

#[test]
fn every_argument_of_plan_is_a_field_of_a_request() {
    let mut command = Cli::command();
    command.build();
    let plan = command.find_subcommand("plan").unwrap();
    let names = plan
        .get_arguments()
        .map(|argument| argument.get_id().as_str());
    let listed = |name: &str| {
        let field = format!("\"{name}\": ");
        OPTIONS.iter().any(|(_, text)| text.starts_with(&field))
    };
    let rest: Vec<&str> = names
        .filter(|name| !OF_THE_COMMAND.contains(name) && !listed(name))
        .collect();
    // A scenario must not depend on the speed of a machine, and says all of its network.
    assert_eq!(rest, ["scheme", "time_limit", "strict"]);
    let timed = serde_json::from_str::<PlanSpec>(r#"{"algorithm": "optimal", "time_limit": 3}"#);
    assert!(timed.is_err());
}

#[test]
fn the_command_line_and_fields_ask_for_the_same() {
    let all = 0..OPTIONS.len();
    let mut asked: Vec<Vec<usize>> = vec![vec![]];
    asked.extend(all.clone().map(|at| vec![at]));
    asked.extend(all.flat_map(|first| (0..first).map(move |second| vec![second, first])));
    let plan = PlanSpec::augment_args(Command::new("plan"));
    let (mut taken, mut refused) = (0, 0);
    for (number, &scheme) in SchemeKind::ALL.iter().enumerate() {
        for options in &asked {
            // A third of the pairs for each scheme: they take long to parse.
            if let [one, other] = options[..]
                && (one + other + number) % 3 > 0
            {
                continue;
            }
            let name = |at: &usize| OPTIONS[*at].0.split('=').next().unwrap();
            let names: Vec<&str> = options.iter().map(name).collect();
            // Clap itself refuses these pairs, and an option that stands twice.
            if matches!(names[..], [one, other] if one == other)
                || [
                    &["--classes", "--class"][..],
                    &["--hop-by-hop", "--source-routes"],
                ]
                .contains(&&names[..])
            {
                continue;
            }
            let command = by_command(&plan, scheme, options).validate(Spelling::CommandLine);
            let fields = by_fields(scheme, options).validate(Spelling::Fields);
            match (command, fields) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one, other, "{scheme:?} {names:?}");
                    taken += 1;
                }
                (Err(_), Err(_)) => refused += 1,
                (one, other) => panic!("{scheme:?} {names:?}: {one:?} but {other:?}"),
            }
        }
    }
    assert!(taken > 200 && refused > 2_000, "{taken} {refused}");
}
