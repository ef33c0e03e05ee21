//! `switchwright plan`: tables for a topology, proven before they are written.

mod important;
mod lanes;
mod own;
mod transitions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use plan::check::Options;
use plan::failover::{Element, Output};
use plan::{Budget, CarrierKind, CheckedPlan, FailoverSummary, PlanSummary, RuleForm, Tables};
use quantities::{Bytes, Progress};
use schemes::failover::{
    FailoverOptions, FailoverScheme, Method, PathPolicy, SourceRouteOptions, TransitionKind,
    TreeGrowth, df_edst, failover, lossless_failover, source_routes,
};
use schemes::{
    Algorithm, ClassSpec, SchemeError, Search, Spelling, TAGS_AT_LEAST, TaggerOptions,
    idle_by_destination, idle_without_tags,
};
use topology::Topology;
use topology::routes::{RoutePolicy, parse_routes};

use super::fault::{Context, Fault};
use super::given::Given;
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{check, topo};
use important::ImportantArgs;
use measure::timed;
use transitions::TransitionArgs;

/// The routes that have a name.
pub(super) const ROUTES: &[&str] = &[
    "shortest",
    "ksp",
    "up-down",
    "all",
    "bcube",
    "bcube-rotations",
    "up-down-any",
    "lash",
    "dfsssp",
];

/// Arguments of `switchwright plan`.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The topology file.
    topology: String,
    /// The system whose tables to compute.
    #[arg(long, value_enum, default_value_t = Scheme::Tagger)]
    scheme: Scheme,
    /// The plan file to write; without it the plan is only computed, proven and reported.
    #[arg(short, long, value_name = "PLAN")]
    output: Option<String>,
    /// Write the plan even if its proof fails, for `check` and other tools to look at; the status
    /// stays that of the refusal.
    #[arg(long, requires = "output")]
    unproven: bool,
    /// Recorded in the plan; seeds whatever is drawn at random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    tagging: Tagging,
    #[command(flatten)]
    failover: FailoverArgs,
    #[command(flatten)]
    switch: SwitchLimits,
}

/// Schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scheme {
    /// Tagger (Tagger17): tags rise where a cycle of buffers could close.
    Tagger,
    /// TTL tagging (TaggerDraft section 4.2): a tag per hop, whatever the routes.
    Ttl,
    /// Up, then down through the virtual layers of a Flattened Clos keeps the tag, any other turn
    /// raises it (FC23 section 3).
    FlattenedClos,
    /// All shortest paths with one tag, as without a scheme: refused where a cycle of buffers can
    /// close.
    Ecmp,
    /// The k shortest paths with one tag, as without a scheme: refused where a cycle of buffers can
    /// close.
    Ksp,
    /// Failover by the way that a packet has come (Stephens15 section 4.3).
    Plinko,
    /// Failover by the set of failures that a packet has met.
    Fcp,
    /// Failover by the number of the route that a packet follows.
    MplsFrr,
    /// Failover over edge-disjoint spanning trees (Stephens15 section 4.4).
    Edst,
    /// Failover over arc-disjoint spanning trees toward every destination.
    Adst,
    /// Failover by the way that a packet has come, every packet in one lossless channel (Stephens15
    /// section 5.1).
    DfFi,
    /// Failover over edge-disjoint spanning trees, along an acyclic graph of trees, lossless
    /// without a word of it in the header (Stephens15 section 5.2).
    DfEdst,
}

