//! The judge of `commands.txt`: BMv2 itself. A tagger program is compiled, by p4c where it is
//! installed, a switch is started without ports, and its command line must take every line and then
//! show as many entries as were sent. Skipped, with a word, where the tools are not installed.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use p4front::Options;
use p4front::source::SourceMap;
use p4gen::entries::{SwitchEntries, commands};
use p4gen::family::{EntrySource, ProgramFeatures};
use p4gen::program;
use p4gen::targets::V1MODEL;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::{P4InfoIndex, from_text};
use plan::{CarrierKind, CheckedPlan};
use schemes::TaggerOptions;
use topology::generate::{Cables, Clos};
use topology::routes::forwarding::{Forwarding, Reroute};

const TOOLS: [&str; 2] = ["simple_switch", "simple_switch_CLI"];

/// A switch that ends with the test.
struct Switch {
    process: Child,
    thrift_port: u16,
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Switch {
    fn start(json: &Path) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let thrift_port = free.local_addr().expect("a bound port").port();
        drop(free);
        let process = Command::new("simple_switch")
            .arg(json)
            .args(["--thrift-port", &thrift_port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("simple_switch starts");
        let switch = Self {
            process,
            thrift_port,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, thrift_port)).is_err() {
            assert!(Instant::now() < deadline, "simple_switch does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        switch
    }

    /// What the command line answers.
    fn run(&self, commands: &str) -> String {
        let mut cli = Command::new("simple_switch_CLI")
            .args(["--thrift-port", &self.thrift_port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("simple_switch_CLI starts");
        let mut input = cli.stdin.take().expect("piped");
        let commands = commands.to_owned();
        let writer = std::thread::spawn(move || input.write_all(commands.as_bytes()));
        let mut answer = String::new();
        cli.stdout
            .take()
            .expect("piped")
            .read_to_string(&mut answer)
            .expect("text");
        writer
            .join()
            .expect("no panic")
            .expect("the command line reads all");
        cli.wait().expect("the command line ends");
        answer
    }
}

fn missing_tool() -> Option<&'static str> {
    let starts = |tool: &&str| {
        let quiet = Command::new(tool)
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok()
    };
    TOOLS.into_iter().find(|tool| !starts(tool))
}

fn plan(carrier: CarrierKind) -> CheckedPlan {
    let clos = Clos {
        leaves: 4,
        spines: 3,
        hosts: 2,
        parallel: 2,
        cables: Cables::default(),
    };
    let clos = clos.generate().expect("a small Clos");
    let options = TaggerOptions {
        carrier,
        ..TaggerOptions::default()
    };
    let tables = schemes::tagger(&clos, &options).expect("tags");
    plan::check(tables, &plan::check::Options::default()).expect("sound tables")
}

/// Compiles the plan's program, by p4c where it is installed; the P4Info is the compiler's own.
fn compile(plan: &CheckedPlan, folder: &Path) -> P4InfoIndex {
    let features = ProgramFeatures::of(plan);
    let program = program::generate(features, &V1MODEL.capabilities).expect("the templates render");
    for file in program.files() {
        std::fs::write(folder.join(&file.name), &file.text).expect("a writable folder");
    }
    let status = Command::new("p4c-bm2-ss")
        .current_dir(folder)
        .args([program.main.name.as_str(), "-o", "program.json"])
        .args(["--p4runtime-files", "program.p4info.txtpb"])
        .stderr(Stdio::null())
        .status();
    let Ok(status) = status else {
        return by_us(&folder.join(&program.main.name), folder);
    };
    assert!(status.success(), "p4c refuses the program");
    let text = std::fs::read_to_string(folder.join("program.p4info.txtpb")).expect("P4Info");
    let info: P4Info = from_text(&text).expect("p4c writes P4Info");
    P4InfoIndex::new(info).expect("p4c's ids are unique")
}

fn by_us(main: &Path, folder: &Path) -> P4InfoIndex {
    let mut map = SourceMap::new();
    let main = map.load(main).expect("it was written");
    let compiled = p4front::compile(&mut map, main, &Options::on_disk());
    let compiled = compiled.map_err(|found| found.render(&map));
    let compiled = compiled.expect("our front end takes our programs");
    let json = bmv2json::write(&compiled.ir, "program").expect("JSON can say it");
    std::fs::write(folder.join("program.json"), json).expect("a writable folder");
    P4InfoIndex::new(compiled.p4info).expect("our ids are unique")
}

fn entries_of(entries: &SwitchEntries, table: &str) -> usize {
    entries
        .tables
        .iter()
        .filter(|entry| entry.table == table)
        .count()
}

#[test]
fn the_command_line_takes_every_line() {
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    for carrier in [CarrierKind::Dscp, CarrierKind::VlanVid] {
        let plan = plan(carrier);
        let folder = tempfile::tempdir().expect("a folder");
        let info = compile(&plan, folder.path());
        let features = ProgramFeatures::of(&plan);
        let layout = features.layout(V1MODEL.capabilities.architecture);
        let topology = plan.topology();
        let forwarding = Forwarding::new(topology, &plan.tables().forwarding, Reroute::Converged);
        let forwarding = forwarding.expect("the policy fits, or there were no plan");
        let target = &V1MODEL.capabilities;
        let source = EntrySource::new(&plan, target, &layout, Some(&forwarding));
        for id in topology.switch_ids().step_by(4) {
            let entries = features.entries(&source, id).expect("entries");
            let switch = Switch::start(&folder.path().join("program.json"));
            let commands = commands::write(&entries, &info).expect("entries fit the program");
            let answer = switch.run(&commands);
            for word in ["Error", "Invalid", "Unknown"] {
                let wrong: Vec<_> = answer.lines().filter(|line| line.contains(word)).collect();
                assert!(wrong.is_empty(), "{}: {wrong:#?}", entries.switch);
            }
            let made = answer.matches(" with handle ").count();
            let wanted = entries.tables.len() + entries.members.len() + entries.groups.len();
            assert_eq!(made, wanted, "{}:\n{answer}", entries.switch);
            for table in &layout.tables {
                let dump = switch.run(&format!("table_dump {}\n", table.name));
                let shown = dump.matches("Dumping entry ").count();
                assert_eq!(
                    shown,
                    entries_of(&entries, table.name),
                    "{}\n{dump}",
                    table.name
                );
            }
        }
    }
}
