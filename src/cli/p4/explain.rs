//! `switchwright p4 explain`: the program after each pass.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use measure::{Machine, Profile, profile};
use p4exec::BuildError;
use p4exec::compile::Listing;
use p4exec::info::ProgramInfo;
use p4exec::v1model::leaf_width;
use p4front::diag::Diagnostics;
use p4front::lex::Token;
use p4front::source::SourceMap;
use p4front::{Compiled, pp};
use p4ir::LeafKind;
use packetgen::TrafficSpec;
use serde::Serialize;

use super::capture::PortFile;
use super::subject::{Control, Source};
use super::workload::Workload;
use crate::cli::fault::{Context, Fault, Status};
use crate::cli::terminal::{self, Terminal};
use crate::cli::words::counted;

/// Arguments of `switchwright p4 explain`.
#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    source: Source,
    /// Only this pass.
    #[arg(long, value_enum)]
    pass: Option<Pass>,
    /// What passes there are.
    #[arg(long, conflicts_with_all = ["pass", "builtins"])]
    list: bool,
    /// The declarations of core.p4 and v1model.p4 too.
    #[arg(long)]
    builtins: bool,
    #[command(flatten)]
    control: Control,
    /// For `profile` of a build directory: the switch whose entries are used (else the first).
    #[arg(long, value_name = "NAME")]
    switch: Option<String>,
    /// For `profile`: take the packets of a pcap or pcapng file, at a port.
    #[arg(long, value_name = "PORT=FILE")]
    pcap_in: Vec<PortFile>,
}

/// Different packets of a profile.
const FLOWS: usize = 1024;

/// What `p4 explain --pass profile --json` prints.
#[derive(Serialize)]
struct ProfileReport {
    machine: Machine,
    /// Different packets.
    packets: usize,
    #[serde(flatten)]
    profile: Profile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pass {
    /// Text with includes and macros expanded.
    Preprocessed,
    /// What the parser read, printed anew.
    Parsed,
    /// Typed, instantiated, inlined: the intermediate representation that executors run.
    Ir,
    /// Where every field lies in the executors' storage.
    Storage,
    /// Match keys, actions and match structures of the tables.
    Tables,
    /// What the control plane sees.
    P4info,
    /// The functions of the compiled executor in Cranelift IR.
    Compiled,
    /// The same as machine code of this machine.
    Assembly,
    /// What blocks and tables of the compiled executor cost with entries and packets.
    Profile,
}

impl Pass {
    const ALL: [Self; 9] = [
        Self::Preprocessed,
        Self::Parsed,
        Self::Ir,
        Self::Storage,
        Self::Tables,
        Self::P4info,
        Self::Compiled,
        Self::Assembly,
        Self::Profile,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Preprocessed => "preprocessed",
            Self::Parsed => "parsed",
            Self::Ir => "ir",
            Self::Storage => "storage",
            Self::Tables => "tables",
            Self::P4info => "p4info",
            Self::Compiled => "compiled",
            Self::Assembly => "assembly",
            Self::Profile => "profile",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Preprocessed => "text with includes and macros expanded",
            Self::Parsed => "what the parser read, printed anew",
            Self::Ir => "typed, instantiated, inlined: what executors run",
            Self::Storage => "where every field lies in the executors' storage",
            Self::Tables => "match keys, actions and sizes of the tables",
            Self::P4info => "what the control plane sees",
            Self::Compiled => "the compiled executor's functions in Cranelift IR",
            Self::Assembly => "the same as machine code (asked for by name only)",
            Self::Profile => "what blocks and tables cost (asked for by name only)",
        }
    }
}