impl Scheme {
    const fn failover(self) -> Option<FailoverScheme> {
        self.kind().failover()
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtectName {
    /// Links between switches.
    Links,
    /// Switches.
    Switches,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PathsName {
    /// A random shortest path for every route.
    RandomShortest,
    /// The shortest path by the lowest ports.
    FirstShortest,
    /// The most common way that avoids the failures, else one that the hosts of a switch share: for
    /// compression (Stephens15 section 4.5.3).
    Common,
    /// The most common way that avoids the failures, else a random shortest path: just what
    /// Stephens15 section 4.5.3 has.
    CommonOnly,
}

/// How disjoint trees grow.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum GrowthName {
    /// Around their destination, breadth first: few links deep.
    Shallow,
    /// By links in random order, whatever the depth, as in Stephens15's evaluation.
    Random,
}

/// How packets of failover schemes are kept lossless.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LosslessName {
    /// The tag rises where keeping it could close a cycle of buffers (Tagger17), over all ways
    /// under all failures.
    Rising,
}

/// What shapes failover tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Failover schemes")]
struct FailoverArgs {
    /// How many failures at once to survive [default: 1, or one less than there are trees]; with
    /// df-edst, at least.
    #[arg(long, value_name = "T")]
    resilience: Option<u8>,
    /// Rules put out one port [default].
    #[arg(long, conflicts_with = "source_routes")]
    hop_by_hop: bool,
    /// Rules put out the ports of all switches on the rest of the way. With flattened-clos: packets
    /// take disjoint paths (FC23 section 3.2), each flow one by its hash.
    #[arg(long)]
    source_routes: bool,
    /// Route to switches rather than hosts, by so many independent routings. With flattened-clos:
    /// disjoint paths of a pair at most [default there: all].
    #[arg(long, value_name = "E")]
    multipath: Option<u16>,
    /// Compress the tables, and choose routes that compress well.
    #[arg(long)]
    compress: bool,
    /// Which paths routes take [default: random-shortest, or common with --compress].
    #[arg(long, value_enum, value_name = "POLICY")]
    paths: Option<PathsName>,
    /// What may fail.
    #[arg(long, value_enum, default_value_t = ProtectName::Links)]
    protect: ProtectName,
    /// How many disjoint trees [default: one more than the resilience; with df-edst, as many as
    /// there are, of each channel].
    #[arg(long, value_name = "N")]
    trees: Option<u8>,
    /// How the trees of edst and adst grow.
    #[arg(long, value_enum, default_value_t = GrowthName::Shallow)]
    growth: GrowthName,
    /// Let packets start on a shortest-path tree beside the disjoint ones (df-edst: on a priority
    /// of its own, in networks whose shortest ways close no cycle of buffers).
    #[arg(long)]
    default_tree: bool,
    /// Say in the header which tree a packet is on (always so with --default-tree), rather than
    /// tell it by the port that it comes in by.
    #[arg(long)]
    mark_trees: bool,
    /// The most hops that a route in a header may have, at most 32 [default: as many as the ways of
    /// the plan take, 16 at least].
    #[arg(long, value_name = "HOPS")]
    stack: Option<u8>,
    /// Keep packets lossless whatever has failed, as far as the tables survive it; df-fi does so by
    /// channels.
    #[arg(long, value_enum, value_name = "HOW")]
    lossless: Option<LosslessName>,
    /// With df-fi: spread packets over at least so many channels [default: as few as are needed].
    /// With df-edst: so many channels, each with trees of its own [default: 1].
    #[arg(long, value_name = "N")]
    channels: Option<u8>,
    #[command(flatten)]
    transitions: TransitionArgs,
    #[command(flatten)]
    important: ImportantArgs,
}

impl FailoverArgs {
    /// How packets are to be kept lossless, if they are.
    fn method(&self, scheme: FailoverScheme) -> Result<Option<Method>, Fault> {
        let channels = scheme == FailoverScheme::DfFi && self.lossless.is_none();
        let trees = scheme == FailoverScheme::DfEdst;
        if self.channels.is_some() && !channels && !trees {
            return Err(Fault::input(
                "--channels spreads packets of --scheme df-fi over channels, and nothing else",
            )
            .help("leave it out, or plan with --scheme df-fi and without --lossless"));
        }
        Ok(match self.lossless {
            Some(LosslessName::Rising) => Some(Method::Rising),
            None => channels.then(|| Method::Channels(self.channels.unwrap_or(1))),
        })
    }

