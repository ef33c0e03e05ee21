//! The emulator: the simulator's scenarios in real time. Run where network namespaces may be made.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "support/bounded.rs"]
mod bounded;

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that a command may take: a network in real time, on a machine that does other things
/// too.
const LONGEST: Duration = Duration::from_secs(300);

/// Two links fail one after the other, two flows bounce, their paths form a cycle; then all is
/// mended. As `examples/scenarios/bounce.yaml`, shorter.
const BOUNCE: &str = "
name: bounce
duration: 4ms
rate: 40Gbps
switches: { threshold: { xoff: 100KB, xon: 97KB } }
flows:
  - { name: green, from: h5, to: h1, path: [p2l1, p2a1, spine2, p1a2, p1l1] }
  - { name: blue, from: h3, to: h7, path: [p1l2, p1a2, spine1, p2a1, p2l2] }
  - { name: red, from: h2, to: h6, path: [p1l1, p1a1, spine1, p2a1, p2l1] }
  - { name: yellow, from: h8, to: h4, path: [p2l2, p2a2, spine2, p1a2, p1l2] }
events:
  - { at: 300us, fail: p2a1-p2l2 }
  - { at: 300us, route: { switch: p2a1, to: blue, via: spine2 } }
  - { at: 300us, route: { switch: spine2, to: blue, via: p2a2 } }
  - { at: 300us, route: { switch: p2a2, to: blue, via: p2l2 } }
  - { at: 600us, fail: p1a2-p1l1 }
  - { at: 600us, route: { switch: p1a2, to: green, via: spine1 } }
  - { at: 600us, route: { switch: spine1, to: green, via: p1a1 } }
  - { at: 600us, route: { switch: p1a1, to: green, via: p1l1 } }
  - { at: 2ms, restore: p1a2-p1l1 }
  - { at: 2ms, restore: p2a1-p2l2 }
  - { at: 2ms, mend_routes: true }
";

/// The same with two layers and eight switches, as `examples/scenarios/bounce-leaf-spine.yaml`,
/// shorter.
const LEAF_SPINE: &str = "
name: bounce-leaf-spine
duration: 4ms
rate: 40Gbps
switches: { threshold: { xoff: 100KB, xon: 97KB } }
flows:
  - { name: green, from: h1, to: h4, path: [leaf1, spine1, leaf4] }
  - { name: blue, from: h5, to: h6, path: [leaf5, spine2, leaf6] }
  - { name: red, from: h2, to: h3, path: [leaf2, spine2, leaf3] }
  - { name: yellow, from: h3, to: h2, path: [leaf3, spine1, leaf2] }
events:
  - { at: 300us, fail: spine2-leaf6 }
  - { at: 300us, route: { switch: spine2, to: blue, via: leaf3 } }
  - { at: 300us, route: { switch: leaf3, to: blue, via: spine1 } }
  - { at: 300us, route: { switch: spine1, to: blue, via: leaf6 } }
  - { at: 600us, fail: spine1-leaf4 }
  - { at: 600us, route: { switch: spine1, to: green, via: leaf2 } }
  - { at: 600us, route: { switch: leaf2, to: green, via: spine2 } }
  - { at: 600us, route: { switch: spine2, to: green, via: leaf4 } }
  - { at: 2ms, restore: spine1-leaf4 }
  - { at: 2ms, restore: spine2-leaf6 }
  - { at: 2ms, mend_routes: true }
";

fn command(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(arguments).current_dir(at);
    command
}

fn run(at: &Path, arguments: &[&str]) -> (i32, String, String) {
    run_by(at, arguments, Command::spawn)
}

/// Runs a command that a function starts.
fn run_by(
    at: &Path,
    arguments: &[&str],
    start: impl FnOnce(&mut Command) -> io::Result<Child>,
) -> (i32, String, String) {
    let output = bounded::output(&mut command(at, arguments), "", LONGEST, start);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    println!("{arguments:?}: {out}{err}");
    (output.status.code().unwrap(), out, err)
}