impl Explain {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.pass != Some(Pass::Profile) {
            self.refuse_idle()?;
        }
        if self.list {
            let line = |p: Pass| format!("{:14}{}\n", p.name(), p.about());
            return terminal.text("passes", &Pass::ALL.map(line).concat());
        }
        if self.pass == Some(Pass::Profile) {
            return self.profile(terminal);
        }
        let wanted = |pass: Pass| match self.pass {
            Some(only) => only == pass,
            None => pass != Pass::Assembly,
        };
        let mut text = String::new();
        let mut section = |pass: Pass, body: String| {
            if self.pass.is_none() {
                let _ = writeln!(text, "======== {}: {}\n", pass.name(), pass.about());
            }
            text.push_str(body.trim_end());
            text.push_str("\n\n");
        };
        let mut map = SourceMap::new();
        let main = self.source.load(&mut map)?;
        if wanted(Pass::Preprocessed) && !self.source.is_json() {
            let mut diags = Diagnostics::new();
            let read = pp::preprocess(&mut map, main, &self.source.options(), &mut diags);
            section(Pass::Preprocessed, self.preprocessed(&map, &read.tokens));
        }
        if wanted(Pass::Parsed) && !self.source.is_json() {
            let mut map = SourceMap::new();
            let main = self.source.load(&mut map)?;
            let (mut program, diags) = p4front::parse(&mut map, main, &self.source.options());
            if diags.has_errors() {
                terminal.finding(diags.render_coloured(&map).trim_end());
                return Err(Fault::shown(Status::Input));
            }
            if !self.builtins {
                program.decls.retain(|d| !is_builtin(&map, d.at.span.file));
            }
            section(Pass::Parsed, program.to_string());
        }
        let compiled = if self.source.is_json() {
            None
        } else {
            Some(self.source.compile(terminal)?)
        };
        let program = match &compiled {
            Some(compiled) => compiled.ir.clone(),
            None => (*self.source.subject(None, terminal)?.program).clone(),
        };
        if wanted(Pass::Ir) {
            section(Pass::Ir, program.to_string());
        }
        if wanted(Pass::Storage) {
            section(Pass::Storage, storage(&program));
        }
        if wanted(Pass::Tables) {
            section(Pass::Tables, tables(&program));
        }
        if wanted(Pass::P4info)
            && let Some(Compiled { p4info, .. }) = &compiled
        {
            let shown = p4runtime::to_text(p4info).input(self.source.program.display())?;
            section(Pass::P4info, shown);
        }
        if wanted(Pass::Compiled) || wanted(Pass::Assembly) {
            let listing = p4exec::Compiled::listing(Arc::new(program));
            let listing = listing.input(self.source.program.display())?;
            if wanted(Pass::Compiled) {
                section(Pass::Compiled, functions(&listing, |f| &f.ir));
            }
            if wanted(Pass::Assembly) {
                section(Pass::Assembly, functions(&listing, |f| &f.assembly));
            }
        }
        terminal.text("explained", &text)
    }

    /// Refuses what only `profile` takes.
    fn refuse_idle(&self) -> Result<(), Fault> {
        let switch = self.switch.as_ref().map(|_| "switch");
        let pcap = self.pcap_in.first().map(|_| "pcap-in");
        match self.control.given().or(switch).or(pcap) {
            Some(option) => Err(Fault::input(format!(
                "`--{option}` means nothing here: it is for `--pass profile`"
            ))
            .help(format!("leave `--{option}` out, or give `--pass profile`"))),
            None => Ok(()),
        }
    }

    /// What the parts of the compiled program cost.
    fn profile(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.builtins {
            let message = "`--builtins` means nothing here: `profile` shows no declarations";
            return Err(Fault::input(message).help("leave `--builtins` out"));
        }
        let switch = self.switch.as_deref();
        let workload = Workload::new(&self.source, &self.control, switch, terminal)?;
        let traffic = workload.traffic(
            &self.pcap_in,
            TrafficSpec {
                size: 64,
                count: FLOWS,
                seed: 1,
            },
        )?;
        let program = &workload.subject.program;
        let measured = profile(
            program,
            |executor| workload.install(executor),
            |error: BuildError| Fault::with(Status::Target, format!("compile: {error}")),
            &traffic,
        )?;
        let Some(profile) = measured else {
            let name = self.source.program.display();
            let message =
                format!("{name}: its blocks are compiled one by one, not as one function");
            return Err(Fault::with(Status::Target, message)
                .help("`p4 bench` measures the whole of any program"));
        };
        let report = ProfileReport {
            machine: Machine::here(),
            packets: traffic.len(),
            profile,
        };
        terminal.result(&report, || report.describe())
    }

    /// The tokens as text again: line by line as they stood, without comments.
    fn preprocessed(&self, map: &SourceMap, tokens: &[Token]) -> String {
        let shown = |token: &&Token| self.builtins || !is_builtin(map, token.span.file);
        pp::text(map, tokens.iter().filter(shown), pp::Places::Comments)
    }
}