    fn options(&self, scheme: FailoverScheme, seed: u64) -> FailoverOptions {
        let transitions = self.transitions.options(self.channels);
        let surviving = match (scheme, transitions.kind) {
            (FailoverScheme::DfEdst, TransitionKind::NoRes | TransitionKind::Line) => 0,
            _ => 1,
        };
        FailoverOptions {
            resilience: self.resilience.unwrap_or(surviving),
            transitions,
            protect: match self.protect {
                ProtectName::Links => Element::Link,
                ProtectName::Switches => Element::Switch,
            },
            output: if self.source_routes {
                Output::SourceRoutes
            } else {
                Output::HopByHop
            },
            multipath: self.multipath,
            compress: self.compress,
            paths: match self.paths {
                Some(PathsName::RandomShortest) => PathPolicy::RandomShortest,
                Some(PathsName::FirstShortest) => PathPolicy::FirstShortest,
                Some(PathsName::Common) => PathPolicy::Common,
                Some(PathsName::CommonOnly) => PathPolicy::CommonOnly,
                None if self.compress => PathPolicy::Common,
                None => PathPolicy::RandomShortest,
            },
            trees: self.trees,
            growth: match self.growth {
                GrowthName::Shallow => TreeGrowth::Shallow,
                GrowthName::Random => TreeGrowth::Random,
            },
            default_tree: self.default_tree,
            mark_trees: self.mark_trees,
            stack: self.stack,
            seed,
            ..FailoverOptions::new(scheme)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AlgorithmName {
    /// Algorithm 1: a tag per hop of each route; where routes are up-down, also of walks that visit
    /// a switch twice.
    BruteForce,
    /// Algorithm 2: merges brute-force tags greedily; refused where its rules conflict.
    Greedy,
    /// The sound rule: one new tag per (tag, in port, out port) by construction.
    SingleValued,
    /// Single-valued, after a search for fewer tags, with a bound below which there are none.
    Optimal,
    /// One more tag per bounce: optimal in layered topologies.
    Clos,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CarrierName {
    /// IPv4 and IPv6 DSCP.
    Dscp,
    /// 802.1Q priority code point.
    VlanPcp,
    /// 802.1Q VLAN identifier.
    VlanVid,
    /// Our own header after Ethernet, between switches only.
    Shim,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RulesName {
    /// One ingress and one egress port per rule.
    Exact,
    /// Sets of ports as one-hot bitmaps, matched ternary.
    PortSets,
}

/// What shapes tags and rules.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tags, routes, classes")]
struct Tagging {
    /// How tags are computed [default: clos in layered topologies, else single-valued].
    #[arg(long, value_enum)]
    algorithm: Option<AlgorithmName>,
    /// With --algorithm optimal: moves of the search, about a million a second. Plans of the same
    /// number and seed are the same.
    #[arg(long, default_value_t = Search::default().moves, value_name = "N")]
    search_moves: u64,
    /// With --algorithm optimal: end the search after so many seconds. What it has found by then
    /// depends on the machine.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    time_limit: u64,
    /// The routes that are to be lossless: shortest, ksp, up-down, all, bcube, bcube-rotations, or
    /// a file of routes [default: up-down in layered topologies, else shortest]; or one way for
    /// every pair of switches in virtual lanes, which packets keep, on any topology: up-down-any,
    /// lash, dfsssp (Domke11).
    #[arg(long, value_name = "ROUTES")]
    routes: Option<String>,
    /// With up-down routes: how many bounces stay lossless. With --scheme flattened-clos: how many
    /// turns other than up, then down [default there: 0].
    #[arg(long, default_value_t = 1)]
    bounces: u8,
    /// With routes or scheme ksp: paths per pair of switches.
    #[arg(long, default_value_t = 8)]
    k: u32,
    /// With --routes all: the most switches of a route.
    #[arg(long, default_value_t = 3, value_name = "N")]
    max_switches: u16,
    /// With --scheme ttl: switches that a packet may pass and stay lossless [default: as many as
    /// the longest shortest path has].
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..))]
    hops: Option<u8>,
    /// Number of lossless classes.
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "class")]
    classes: u8,
    /// A lossless class by name, with its own limit of bounces where class bits are carried.
    /// Repeatable.
    #[arg(long, value_name = "NAME[:BOUNCES]")]
    class: Vec<String>,
    /// Carry the class beside the tag, so that each class keeps its own limit.
    #[arg(long)]
    class_bits: bool,
    /// Where in the packet tags travel [default: dscp, or shim with failover schemes].
    #[arg(long, value_enum)]
    carrier: Option<CarrierName>,
    /// How rules match ports. Tofino matches sets of ports up to 32 only: a plan for wider switches
    /// wants `exact` there.
    #[arg(long, value_enum, default_value_t = RulesName::PortSets)]
    rules: RulesName,
}

/// What a switch has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits of switches")]
struct SwitchLimits {
    /// Lossless priorities of a switch, beside the lossy one.
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=7))]
    priorities: u8,
    /// Packet buffer of a switch, in KiB.
    #[arg(long, default_value_t = 12 * 1024, value_name = "KIB")]
    buffer: u64,
    /// Largest frame, in bytes.
    #[arg(long, default_value_t = 1500, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(64..=65_535))]
    mtu: u64,
    /// TCAM of a switch for tag rules, in bits [default: no limit].
    #[arg(long, value_name = "BITS")]
    tcam_bits: Option<u64>,
    /// Most ports of a switch.
    #[arg(long, default_value_t = 511, value_name = "N")]
    ports: u16,
}

