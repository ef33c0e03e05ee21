//! The programs for Tofino through its open compiler, where that is installed: `p4c-barefoot` and
//! `bfas` on PATH, or named by `P4C_BAREFOOT` and `BFAS`; `P4C_BAREFOOT_INCLUDE` lists (by `:`)
//! where `tna.p4` and `core.p4` are, for a compiler that is not installed where it was built for.
//!
//! A whole compilation takes up to minutes, so one program is compiled, and all of them with
//! `P4C_BAREFOOT_ALL=1`; `P4C_BAREFOOT_ONLY=failover` looks only at those whose names say so. The
//! schema that the compiler writes first is looked at for every program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use p4gen::capabilities::{Capabilities, Estimate, Pipeline};
use p4gen::family::{FailoverFeatures, HeaderState, ProgramFeatures, TaggerFeatures};
use p4gen::layout::{Layout, MatchKind, profile_of, table};
use p4gen::program::{Program, generate_with};
use p4gen::targets::{TNA, TNA2};
use plan::{CarrierKind, RuleForm, TagCode};
use serde_json::Value;

/// Longest wait for a schema, and for a program.
const SCHEMA_WAIT: Duration = Duration::from_secs(600);
const PROGRAM_WAIT: Duration = Duration::from_secs(3600);

/// A program with what it is compiled for.
struct Case {
    name: String,
    features: ProgramFeatures,
    layout: Layout,
    target: &'static Capabilities,
}

impl Case {
    fn new(features: impl Into<ProgramFeatures>, target: &'static Capabilities) -> Self {
        let features = features.into();
        Self {
            name: format!("{}-{}", features.program_name(), target.target),
            features,
            layout: features.layout(target.architecture),
            target,
        }
    }

    fn tagger(
        carrier: CarrierKind,
        form: RuleForm,
        class_shift: Option<u8>,
        target: &'static Capabilities,
    ) -> Self {
        let features = TaggerFeatures {
            carrier,
            class_shift,
            lossy: TagCode::new(u16::from(carrier == CarrierKind::VlanVid)),
            form,
            port_bits: if form == RuleForm::Exact { 9 } else { 32 },
            maps: false,
        };
        Self::new(features, target)
    }

    fn failover(
        state: HeaderState,
        source_routes: bool,
        multipath: bool,
        stack: u8,
        target: &'static Capabilities,
    ) -> Self {
        let features = FailoverFeatures {
            state,
            source_routes,
            stack,
            port_bits: 32,
            multipath,
            tags: None,
            channels: false,
            rules: 16_384,
        };
        Self::new(features, target)
    }

    /// The same with a table of this size.
    fn sized(mut self, name: &str, size: u32) -> Self {
        for table in self.layout.tables.iter_mut().filter(|t| t.name == name) {
            table.size = size;
        }
        self.name += &format!(" with {size} entries in {name}");
        self
    }

    fn pipeline(&self) -> Pipeline {
        self.target.pipeline.expect("Tofino has one")
    }

    fn program(&self) -> Program {
        let program = generate_with(self.features, self.target, self.layout.clone());
        program.expect("the templates render")
    }

    fn estimate(&self) -> Estimate {
        let pipeline = self.pipeline();
        Estimate::of(&self.features.ingress(&self.layout, &pipeline), &pipeline)
    }
}

/// Every carrier in both port modes, and with class bits, and every kind of failover program, for
/// both.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for target in [&TNA.capabilities, &TNA2.capabilities] {
        for form in [RuleForm::Exact, RuleForm::PortSets] {
            for &carrier in CarrierKind::ALL {
                cases.push(Case::tagger(carrier, form, None, target));
            }
            cases.push(Case::tagger(CarrierKind::Dscp, form, Some(3), target));
        }
        for (state, source_routes, multipath) in [
            (HeaderState::Tag, false, false),
            (HeaderState::Tag, true, true),
            (HeaderState::ReverseRoute, false, false),
            (HeaderState::ReverseRoute, true, true),
            (HeaderState::Trees, false, true),
            (HeaderState::Trees, true, false),
            (HeaderState::WayOrTrees, false, false),
            (HeaderState::WayOrTrees, true, true),
        ] {
            cases.push(Case::failover(state, source_routes, multipath, 4, target));
        }
    }
    cases
}

/// The compiler, with where it finds `tna.p4`.
struct Compiler {
    p4c: OsString,
    assembler: OsString,
    includes: Vec<PathBuf>,
}