impl ProfileReport {
    fn describe(&self) -> String {
        let profile = &self.profile;
        let mut rows = Vec::new();
        let mut row = |name: &str, nanoseconds: f64| {
            let share = 100.0 * nanoseconds / profile.whole;
            let (time, share) = (format!("{nanoseconds:.1}"), format!("{share:.0}"));
            rows.push(vec![name.to_owned(), time, share]);
        };
        for (name, nanoseconds) in [
            ("packets in", profile.around),
            ("parser", profile.parser),
            ("ingress", profile.ingress),
            ("egress", profile.egress),
            ("deparser, packets out", profile.deparser),
            ("in all", profile.whole),
        ] {
            row(name, nanoseconds);
        }
        for table in &profile.tables {
            let (name, entries) = (&table.name, table.entries);
            row(&format!("  key of {name}"), table.key);
            let name = format!("  look-up of {name} ({})", counted(entries, "entry"));
            row(&name, table.look_up);
        }
        format!(
            "{}, one core, {} different packets; work is done where its result is used\n{}",
            self.machine.processor,
            self.packets,
            terminal::table(&["part", "ns", "%"], &[1, 2], &rows)
        )
    }
}

/// Whether a file is one of those that are built in.
fn is_builtin(map: &SourceMap, file: p4front::source::FileId) -> bool {
    map.file(file).is_some_and(|f| f.builtin)
}

/// The functions of the compiled executor, each with its text.
fn functions(listing: &[Listing], text: impl Fn(&Listing) -> &str) -> String {
    let function = |f: &Listing| format!("; {}\n{}\n", f.name, text(f).trim_end());
    listing.iter().map(function).collect::<Vec<_>>().join("\n")
}

/// Leaves of headers and metadata with their widths.
fn storage(program: &p4ir::ValidProgram) -> String {
    let leaves = program.layout().leaves();
    let mut text = format!("{} leaves in all\n", leaves.len());
    let Some(info) = ProgramInfo::new(program) else {
        return text;
    };
    for named in info.names() {
        let kind = leaves[named.leaf].kind;
        let what = match kind {
            LeafKind::Bits {
                width,
                signed: true,
            } => format!("int<{width}>"),
            LeafKind::Varbit { max } => format!("varbit<{max}>"),
            LeafKind::Bits { .. } => format!("bit<{}>", leaf_width(kind)),
            LeafKind::Valid => "valid".to_owned(),
            LeafKind::NextIndex => "next index".to_owned(),
            LeafKind::Bool => "bool".to_owned(),
            LeafKind::Error => "error".to_owned(),
            LeafKind::Enum => "enum".to_owned(),
            LeafKind::Str => "string".to_owned(),
        };
        let _ = writeln!(text, "{:6}  {:12}  {}", named.leaf, what, named.name);
    }
    let own = info.names().count();
    let _ = writeln!(
        text,
        "{:6}  locals, parameters and temporaries",
        leaves.len() - own
    );
    text
}

/// What every table matches on and does.
fn tables(program: &p4ir::ValidProgram) -> String {
    let mut text = String::new();
    for (_, table) in program.tables.iter() {
        let size = table
            .size
            .map_or_else(String::new, |n| format!(", size {n}"));
        let _ = writeln!(text, "{}{size}", table.name);
        for key in &table.keys {
            let width = p4exec::v1model::scalar_width(program, program.expr_type(key.expr));
            let _ = writeln!(
                text,
                "  key      {} : {} ({width} bits)",
                key.name,
                key.kind.name()
            );
        }
        for action in &table.actions {
            let action = &program.actions[action.action];
            let params: Vec<&str> = action.data_params().map(|p| p.name.as_str()).collect();
            let _ = writeln!(text, "  action   {}({})", action.name, params.join(", "));
        }
        if let Some(profile) = table.implementation {
            let _ = writeln!(text, "  profile  {}", program.externs[profile].name);
        }
        for direct in &table.direct {
            let instance = &program.externs[*direct];
            let _ = writeln!(text, "  direct   {} {}", instance.ty.name(), instance.name);
        }
        let kind = match (
            table.needs_priority(),
            table.keys.iter().any(|k| k.kind.name() == "lpm"),
        ) {
            (true, _) => "tuple space search, by priority",
            (false, true) => "trie, longest prefix first",
            (false, false) => "hash",
        };
        let _ = writeln!(text, "  search   {kind}");
        let entries = table.entries.len();
        if entries > 0 {
            let what = if table.const_entries {
                "const"
            } else {
                "initial"
            };
            let _ = writeln!(text, "  entries  {entries} {what}");
        }
    }
    text
}
