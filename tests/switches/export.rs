//! What `export` writes is what engines take and does what it is to do: a runner here takes the
//! place of containerlab. It gives every node a network namespace, starts what the file starts,
//! lays its cables (VXLAN between machines), and runs its commands; then `push` fills the switches
//! by the devices file, and hosts ping each other. What only an engine does (images, binds) is not
//! tried.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use emulator::drill::{SwitchKind, possible};
use linuxnet::Namespace;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");
/// How long a busy machine may take; nothing is measured by it.
const TIMEOUT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct Lab {
    name: String,
    topology: Topology,
}

#[derive(Deserialize)]
struct Topology {
    groups: BTreeMap<String, Group>,
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Group {
    image: String,
    #[serde(default)]
    binds: Vec<String>,
    #[serde(default)]
    sysctls: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct Node {
    kind: String,
    group: String,
    cmd: String,
    #[serde(default)]
    exec: Vec<String>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    endpoints: Vec<String>,
    endpoint: Option<End>,
    remote: Option<Ipv4Addr>,
    vni: Option<u32>,
    #[serde(rename = "dst-port")]
    dst_port: Option<u16>,
}

#[derive(Deserialize)]
struct End {
    node: String,
    interface: String,
}

fn switchwright(at: &Path, line: &str) -> Output {
    let mut command = Command::new(COMMAND);
    command
        .args(line.split_whitespace())
        .current_dir(at)
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    output
}

/// A build of a small network.
fn build(at: &Path, topology: &str, plan: &str) {
    switchwright(at, &format!("topo {topology} -o net.json"));
    switchwright(at, &format!("plan net.json {plan} -o plan.json"));
    switchwright(at, "build plan.json -o build");
}

fn labs(at: &Path, names: &[&str]) -> Vec<Lab> {
    let read = |name: &&str| {
        let text = fs::read_to_string(at.join(name)).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    };
    names.iter().map(read).collect()
}

/// A container without its image: a namespace, and what runs in it.
struct Container {
    namespace: Namespace,
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command inside a namespace, with its own view of `/sys`.
fn inside(namespace: &Namespace) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace.name().unwrap()]);
    let programs = Path::new(COMMAND).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .env("PATH", format!("{programs}:{path}"))
        .stdin(Stdio::null());
    command
}

fn ip(namespace: &Namespace, line: &str) {
    let output = inside(namespace)
        .arg("ip")
        .args(line.split(' '))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {line}: {said}");
}

/// The machines, joined by cables, and the containers on them.
struct Runner {
    /// Dropped first: processes before their namespaces.
    containers: BTreeMap<String, Container>,
    machines: Vec<Namespace>,
    /// Where `push` runs: it reaches every container by a cable of its own, and knows its name.
    management: Namespace,
    names: String,
    build: PathBuf,
}

impl Runner {
    fn new(machines: usize, build: &Path) -> Self {
        let machines: Vec<Namespace> = (0..machines)
            .map(|number| Namespace::labelled(&format!("machine{number}")).unwrap())
            .collect();
        if let [one, other] = &machines[..] {
            let peer = other.name().unwrap();
            ip(
                one,
                &format!("link add under type veth peer name under netns {peer}"),
            );
            for (at, number) in [(one, 1), (other, 2)] {
                ip(at, &format!("address add 10.99.0.{number}/24 dev under"));
                ip(at, "link set under up");
            }
        }
        Self {
            containers: BTreeMap::new(),
            machines,
            management: Namespace::labelled("management").unwrap(),
            names: String::new(),
            build: build.to_owned(),
        }
    }

    /// Starts what a lab's nodes run.
    fn start(&mut self, lab: &Lab) {
        for (name, node) in &lab.topology.nodes {
            assert_eq!(node.kind, "linux");
            let group = &lab.topology.groups[&node.group];
            assert!(!group.image.is_empty());
            let namespace = Namespace::labelled(name).unwrap();
            for (setting, value) in &group.sysctls {
                let setting = setting.strip_prefix("net.").unwrap().replace('.', "/");
                namespace.set(&setting, &value.to_string()).unwrap();
            }
            let number = self.containers.len() + 1;
            let management = namespace.name().unwrap();
            ip(
                &self.management,
                &format!("link add m{number} type veth peer name eth0 netns {management}"),
            );
            ip(
                &self.management,
                &format!("address add 172.31.{number}.1/24 dev m{number}"),
            );
            ip(&self.management, &format!("link set m{number} up"));
            ip(
                &namespace,
                &format!("address add 172.31.{number}.2/24 dev eth0"),
            );
            ip(&namespace, "link set eth0 up");
            self.names += &format!("172.31.{number}.2 clab-{}-{name}\n", lab.name);
            // A bind, without a file system of its own: the path inside is the path outside.
            let mut line = node.cmd.clone();
            for bind in &group.binds {
                let (outside, mounted) = bind.strip_suffix(":ro").unwrap().split_once(':').unwrap();
                assert_eq!(Path::new(outside), self.build);
                line = line.replace(&format!("{mounted}/"), &format!("{outside}/"));
            }
            let mut command = inside(&namespace);
            // A container has a `/run` of its own; `ip netns exec` gives mounts of its own.
            let line = format!("mount -t tmpfs none /run && exec {line}");
            command.args(["sh", "-c", &line]);
            let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
            let output = BufReader::new(process.stdout.take().unwrap());
            let container = Container {
                namespace,
                process,
                output,
            };
            assert!(self.containers.insert(name.clone(), container).is_none());
        }
    }