impl Compiler {
    /// The compiler, if it is there; says that the test is skipped if not.
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    fn find() -> Option<Self> {
        let tool = |variable: &str, name: &str| {
            let tool = std::env::var_os(variable).unwrap_or_else(|| name.into());
            let starts = Command::new(&tool).arg("--version").output().is_ok();
            if !starts {
                println!("skipped: {name} is neither on PATH nor named by {variable}");
            }
            starts.then_some(tool)
        };
        let includes = std::env::var_os("P4C_BAREFOOT_INCLUDE");
        Some(Self {
            p4c: tool("P4C_BAREFOOT", "p4c-barefoot")?,
            assembler: tool("BFAS", "bfas")?,
            includes: includes.map_or_else(Vec::new, |list| std::env::split_paths(&list).collect()),
        })
    }

    fn start(&self, case: &Case, at: &Path) -> Compilation {
        let chip = case.pipeline().chip;
        let program = case.program();
        for file in program.files() {
            std::fs::write(at.join(&file.name), &file.text).expect("a writable directory");
        }
        let log = std::fs::File::create(at.join("log")).expect("a writable directory");
        let mut command = Command::new(&self.p4c);
        command.args(["--target", chip, "--arch", case.target.include]);
        for include in &self.includes {
            command.arg("-I").arg(include);
        }
        command
            .args([
                "--bf-rt-schema",
                "bfrt.json",
                "-o",
                "out",
                &program.main.name,
            ])
            .current_dir(at)
            .stdout(Stdio::null())
            .stderr(log);
        Compilation {
            child: command.spawn().expect("the compiler starts"),
            at: at.to_owned(),
            name: program.name(),
            layout: program.layout,
        }
    }

    /// Assembles what was compiled.
    fn assemble(&self, case: &Case, compilation: &Compilation) {
        let chip = case.pipeline().chip;
        let output = Command::new(&self.assembler)
            .args(["--target", chip, "-o", "out/pipe"])
            .arg(compilation.assembly())
            .current_dir(&compilation.at)
            .output()
            .expect("the assembler starts");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "bfas, {}:\n{words}", case.name);
    }
}

/// A compiler at work; it ends with this.
struct Compilation {
    child: Child,
    at: PathBuf,
    /// The main file's name, without `.p4`.
    name: &'static str,
    layout: Layout,
}

impl Drop for Compilation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Compilation {
    fn assembly(&self) -> String {
        format!("out/pipe/{}.bfa", self.name)
    }

    fn words(&self) -> String {
        std::fs::read_to_string(self.at.join("log")).unwrap_or_default()
    }