impl Plan {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        self.refuse_idle(given)?;
        let topology = topo::load(&self.topology)?;
        let watch = terminal.watch("planning");
        let (made, seconds) = timed(|| self.compute(&topology, given, watch.progress()));
        let tables = made?;
        watch.say("proving");
        let options = Options {
            progress: Arc::clone(watch.progress()),
            ..Options::default()
        };
        let kept = self.unproven.then(|| tables.clone());
        let proven = plan::check(tables, &options);
        drop(watch);
        let plan = match (proven, kept, &self.output) {
            (Ok(plan), ..) => plan,
            (Err(failure), Some(tables), Some(output)) => {
                terminal::write(output, &tables.to_json())?;
                return Err(check::refuse(&failure, terminal));
            }
            (Err(failure), ..) => return Err(check::refuse(&failure, terminal)),
        };
        if let Some(output) = &self.output {
            terminal::write(output, &plan.tables().to_json())?;
            if output == "-" {
                return Ok(());
            }
        }
        let mut summary = plan.summary(seconds);
        if terminal.json {
            summary = summary.counting_routes(&plan);
            check::note_forwarding(&plan, terminal);
        }
        let text = || describe(&plan, &summary);
        match self.output {
            Some(_) => terminal.summary(&summary, text)?,
            None => terminal.result(&summary, text)?,
        }
        if self.output.is_none() {
            terminal.note("nothing was written; keep the plan with `-o PLAN`");
        }
        Ok(())
    }

    fn compute(
        &self,
        topology: &Topology,
        given: &Given,
        progress: &Arc<Progress>,
    ) -> Result<Tables, Fault> {
        if let Some(scheme) = self.scheme.failover() {
            let mut options = FailoverOptions {
                progress: Arc::clone(progress),
                ..self.failover.options(scheme, self.seed)
            };
            if let Some(important) = self.failover.important.of(topology, &options)? {
                options = FailoverOptions {
                    important: Some(important),
                    ..important::for_rest(options)
                };
            }
            return match self.failover.method(scheme)? {
                None if scheme == FailoverScheme::DfEdst => {
                    df_edst(topology, &options, &self.failover_tags(given)?)
                }
                None => {
                    given.refuse(|option| idle_without_tags(option, Spelling::CommandLine))?;
                    failover(topology, &options)
                }
                Some(method) => {
                    lossless_failover(topology, &options, method, &self.failover_tags(given)?)
                }
            }
            .map_err(Fault::input);
        }
        if let Some(tables) = self.lanes(topology, given)? {
            return Ok(tables);
        }
        let mut options = self.options(given)?;
        let one_tag = |name, routes: &RoutePolicy| {
            schemes::one_tag(topology, name, routes, &options).map_err(|e| refuse(&e))
        };
        match self.scheme {
            Scheme::FlattenedClos => {
                self.refuse_class_limits(&options.classes, &RoutePolicy::Shortest)?;
                let bounces = given.has("bounces").then_some(options.bounces);
                let bounces = bounces.unwrap_or(0);
                if self.failover.source_routes {
                    return self.source_routes(topology, bounces, given, progress);
                }
                given.refuse(|option| idle_by_destination(option, Spelling::CommandLine))?;
                return schemes::flattened_clos(topology, bounces, &options)
                    .map_err(|e| refuse(&e));
            }
            Scheme::Ecmp => return one_tag("ecmp", &RoutePolicy::Shortest),
            Scheme::Ksp => return one_tag("ksp", &RoutePolicy::Ksp { k: self.tagging.k }),
            _ => {}
        }
        let routes = match self.scheme {
            Scheme::Ttl => options.routes.clone().unwrap_or(RoutePolicy::Shortest),
            _ => options.routes_for(topology, options.algorithm_for(topology)),
        };
        self.refuse_idle_for_routes(topology, &routes, given)?;
        self.refuse_class_limits(&options.classes, &routes)?;
        if self.scheme == Scheme::Ttl {
            return schemes::ttl(topology, self.tagging.hops, &options).map_err(|e| refuse(&e));
        }
        if options.algorithm_for(topology) == Algorithm::Optimal {
            options.search.stop = Some(alarm(Duration::from_secs(self.tagging.time_limit)));
        }
        schemes::tagger(topology, &options).map_err(|e| refuse(&e))
    }

    /// The disjoint paths of a Flattened Clos as source routes.
    fn source_routes(
        &self,
        topology: &Topology,
        bounces: u8,
        given: &Given,
        progress: &Progress,
    ) -> Result<Tables, Fault> {
        if self.failover.multipath == Some(0) {
            return Err(Fault::input(
                "--multipath 0: a pair of switches needs a path",
            ));
        }
        let wanted = SourceRouteOptions {
            paths: self.failover.multipath,
            bounces,
            stack: self.failover.stack,
        };
        let tags = self.failover_tags(given)?;
        source_routes(topology, wanted, &tags, progress).map_err(Fault::input)
    }

    /// What shapes the lossless tags of failover schemes.
    fn failover_tags(&self, given: &Given) -> Result<TaggerOptions, Fault> {
        let mut tagger = self.options(given)?;
        if self.tagging.carrier.is_none() {
            tagger.carrier = CarrierKind::Shim;
        }
        Ok(tagger)
    }

    fn options(&self, given: &Given) -> Result<TaggerOptions, Fault> {
        let tagging = &self.tagging;
        let classes: Vec<ClassSpec> = tagging
            .class
            .iter()
            .map(|text| class(text))
            .collect::<Result<_, _>>()?;
        let bounces = tagging.bounces(&classes, given)?;
        let mut options = TaggerOptions {
            algorithm: tagging.algorithm.map(|name| match name {
                AlgorithmName::BruteForce => Algorithm::BruteForce,
                AlgorithmName::Greedy => Algorithm::Greedy,
                AlgorithmName::SingleValued => Algorithm::SingleValued,
                AlgorithmName::Optimal => Algorithm::Optimal,
                AlgorithmName::Clos => Algorithm::Clos,
            }),
            routes: tagging.policy(bounces)?,
            bounces,
            class_bits: tagging.class_bits,
            carrier: match tagging.carrier {
                None | Some(CarrierName::Dscp) => CarrierKind::Dscp,
                Some(CarrierName::VlanPcp) => CarrierKind::VlanPcp,
                Some(CarrierName::VlanVid) => CarrierKind::VlanVid,
                Some(CarrierName::Shim) => CarrierKind::Shim,
            },
            form: match tagging.rules {
                RulesName::Exact => RuleForm::Exact,
                RulesName::PortSets => RuleForm::PortSets,
            },
            budget: self.switch.budget(),
            seed: self.seed,
            search: Search {
                moves: tagging.search_moves,
                stop: None,
            },
            ..TaggerOptions::default()
        };
        if !classes.is_empty() {
            options.classes = classes;
        } else if tagging.classes != 1 {
            options = options.with_classes(tagging.classes);
        }
        Ok(options)
    }
}