    /// Lays the cables of a machine's lab, as an engine does: once the containers run.
    fn connect(&self, lab: &Lab, machine: usize) {
        for link in &lab.topology.links {
            let up = |node: &str, interface: &str| {
                ip(
                    &self.containers[node].namespace,
                    &format!("link set {interface} up"),
                );
            };
            if let Some(end) = &link.endpoint {
                let home = self.containers[&end.node].namespace.name().unwrap();
                let (vni, remote, port) = (
                    link.vni.unwrap(),
                    link.remote.unwrap(),
                    link.dst_port.unwrap(),
                );
                ip(
                    &self.machines[machine],
                    &format!(
                        "link add x{vni} type vxlan id {vni} remote {remote} dstport {port} dev under"
                    ),
                );
                ip(
                    &self.machines[machine],
                    &format!("link set x{vni} netns {home} name {}", end.interface),
                );
                up(&end.node, &end.interface);
                continue;
            }
            let [(a, a_end), (b, b_end)] =
                [0, 1].map(|at: usize| link.endpoints[at].split_once(':').unwrap());
            let other = self.containers[b].namespace.name().unwrap();
            ip(
                &self.containers[a].namespace,
                &format!("link add {a_end} type veth peer name {b_end} netns {other}"),
            );
            up(a, a_end);
            up(b, b_end);
        }
    }

    /// Runs the commands of a lab's nodes, and waits for its switches.
    fn finish(&mut self, lab: &Lab) {
        for (name, node) in &lab.topology.nodes {
            let container = self.containers.get_mut(name).unwrap();
            for line in &node.exec {
                let mut command = inside(&container.namespace);
                let output = command.args(line.split(' ')).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{name}: {line}: {said}");
            }
            if node.group == "switches" {
                let mut line = String::new();
                container.output.read_line(&mut line).unwrap();
                assert!(line.contains("9559"), "{name} is not ready: {line}");
            }
        }
    }