/// A build directory, `build`, of a Clos, for packets that may bounce once.
fn built(clos: &[&str], scenario: &str) -> TempDir {
    build(clos, &["--scheme", "tagger", "--bounces", "1"], scenario)
}

/// A build directory, `build`, of a Clos by a scheme.
fn build(clos: &[&str], scheme: &[&str], scenario: &str) -> TempDir {
    build_for("v1model", clos, scheme, scenario)
}

/// The same for a target.
fn build_for(target: &str, clos: &[&str], scheme: &[&str], scenario: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let done = |arguments: &[&str]| assert_eq!(run(at, arguments).0, 0);
    done(&[&["topo", "clos", "-o", "topo.json"], clos].concat());
    done(&[&["plan", "topo.json", "-o", "plan.json"], scheme].concat());
    done(&["build", "plan.json", "--target", target, "-o", "build"]);
    std::fs::write(at.join("scenario.yaml"), scenario).unwrap();
    folder
}

fn pods(scenario: &str) -> TempDir {
    let clos = [
        "--pods",
        "2",
        "--leaves",
        "2",
        "--aggregations",
        "2",
        "--spines",
        "2",
        "--hosts",
        "2",
    ];
    built(&clos, scenario)
}

fn leaves(scenario: &str) -> TempDir {
    built(
        &["--leaves", "2", "--spines", "1", "--hosts", "2"],
        scenario,
    )
}

fn here() -> bool {
    match linuxnet::permitted() {
        Ok(()) => true,
        Err(missing) => {
            println!("skipped: {missing}");
            false
        }
    }
}

fn emulate(at: &Path, more: &[&str]) -> Value {
    let line = ["emulate", "build", "--scenario", "scenario.yaml", "--json"];
    let (status, text, _) = run(at, &[&line, more].concat());
    assert_eq!(status, 0);
    serde_json::from_str(&text).unwrap()
}

/// Probes within packets, up to the highest switches and back, over veths: what they tell of
/// reroutes is what embedded switches tell.
#[test]
fn probes_within_packets_tell_reroutes_as_embedded_switches_do() {
    if !here() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let done = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (status, text, _) = run(at, &words);
        assert_eq!(status, 0);
        text
    };
    done("topo fat-tree --k 4 -o topo.json");
    done("plan topo.json -o plan.json");
    done("build plan.json -o build");
    let line = "measure-paths build --fail p1a1-p1e1 --probes 4 --json";
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let embedded = read(&done(line));
    let live = read(&done(&format!("{line} --emulate")));
    assert_eq!(live["rerouted"], 4, "{live}");
    assert_eq!(live["lost"], 0, "{live}");
    assert_eq!(live, embedded);
    // Nothing is unwrapped behind a header of its own.
    done("plan topo.json --carrier shim -o shim.json");
    done("build shim.json -o shim");
    let (status, _, said) = run(at, &["measure-paths", "shim", "--emulate"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("--carrier"), "{said}");
}

/// The claim of the whole project, on veths, with real PFC frames and routes that change under
/// traffic.
#[test]
fn a_deadlock_forms_without_tags_and_not_with_them() {
    if here() {
        deadlocks_without_tags(&pods(BOUNCE), ["p1a2", "p2a1", "spine1", "spine2"]);
    }
}

/// The same on eight switches, which run SONiC's pipeline, filled from their `config_db.json`: with
/// maps that know no tags, and with ours.
#[test]
fn a_deadlock_forms_among_eight_switches_without_tags_and_not_with_them() {
    if here() {
        let clos = ["--leaves", "6", "--spines", "2", "--hosts", "1"];
        let scheme = ["--scheme", "tagger", "--bounces", "1"];
        let folder = build_for("sonic", &clos, &scheme, LEAF_SPINE);
        deadlocks_without_tags(&folder, ["leaf2", "leaf3", "spine1", "spine2"]);
    }
}