    /// The schema of BF Runtime, which is written long before the program.
    fn schema(&mut self) -> Value {
        let start = Instant::now();
        loop {
            let text = std::fs::read(self.at.join("bfrt.json")).unwrap_or_default();
            if let Ok(schema) = serde_json::from_slice(&text) {
                return schema;
            }
            let ended = self.child.try_wait().expect("a child of ours");
            assert!(
                ended.is_none() && start.elapsed() < SCHEMA_WAIT,
                "no schema:\n{}",
                self.words()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the end.
    fn finish(&mut self, name: &str) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(start.elapsed() < PROGRAM_WAIT, "{name} does not end");
            std::thread::sleep(Duration::from_millis(200));
        };
        assert!(status.success(), "p4c-barefoot, {name}:\n{}", self.words());
    }

    /// How many stages the compiler took: ingress or egress, whichever ends last.
    fn stages(&self) -> u64 {
        let text = std::fs::read_to_string(self.at.join(self.assembly()));
        let text = text.expect("the compiler wrote it");
        let stage = |line: &str| -> Option<u64> {
            let number = line.strip_prefix("stage ")?.split_whitespace().next()?;
            number.parse().ok()
        };
        let mut last = 0;
        let mut current = 0;
        for line in text.lines() {
            current = stage(line).unwrap_or(current);
            // Stages without tables are listed too.
            let words: Vec<&str> = line.split_whitespace().collect();
            if line.starts_with("  ") && TABLE_KINDS.contains(words.first().unwrap_or(&"")) {
                last = last.max(current);
            }
        }
        last + 1
    }
}

/// What a table begins with in the assembler's text.
const TABLE_KINDS: [&str; 5] = [
    "exact_match",
    "ternary_match",
    "gateway",
    "hash_action",
    "selection",
];

/// Names and widths by name.
type Widths = BTreeMap<String, u64>;

fn name_of(value: &Value) -> String {
    value["name"]
        .as_str()
        .expect("everything has a name")
        .to_owned()
}

fn width_of(value: &Value) -> u64 {
    value["type"]["width"].as_u64().unwrap_or(0)
}

fn widths(list: &Value) -> Widths {
    let list = list.as_array().expect("a list");
    list.iter().map(|v| (name_of(v), width_of(v))).collect()
}

/// Every table, key, action and parameter that our entries name is in the schema, as wide and
/// matched as they say.
fn assert_schema_names(name: &str, schema: &Value, layout: &Layout) {
    let tables = schema["tables"].as_array().expect("tables");
    let find = |table: &str| {
        let full = format!("pipe.{table}");
        let found = tables.iter().find(|t| t["name"] == full.as_str());
        found
            .cloned()
            .unwrap_or_else(|| Value::String(format!("no {full}")))
    };
    for table in &layout.tables {
        let found = find(table.name);
        assert!(found.is_object(), "{name}: {found}");
        for key in &table.key {
            let theirs = found["key"].as_array().expect("keys").iter();
            let theirs = theirs.into_iter().find(|k| k["name"] == key.name);
            let theirs = theirs.unwrap_or(&Value::Null);
            assert_eq!(
                width_of(theirs),
                u64::from(key.bits),
                "{name}: {} of {}",
                key.name,
                table.name
            );
            let kind = match key.kind {
                MatchKind::Exact => "Exact",
                MatchKind::Lpm => "LPM",
                MatchKind::Ternary => "Ternary",
                other => other.name(),
            };
            assert_eq!(
                theirs["match_type"], kind,
                "{name}: {} of {}",
                key.name, table.name
            );
        }
        let prioritised = widths(&found["key"]).contains_key("$MATCH_PRIORITY");
        assert_eq!(prioritised, table.has_priority(), "{name}: {}", table.name);
        let holder = match table.selector {
            Some(selector) => {
                let groups = find(selector);
                assert!(
                    widths(&groups["key"]).contains_key("$SELECTOR_GROUP_ID"),
                    "{name}"
                );
                find(&profile_of(selector))
            }
            None => found,
        };
        for action in &table.actions {
            let specs = holder["action_specs"].as_array().expect("actions");
            let theirs = specs.iter().find(|a| a["name"] == *action);
            let theirs = theirs.unwrap_or(&Value::Null);
            assert!(theirs.is_object(), "{name}: no {action} in {}", table.name);
            let ours = layout.action(action).expect("an action of the layout");
            let ours: Widths = ours
                .params
                .iter()
                .map(|p| (p.name.to_owned(), u64::from(p.bits)))
                .collect();
            assert_eq!(
                widths(&theirs["data"]),
                ours,
                "{name}: {action} of {}",
                table.name
            );
        }
    }
}

#[test]
fn the_compilers_schema_names_everything_that_our_entries_name() {
    let Some(compiler) = Compiler::find() else {
        return;
    };
    let only = only();
    for case in cases().into_iter().filter(|case| case.name.contains(&only)) {
        let at = tempfile::tempdir().expect("a temporary directory");
        let mut compilation = compiler.start(&case, at.path());
        let schema = compilation.schema();
        assert_schema_names(&case.name, &schema, &compilation.layout);
    }
}

#[test]
fn programs_compile_and_take_the_stages_that_we_estimate() {
    let Some(compiler) = Compiler::find() else {
        return;
    };
    let all = std::env::var_os("P4C_BAREFOOT_ALL").is_some();
    let only = only();
    let cases = cases().into_iter().chain(large());
    let cases = cases.filter(|case| case.name.contains(&only));
    for case in cases.take(if all { usize::MAX } else { 1 }) {
        let at = tempfile::tempdir().expect("a temporary directory");
        let mut compilation = compiler.start(&case, at.path());
        compilation.finish(&case.name);
        compiler.assemble(&case, &compilation);
        let (ours, theirs) = (case.estimate().stages, compilation.stages());
        println!("{}: {theirs} stages, estimated {ours}", case.name);
        assert!(
            ours.abs_diff(theirs) <= 1,
            "{}: {theirs} stages, estimated {ours}",
            case.name
        );
    }
}

/// What the names of the programs that are looked at have in them: `P4C_BAREFOOT_ONLY`.
fn only() -> String {
    std::env::var("P4C_BAREFOOT_ONLY").unwrap_or_default()
}

/// Programs whose tables do not fit one stage.
fn large() -> Vec<Case> {
    let (tna, tna2) = (&TNA.capabilities, &TNA2.capabilities);
    let plinko = |target| Case::failover(HeaderState::ReverseRoute, true, true, 8, target);
    vec![
        Case::tagger(CarrierKind::Dscp, RuleForm::PortSets, None, tna)
            .sized(table::IPV4_ROUTE, 12_288),
        plinko(tna).sized(table::RES_FORWARD, 4096),
        plinko(tna2).sized(table::RES_FORWARD, 16_384),
    ]
}