impl Tagging {
    /// How many bounces stay lossless: as many as the class with the most asks for, unless
    /// `--bounces` says.
    fn bounces(&self, classes: &[ClassSpec], given: &Given) -> Result<u8, Fault> {
        let most = classes.iter().filter_map(|class| class.bounces).max();
        let beyond = classes
            .iter()
            .find(|class| class.bounces.is_some_and(|own| own > self.bounces));
        match (given.has("bounces"), beyond) {
            (true, Some(class)) => Err(Fault::input(format!(
                "class `{}` is to stay lossless over more bounces than `--bounces {}` allows",
                class.name, self.bounces
            ))
            .help(format!("give `--bounces {}`", most.unwrap_or_default()))),
            (true, None) => Ok(self.bounces),
            (false, _) => Ok(self.bounces.max(most.unwrap_or_default())),
        }
    }

    /// The routes that were asked for; a word that names no policy is a file.
    fn policy(&self, bounces: u8) -> Result<Option<RoutePolicy>, Fault> {
        let Some(routes) = &self.routes else {
            return Ok(None);
        };
        Ok(Some(match routes.as_str() {
            "shortest" => RoutePolicy::Shortest,
            "ksp" => RoutePolicy::Ksp { k: self.k },
            "up-down" => RoutePolicy::UpDown { bounces },
            "all" => RoutePolicy::AllSimple {
                max_switches: self.max_switches,
            },
            "bcube" => RoutePolicy::BcubeDigit,
            "bcube-rotations" => RoutePolicy::BcubeRotations,
            lanes if lanes::named(lanes).is_some() => return Ok(None),
            path => {
                let text = terminal::read(path).map_err(|fault| {
                    fault.help(
                        "--routes takes shortest, ksp, up-down, all, bcube, bcube-rotations, up-down-any, lash, dfsssp, or a file of routes",
                    )
                })?;
                let routes = parse_routes(&text).input(path)?;
                if routes.is_empty() {
                    return Err(Fault::input(format!("{path}: there is no route in it"))
                        .help("write a route a line, or promise a kind of routes (`--routes shortest`)"));
                }
                RoutePolicy::Explicit { routes }
            }
        }))
    }
}