fn deadlocks_without_tags(folder: &TempDir, circle: [&str; 4]) {
    let without = emulate(folder.path(), &["--without-tags", "--lateness", "400"]);
    let with = emulate(folder.path(), &["--lateness", "400"]);
    let flow = |report: &Value, name: &str| {
        let flows = report["flows"].as_array().unwrap().clone();
        flows.into_iter().find(|f| f["name"] == name).unwrap()
    };
    for report in [&with, &without] {
        assert_eq!(report["lossless_drops"], 0, "{report}");
        assert_eq!(report["real"]["overrun"], 0, "{report}");
    }
    assert_eq!(without["deadlocks"], 1, "{without}");
    let cycle: BTreeSet<&str> = without["deadlock"][0]["switches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(cycle, circle.into());
    assert!(
        without["wait_for"].as_array().unwrap().len() >= 4,
        "{without}"
    );
    assert!(without["stuck_queues"].as_u64().unwrap() >= 4, "{without}");
    assert_eq!(
        (&with["deadlocks"], &with["stuck_queues"]),
        (&0.into(), &0.into()),
        "{with}"
    );
    // It outlives its cause; with tags everything flows again.
    for name in ["green", "blue"] {
        assert_eq!(flow(&without, name)["gbps_at_end"], 0.0, "{without}");
        assert!(
            flow(&with, name)["gbps_at_end"].as_f64().unwrap() > 5.0,
            "{with}"
        );
    }
}

/// Every host sends to another at line rate; a link fails and works again.
const FAILOVER: &str = "
name: failover
duration: 3ms
rate: 40Gbps
switches: { threshold: { xoff: 60KB, xon: 57KB } }
flows:
  - { pattern: permutation }
events:
  - { at: 500us, fail: leaf1-spine1 }
  - { at: 1500us, restore: leaf1-spine1 }
";

/// Failover tables with lossless channels: nothing is lost but what was on the wire of the link.
#[test]
fn failover_under_load_loses_nothing_but_with_the_link() {
    if !here() {
        return;
    }
    let clos = ["--leaves", "3", "--spines", "2", "--hosts", "2"];
    let folder = build(&clos, &["--scheme", "df-fi"], FAILOVER);
    let report = emulate(folder.path(), &["--lateness", "400"]);
    assert_eq!(report["lossless_drops"], 0, "{report}");
    assert_eq!(report["real"]["overrun"], 0, "{report}");
    assert_eq!(
        (&report["deadlocks"], &report["stuck_queues"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    let flows = report["flows"].as_array().unwrap();
    let flowing = flows
        .iter()
        .filter(|f| f["gbps_at_end"].as_f64() > Some(1.0));
    assert_eq!((flows.len(), flowing.count()), (6, 6), "{report}");
}

/// A host pauses its switch for long: frames of the real wire, as others read them.
const PAUSED: &str = "
name: paused
duration: 6ms
rate: 40Gbps
switches: { threshold: { xoff: 60KB, xon: 57KB } }
flows:
  - { name: through, from: h1, to: h3 }
  - { name: beside, from: h2, to: h4, rate: 10Gbps }
events:
  - { at: 500us, pause: { host: h3, priority: 3, lasts: 5ms } }
";

/// An emulation of four hosts that others look into, until it is dropped.
struct Under {
    child: Child,
    /// The words before a command that runs it among the switches.
    fabric: Vec<String>,
    /// The namespaces' names, if they have any.
    names: Vec<String>,
}

impl Drop for Under {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(at: &Path, more: &[&str]) -> Under {
    let line = ["emulate", "build", "--scenario", "scenario.yaml", "--json"];
    let child = command(at, &[&line, more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut under = Under {
        fabric: Vec::new(),
        names: Vec::new(),
        child,
    };
    let words = BufReader::new(under.child.stderr.take().unwrap());
    // One line for the fabric, then one for every host, by name.
    for line in words.lines().map_while(Result::ok) {
        let line: Vec<&str> = line.split_whitespace().collect();
        if let [_, "ip", "netns", "exec", name] = line.as_slice() {
            under.names.push((*name).to_owned());
        }
        if let ["fabric", door @ ..] = line.as_slice() {
            under.fabric = door.iter().map(|word| (*word).to_owned()).collect();
        }
        if line.first() == Some(&"h4") {
            break;
        }
    }
    assert!(!under.fabric.is_empty(), "it says how to look inside");
    under
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn pfc_frames_on_the_wire_are_read_as_such_by_tshark() {
    if !here() {
        return;
    }
    for tool in ["tshark", "nsenter"] {
        if !found(tool) {
            println!("skipped: `{tool}` is not on PATH (Debian: {tool})");
            return;
        }
    }
    let folder = leaves(PAUSED);
    let under = start(folder.path(), &["--admin", "."]);
    // leaf1's way to the spine: leaf2 cannot get rid of what h1 sends, so spine1 and then leaf1 are
    // told to stop.
    let fields = [
        "eth.dst",
        "macc.opcode",
        "macc.cbfc.enbv",
        "macc.cbfc.pause_time.c3",
    ];
    let mut tshark = Command::new(&under.fabric[0]);
    tshark
        .args(&under.fabric[1..])
        .args(["tshark", "-i", "leaf1-p3", "-l", "-a", "duration:50"]);
    tshark.args(["-c", "2", "-Y", "macc.opcode == 0x0101", "-T", "fields"]);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.args(["-f", "ether proto 0x8808"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let first: Vec<&str> = text
        .lines()
        .next()
        .expect("a PFC frame")
        .split('\t')
        .collect();
    assert_eq!(first[0], "01:80:c2:00:00:01");
    assert_eq!(
        u32::from_str_radix(first[1].trim_start_matches("0x"), 16),
        Ok(0x0101)
    );
    assert_eq!(
        u32::from_str_radix(first[2].trim_start_matches("0x"), 16),
        Ok(0b1000)
    );
    assert!(["65535", "0xffff"].contains(&first[3]), "{first:?}");
    // The switch that they told to stop says so, and the one that told it.
    let (code, text, _) = run(
        folder.path(),
        &["status", "--admin", "leaf1.sock", "--json"],
    );
    let status: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, 0);
    let classes = |port: usize| status["lossless"]["ports"][port]["classes"].clone();
    let port = status["lossless"]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .position(|p| p["port"] == 3);
    let heard: u64 = classes(port.unwrap())
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["counters"]["pauses_received"].as_u64().unwrap())
        .sum();
    assert!(heard >= 1, "{status}");
}

/// Which of these names of namespaces are there, or written down.
fn left(names: &[String]) -> Vec<&String> {
    let there = |name: &&String| {
        Path::new("/run/netns").join(name).exists()
            || Path::new("/run/switchwright/linuxnet")
                .join(format!("netns-{name}"))
                .exists()
    };
    names.iter().filter(there).collect()
}

/// Whether a process holds a network namespace.
fn holds_namespace(process: u32) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd"));
    let targets = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| std::fs::read_link(e.path()).ok());
    targets
        .into_iter()
        .any(|target| target.to_string_lossy().starts_with("net:["))
}

#[test]
fn nothing_stays_behind_whatever_ends_it() {
    if !here() {
        return;
    }
    let folder = leaves(PAUSED);
    let at = folder.path();
    for signal in ["-INT", "-TERM", "-KILL"] {
        for named in [&["--named"] as &[&str], &[]] {
            let mut under = start(at, named);
            let id = under.child.id();
            assert!(holds_namespace(id));
            assert_eq!(
                left(&under.names).len(),
                if named.is_empty() { 0 } else { 5 }
            );
            assert!(
                !Path::new("/sys/class/net/leaf1-p3").exists(),
                "cables lie inside"
            );
            let done = Command::new("kill")
                .args([signal, &id.to_string()])
                .status()
                .unwrap();
            assert!(done.success());
            let deadline = Instant::now() + TIMEOUT;
            let status = loop {
                if let Some(status) = under.child.try_wait().unwrap() {
                    break status;
                }
                assert!(Instant::now() < deadline, "{signal}: it does not end");
                std::thread::sleep(Duration::from_millis(20));
            };
            assert_eq!(status.success(), signal != "-KILL", "{signal}: {status}");
            if signal == "-KILL" && !named.is_empty() {
                // A test beside this one may start meanwhile, and its start removes them too.
                let (code, text, _) = run(at, &["emulate", "--clean", "--json"]);
                assert!(code == 0 && text.contains("removed"), "{text}");
            }
            assert!(left(&under.names).is_empty(), "{signal} {named:?}");
        }
    }
}

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let flow = "name: x\nduration: 1ms\nflows: [{ from: h1, to: h3 }]\n";
    let folder = leaves(flow);
    let at = folder.path();
    let refused = |scenario: &str, more: &[&str], words: &str| {
        std::fs::write(at.join("scenario.yaml"), scenario).unwrap();
        let line = ["emulate", "build", "--scenario", "scenario.yaml"];
        let (status, _, text) = run(at, &[&line, more].concat());
        assert_eq!(status, 2, "{text}");
        assert!(text.contains(words), "{words}: {text}");
    };
    refused(
        "name: x\nduration: 1ms\nflows: [{ from: h9, to: h3 }]",
        &[],
        "h9",
    );
    refused(
        &format!("{flow}events: [{{ at: 1us, fail: leaf1-leaf2 }}]"),
        &[],
        "leaf1",
    );
    refused(&format!("{flow}rate: 0Gbps"), &[], "rate: is 0");
    refused(flow, &["--rate", "0"], "the fastest link");
    refused(flow, &["--rate", "40Gbps"], "the fastest link");
    refused(
        &format!("{flow}switches: {{ buffer: 1KB }}"),
        &[],
        "headroom",
    );
    refused(
        &format!("{flow}switches: {{ threshold: {{ xoff: 1GB, xon: 1KB }} }}"),
        &[],
        "XOFF",
    );
    // Without rights it is the machine that refuses.
    if here() && found("setpriv") {
        std::fs::write(at.join("scenario.yaml"), flow).unwrap();
        let line = [
            "--bounding-set=-all",
            "--inh-caps=-all",
            env!("CARGO_BIN_EXE_switchwright"),
        ];
        let mut command = Command::new("setpriv");
        command
            .args(line)
            .args(["emulate", "build", "--scenario", "scenario.yaml"]);
        let output = command.current_dir(at).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("as root"), "{text}");
    }
}

/// The process of its own: a file makes it lossless, PFC frames stop its queues, `status` tells.
#[test]
fn a_switch_process_is_lossless_and_tells_its_status() {
    let folder = leaves(PAUSED);
    let at = folder.path();
    let file = "lossless: [1]\nrate: 20Mbps\nports: { 2: { rate: 10Mbps, headroom: 9KB } }\n";
    std::fs::write(at.join("lossless.yaml"), file).unwrap();
    let manifest = std::fs::read_to_string(at.join("build/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let program = format!("build/{}", manifest["program"]["main"].as_str().unwrap());
    let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let near = {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let line = format!("1=udp:{near}->{}", far.local_addr().unwrap());
    let arguments = [
        "--json",
        "switch",
        "--lossless",
        "lossless.yaml",
        "--admin",
        "a.sock",
        "-i",
        &line,
    ];
    let more = [
        "-i",
        "2=pcap:,out.pcap",
        &program,
        "--grpc-server-addr",
        "127.0.0.1:0",
    ];
    let mut child = command(at, &[&arguments[..], &more[..]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let running = Under {
        child,
        fabric: Vec::new(),
        names: Vec::new(),
    };
    assert!(ready.contains("true"), "{ready}");
    let pause = wire::pfc::Repr::single(
        wire::MacAddr::from([2; 6]),
        quantities::Priority::new(1),
        wire::pfc::Quanta::MAX,
    );
    far.send_to(&pause.to_bytes(), near).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    let status = loop {
        let (code, text, _) = run(at, &["status", "--admin", "a.sock", "--json"]);
        assert_eq!(code, 0);
        let status: Value = serde_json::from_str(&text).unwrap();
        let classes = status["lossless"]["ports"][0]["classes"]
            .as_array()
            .unwrap();
        if !classes.is_empty() || Instant::now() > deadline {
            break status;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let (one, two) = (
        &status["lossless"]["ports"][0],
        &status["lossless"]["ports"][1],
    );
    assert_eq!(
        one["classes"][0]["counters"]["pauses_received"], 1,
        "{status}"
    );
    assert_eq!(
        (&one["rate"], &two["rate"]),
        (&20_000_000.into(), &10_000_000.into())
    );
    // What was said, and 20 ms at 10 Mb/s.
    assert_eq!(two["headroom"], 9_000 + 25_000, "{status}");
    let (code, text, _) = run(at, &["status", "--admin", "a.sock"]);
    assert!(code == 0 && text.contains("HEADROOM"), "{text}");
    drop(running);
    assert_eq!(
        run(at, &["status", "--admin", "a.sock"]).0,
        3,
        "nobody is there"
    );
    for (content, words) in [
        ("lossless: [0]\nrate: 1Gbps", "priority 0"),
        ("lossless: [1]\nrate: 0Gbps", "rate 0"),
        (
            "lossless: [1]\nrate: 1Gbps\nports: { 7: {} }",
            "no such port",
        ),
        (
            "lossless: [1]\nrate: 1Gbps\nswitch: { buffer: 1KB }",
            "headroom",
        ),
    ] {
        std::fs::write(at.join("lossless.yaml"), content).unwrap();
        let line = [
            "switch",
            "--lossless",
            "lossless.yaml",
            "--no-p4",
            "-i",
            "1=pcap:,out.pcap",
        ];
        let (code, _, text) = run(at, &line);
        assert!(code == 2 && text.contains(words), "{words}: {text}");
    }
}

#[test]
fn mininet_plays_the_same_network() {
    let folder =
        leaves("name: x\nduration: 1ms\nflows: [{ name: f, from: h1, to: h3, rate: 10Gbps }]\n");
    let at = folder.path();
    let line = [
        "emulate",
        "build",
        "--scenario",
        "scenario.yaml",
        "--mininet",
        "--script",
        "script",
    ];
    let (code, _, said) = run(at, &line);
    assert!(code == 2 && said.contains("--formats tutorials"), "{said}");
    let formats = ["--formats", "tutorials"];
    let again = [&["build", "plan.json", "-o", "build"][..], &formats].concat();
    assert_eq!(run(at, &again).0, 0);
    if !found("mn") || !here() {
        println!("skipped: `mn` is not on PATH (Debian: mininet), or no rights");
        return;
    }
    // Its names of interfaces are those of every network of Mininet.
    let lab = linuxnet::Namespace::new().unwrap();
    let (code, text, told) = run_by(at, &line, |command| lab.run(|| command.spawn()).unwrap());
    assert_eq!(code, 0, "{told}");
    for step in ["starting 4 hosts", "filling switch 3 of 3", "flows: f"] {
        assert!(told.contains(step), "{step}: {told}");
    }
    let got = text.lines().find_map(|line| {
        line.strip_prefix("f: ")?
            .split(' ')
            .next()?
            .parse::<f64>()
            .ok()
    });
    assert!(got.is_some_and(|mbps| mbps > 0.5), "{text}");
    assert!(at.join("script/play.json").exists() && at.join("script/switchwright.py").exists());
}