    /// Fills the switches by the devices file.
    fn push(&self, at: &Path, folder: &str) {
        let names = at.join("hosts");
        fs::write(&names, &self.names).unwrap();
        let line = format!(
            "mount --bind {} /etc/hosts && exec switchwright push build --devices {folder}/devices.yaml",
            names.display()
        );
        let mut command = inside(&self.management);
        command
            .args(["unshare", "-m", "sh", "-c", &line])
            .current_dir(at);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    /// Whether a host hears another one.
    fn pings(&self, host: &str, address: &str) -> bool {
        let mut command = inside(&self.containers[host].namespace);
        command.args(["ping", "-c", "1", "-W", "1", address]);
        command.output().unwrap().status.success()
    }

    /// Every host pings every other one.
    fn all_ping(&self, at: &Path) {
        let text = fs::read_to_string(at.join("net.json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let hosts: Vec<(&str, &str)> = file["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|host| {
                (
                    host["name"].as_str().unwrap(),
                    host["ipv4"].as_str().unwrap(),
                )
            })
            .collect();
        let deadline = Instant::now() + TIMEOUT;
        for (from, _) in &hosts {
            for (to, address) in hosts.iter().filter(|(to, _)| to != from) {
                while !self.pings(from, address) {
                    assert!(Instant::now() < deadline, "{from} does not reach {to}");
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
    }
}

/// Whether labs can be brought up here; said aloud if not.
fn can_run() -> bool {
    let there = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    let missing = match possible(SwitchKind::Ours) {
        Err(missing) => Some(missing),
        Ok(()) => ["ip", "ping", "unshare", "mount"]
            .into_iter()
            .find(|name| !there(name))
            .map(|name| format!("`{name}` is not on PATH")),
    };
    if let Some(missing) = &missing {
        println!("skipped: {missing}");
    }
    missing.is_none()
}

/// Brings labs up, one a machine, fills their switches, and has all hosts ping.
fn bring_up(at: &Path, folder: &str, names: &[&str]) {
    let labs = labs(&at.join(folder), names);
    let mut runner = Runner::new(labs.len(), &fs::canonicalize(at.join("build")).unwrap());
    labs.iter().for_each(|lab| runner.start(lab));
    for (machine, lab) in labs.iter().enumerate() {
        runner.connect(lab, machine);
    }
    labs.iter().for_each(|lab| runner.finish(lab));
    runner.push(at, folder);
    runner.all_ping(at);
}

#[test]
fn an_exported_lab_runs() {
    if !can_run() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    build(at, "ring 3", "--scheme plinko --resilience 1");
    switchwright(at, "export containerlab build -o lab");
    bring_up(at, "lab", &["lab.clab.yml"]);
}

#[test]
fn a_lossless_lab_runs_on_two_machines() {
    if !can_run() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    build(at, "clos --leaves 2 --spines 1", "");
    switchwright(
        at,
        "export containerlab build -o labs --port-rate 50Mbps --machines 10.99.0.1,10.99.0.2",
    );
    bring_up(at, "labs", &["lab-1.clab.yml", "lab-2.clab.yml"]);
}

#[test]
fn what_was_exported_imports_again() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (topology, plan) in [
        ("clos --leaves 3 --spines 2 --hosts 2 --parallel 2", ""),
        ("fat-tree --k 4 --fabric-rate 40 --host-length 3", ""),
        ("bcube --n 2 --levels 1", ""),
        (
            "jellyfish --switches 8 --ports 6 --fabric-ports 4",
            "--scheme plinko",
        ),
        (
            "flattened-clos --switches 8 --ports 10 --fabric-ports 6 --ocs-ports 8",
            "",
        ),
        ("line 2 --hosts 1", "--scheme plinko --resilience 0"),
    ] {
        build(at, topology, plan);
        switchwright(at, "export containerlab build -o lab");
        switchwright(at, "topo import lab/lab.clab.yml -o again.json");
        let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
        assert_eq!(read("again.json"), read("net.json"), "{topology}");
    }
}

/// A schema or proto that a variable names; `None`, said aloud, where it names none.
fn given(variable: &str, what: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        println!("skipped: {variable} names no {what}");
    }
    path
}

#[test]
fn labs_are_what_the_schema_of_containerlab_says() {
    let Some(schema) = given(
        "CONTAINERLAB_SCHEMA",
        "schemas/clab.schema.json of srl-labs/containerlab",
    ) else {
        return;
    };
    let python = std::env::var_os("P4RUNTIME_CLIENTS").unwrap_or_else(|| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import jsonschema, yaml"])
        .output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: {} has not jsonschema and yaml (P4RUNTIME_CLIENTS names one that has)",
            python.display()
        );
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    build(at, "clos --leaves 3 --spines 2 --hosts 2", "");
    switchwright(at, "export containerlab build -o lab");
    switchwright(
        at,
        "export containerlab build -o labs --port-rate 50Mbps --machines 10.0.0.1,10.0.0.2",
    );
    let validate = |name: &str| {
        // Python's regular expressions know no classes of Unicode; in addresses they mean what is
        // written instead.
        let program = "import json, sys, yaml, jsonschema\n\
                       text = open(sys.argv[1]).read().replace(r'\\\\p{N}', '0-9').replace(r'\\\\p{L}', 'A-Za-z')\n\
                       schema = json.loads(text)\n\
                       jsonschema.validators.validator_for(schema)(schema).validate(yaml.safe_load(open(sys.argv[2])))\n";
        let mut command = Command::new(&python);
        command
            .args(["-c", program])
            .arg(&schema)
            .arg(name)
            .current_dir(at);
        command.output().unwrap()
    };
    for name in [
        "lab/lab.clab.yml",
        "labs/lab-1.clab.yml",
        "labs/lab-2.clab.yml",
    ] {
        let output = validate(name);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
    }
    let text = fs::read_to_string(at.join("lab/lab.clab.yml")).unwrap();
    for (good, bad) in [
        ("endpoints:", "endpoint:"),
        ("cmd:", "command:"),
        ("kind: linux", "kind: 7"),
    ] {
        let changed = text.replacen(good, bad, 1);
        assert_ne!(changed, text, "{good}");
        fs::write(at.join("bad.yml"), changed).unwrap();
        assert!(!validate("bad.yml").status.success(), "{bad}");
    }
}

#[test]
fn networks_for_kne_are_what_its_proto_says() {
    let Some(proto) = given("KNE_PROTO", "proto/topo.proto of openconfig/kne") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    build(at, "clos --leaves 3 --spines 2 --hosts 2", "");
    switchwright(at, "export kne build -o kne");
    let text = fs::read_to_string(at.join("kne/topology.pb.txt")).unwrap();
    let parent = proto.parent().unwrap();
    let files = protox::compile([&proto], [parent]).unwrap();
    let pool = prost_reflect::DescriptorPool::from_file_descriptor_set(files).unwrap();
    let message = pool.get_message_by_name("topo.Topology").unwrap();
    let network = prost_reflect::DynamicMessage::parse_text_format(message.clone(), &text).unwrap();
    let count = |field: &str| {
        let value = network.get_field_by_name(field).unwrap();
        value.as_list().unwrap().len()
    };
    // Five switches, six hosts; six links of spines and six of hosts.
    assert_eq!([count("nodes"), count("links")], [11, 12]);
    let bad = text.replacen("a_node", "from", 1);
    assert!(prost_reflect::DynamicMessage::parse_text_format(message, &bad).is_err());
}