impl SwitchLimits {
    fn budget(&self) -> Budget {
        Budget {
            lossless_priorities: self.priorities,
            ports: self.ports,
            tcam_bits: self.tcam_bits,
            buffer: Bytes::new(self.buffer.saturating_mul(1024)),
            mtu: Bytes::new(self.mtu),
        }
    }
}

/// Reads `NAME` or `NAME:BOUNCES`.
fn class(text: &str) -> Result<ClassSpec, Fault> {
    let Some((name, bounces)) = text.rsplit_once(':') else {
        return Ok(ClassSpec {
            name: text.to_owned(),
            bounces: None,
        });
    };
    let bounces = bounces.parse().map_err(|_| {
        Fault::input(format!(
            "--class {text}: `{bounces}` is not a number of bounces (0 to 255)"
        ))
    })?;
    Ok(ClassSpec {
        name: name.to_owned(),
        bounces: Some(bounces),
    })
}

/// A flag that is set after a time.
fn alarm(after: Duration) -> Arc<AtomicBool> {
    let flag = Arc::<AtomicBool>::default();
    let set = Arc::clone(&flag);
    // It sleeps until then or the process's end, whichever is first.
    std::thread::spawn(move || {
        std::thread::sleep(after);
        set.store(true, Ordering::Relaxed);
    });
    flag
}

/// A scheme's refusal with the exit status that it deserves.
fn refuse(error: &SchemeError) -> Fault {
    Fault::input(error)
}

/// The plan for people.
pub(super) fn describe(plan: &CheckedPlan, summary: &PlanSummary) -> String {
    let topology = plan.topology();
    if let Some(figures) = &summary.failover {
        return describe_failover(plan, summary, figures);
    }
    let provenance = &plan.tables().provenance;
    let priorities = plan
        .tagging()
        .priorities
        .iter()
        .map(|(tag, priority)| format!("{tag} -> {priority}"));
    let most = u64::from(plan.tables().budget.lossless_priorities);
    let headroom = topology
        .switch_ids()
        .map(|s| plan.headroom(s))
        .max_by_key(|h| h.per_priority)
        .map_or_else(String::new, |h| {
            format!(
                "{} B per priority at the worst switch ({} B per port); its buffer affords {} of {} lossless priorities",
                h.per_priority,
                h.per_port_max,
                h.affordable.min(most),
                most
            )
        });
    let report = plan.report();
    let facts = terminal::facts(&[
        (
            "topology",
            format!(
                "{}: {}, {}",
                topology.name(),
                counted(summary.switches, "switch"),
                counted(summary.hosts, "host")
            ),
        ),
        (
            "scheme",
            format!("{} {}", provenance.scheme, provenance.algorithm),
        ),
        ("promised lossless", plan.promised().to_string()),
        ("promised to", check::describe_promised(&report)),
        ("forwarding", check::describe_forwarding(&report)),
        ("tags", tags_of(plan, summary)),
        (
            "tags -> priorities",
            format!(
                "{} (everything else: lossy, 0)",
                priorities.collect::<Vec<_>>().join(", ")
            ),
        ),
        ("carrier", plan.carrier().kind.name().to_owned()),
        (
            "rules",
            format!(
                "{} in all, at most {} on a switch ({} TCAM bits)",
                summary.rules_total, summary.rules_max_per_switch, summary.tcam_bits_max
            ),
        ),
        ("PFC headroom", headroom),
        ("planned in", format!("{:.3} s", summary.seconds)),
    ]);
    format!(
        "{facts}  proven: no cyclic buffer dependency for any routing; {}\n",
        check::describe_kept(&report)
    )
}

/// How many tags there are, and whether fewer could do, where that was looked for.
fn tags_of(plan: &CheckedPlan, summary: &PlanSummary) -> String {
    let found = summary.tags;
    match plan.tables().provenance.options.get(TAGS_AT_LEAST) {
        None => found.to_string(),
        Some(least) if *least == found.to_string() => format!("{found}; fewer cannot do"),
        Some(least) => format!("{found}; at least {least} are needed"),
    }
}

/// A plan of failover tables for people.
fn describe_failover(
    plan: &CheckedPlan,
    summary: &PlanSummary,
    figures: &FailoverSummary,
) -> String {
    let options = plan.tables().provenance.options.iter();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let mbit = |bits: u64| format!("{:.3} Mbit", bits as f64 / 1e6);
    let mut facts = vec![
        (
            "topology",
            format!(
                "{}: {}, {}",
                plan.topology().name(),
                counted(summary.switches, "switch"),
                counted(summary.hosts, "host")
            ),
        ),
        (
            "scheme",
            format!("{} ({})", summary.scheme, options.join(", ")),
        ),
        (
            "destinations",
            format!(
                "{}, of {}",
                figures.destinations,
                counted(figures.pairs, "pair")
            ),
        ),
        (
            "rules",
            format!(
                "{} in all, at most {} on a switch",
                figures.rules, figures.rules_max
            ),
        ),
        (
            "TCAM",
            format!(
                "at most {} on a switch as Stephens15 counts; {} and {} on Tofino 1",
                mbit(figures.tcam_bits_max),
                mbit(figures.tofino_bits_max),
                counted(figures.tofino_stages_max, "stage")
            ),
        ),
        (
            "header",
            format!(
                "reverse routes of up to {} are matched, forward routes of up to {} written",
                counted(figures.longest_reverse, "hop"),
                figures.longest_forward
            ),
        ),
    ];
    let report = plan.report();
    facts.extend(check::gaps(&report));
    if plan.tables().has_tags() {
        facts.push(("lossless", check::describe_lossless(plan.tables(), &report)));
        let rules = plan.topology().switch_ids().map(|s| plan.counts(s).rules);
        let (total, most) = rules.fold((0, 0), |(sum, most), own| (sum + own, most.max(own)));
        facts.push((
            "tag rules",
            format!("{total} in all, at most {most} on a switch"),
        ));
    }
    facts.push(("planned in", format!("{:.3} s", summary.seconds)));
    facts.push((
        summary.verdict.name(),
        check::describe_resilience(&report.resilience),
    ));
    terminal::facts(&facts)
}
