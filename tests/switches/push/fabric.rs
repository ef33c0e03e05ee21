//! A small Clos of running switches with three builds for it, and the command line beside it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use linuxnet::FreePorts;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// The switches of the Clos, in the plan's order.
const SWITCHES: [&str; 4] = ["leaf1", "leaf2", "spine1", "spine2"];

/// What a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `switchwright switch`.
    Ours,
    /// BMv2's simple_switch_grpc.
    Bmv2,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Ours, Self::Bmv2];

    /// The first tool that it needs and that is not here.
    pub(crate) fn missing(self) -> Option<&'static str> {
        let tools: &[&str] = match self {
            Self::Ours => &[],
            Self::Bmv2 => &["simple_switch_grpc"],
        };
        let starts = |tool: &&&str| {
            let quiet = Command::new(tool)
                .arg("--help")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            quiet.is_ok()
        };
        tools.iter().find(|tool| !starts(tool)).copied()
    }

    /// Whether a batch is taken whole or not at all.
    pub(crate) fn atomic(self) -> bool {
        self == Self::Ours
    }

    /// At how many moments pushers and switches are killed: `PUSH_KILLS` for ours, fewer for BMv2,
    /// which is slow to come up.
    pub(crate) fn kills(self) -> usize {
        let asked = std::env::var("PUSH_KILLS").ok();
        let ours = asked.and_then(|n| n.parse().ok()).unwrap_or(50);
        match self {
            Self::Ours => ours,
            Self::Bmv2 => ours.min(8),
        }
    }

    /// Starts a switch at a port; ours, where none is given, at one that the system chooses. Also
    /// tells the port.
    fn start(self, device_id: usize, port: Option<u16>, more: &[&str]) -> (Child, u16) {
        let port = match self {
            Self::Ours => port.unwrap_or(0),
            Self::Bmv2 => port.unwrap_or_else(free_port),
        };
        let (address, device_id) = (format!("127.0.0.1:{port}"), device_id.to_string());
        let mut command = match self {
            Self::Ours => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
                command.args(["--json", "switch"]);
                command
            }
            Self::Bmv2 => {
                let mut command = Command::new("simple_switch_grpc");
                command.args(["--thrift-port", &free_port().to_string()]);
                command
            }
        };
        command
            .args(if self == Self::Ours { more } else { &[] })
            .args([
                "--no-p4",
                "--device-id",
                &device_id,
                "--",
                "--grpc-server-addr",
                &address,
            ])
            .stdout(match self {
                Self::Ours => Stdio::piped(),
                Self::Bmv2 => Stdio::null(),
            })
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let port = process.stdout.take().map_or(port, |said| {
            let mut line = String::new();
            BufReader::new(said).read_line(&mut line).unwrap();
            let ready: Value = serde_json::from_str(&line).unwrap();
            let address: SocketAddr = ready["address"].as_str().unwrap().parse().unwrap();
            address.port()
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(
                Instant::now() < deadline,
                "device {device_id} does not listen"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        (process, port)
    }
}

/// The switches, ended with the test, and a folder with builds `one`, `two` (other entries), `vlan`
/// (another program) and `devices.yaml`.
pub(crate) struct Fabric {
    kind: Kind,
    folder: TempDir,
    /// Whether switches keep their state on disk.
    kept: bool,
    switches: RefCell<BTreeMap<&'static str, (Child, u16)>>,
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for (process, _) in self.switches.get_mut().values_mut() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A port that no other test of this process was given.
fn free_port() -> u16 {
    static GIVEN: Mutex<FreePorts> = Mutex::new(FreePorts::new());
    GIVEN.lock().unwrap().tcp().unwrap()
}

impl Fabric {
    /// The builds alone.
    pub(crate) fn files_only() -> Self {
        Self::with_files(Kind::Bmv2)
    }

    fn with_files(kind: Kind) -> Self {
        let fabric = Self {
            kind,
            folder: TempDir::new().unwrap(),
            kept: false,
            switches: RefCell::default(),
        };
        fabric.make(&[
            "topo",
            "clos",
            "--leaves",
            "2",
            "--spines",
            "2",
            "--hosts",
            "2",
            "-o",
            "clos.json",
        ]);
        for (build, options) in [
            ("one", &["--bounces", "1"][..]),
            ("two", &["--bounces", "0"]),
            ("vlan", &["--carrier", "vlan-pcp"]),
        ] {
            let plan = format!("{build}.plan.json");
            let mut arguments = vec!["plan", "clos.json", "--scheme", "tagger", "-o", &plan];
            arguments.extend(options);
            fabric.make(&arguments);
            fabric.make(&["build", &plan, "--target", "v1model", "-o", build]);
        }
        fabric
    }

    /// Switches that listen, without a program.
    pub(crate) fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[], "")
    }

    /// The same with more arguments for each, and more text at the head of the devices file.
    pub(crate) fn start_with(kind: Kind, more: &[&str], head: &str) -> Self {
        Self::start_all(Self::with_files(kind), more, head)
    }

    /// Our switches with a state directory each.
    pub(crate) fn start_kept() -> Self {
        let mut fabric = Self::with_files(Kind::Ours);
        fabric.kept = true;
        Self::start_all(fabric, &[], "")
    }

    fn start_all(fabric: Self, more: &[&str], head: &str) -> Self {
        let mut devices = format!("format: switchwright-devices\nversion: 1\n{head}switches:\n");
        for (device_id, name) in SWITCHES.into_iter().enumerate() {
            let state = fabric.state_arguments(name);
            let more: Vec<&str> = more
                .iter()
                .copied()
                .chain(state.iter().map(String::as_str))
                .collect();
            let (process, port) = fabric.kind.start(device_id, None, &more);
            fabric.switches.borrow_mut().insert(name, (process, port));
            devices.push_str(&format!("  {name}: {{address: \"127.0.0.1:{port}\"}}\n"));
        }
        fabric.write("devices.yaml", &devices);
        fabric
    }

    fn state_arguments(&self, name: &str) -> Vec<String> {
        if !self.kept {
            return Vec::new();
        }
        let folder = self.path().join(format!("state-{name}"));
        vec![
            "--state-dir".to_owned(),
            folder.to_str().unwrap().to_owned(),
        ]
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.path().join(file), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
        command.args(arguments).current_dir(self.path());
        if matches!(arguments[0], "push" | "drift") {
            command.args(["--devices", "devices.yaml"]);
        }
        command
    }

    /// Status, output, errors.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    pub(crate) fn make(&self, arguments: &[&str]) {
        let (status, _, error) = self.run(arguments);
        assert_eq!(status, 0, "{arguments:?}: {error}");
    }

    /// What it prints, with addresses left out; this exit status is demanded.
    pub(crate) fn text(&self, expected: i32, arguments: &[&str]) -> String {
        let (status, text, error) = self.run(arguments);
        assert_eq!(status, expected, "{arguments:?}: {text}{error}");
        let lines = text
            .lines()
            .map(|line| match line.split_once(" (127.0.0.1:") {
                Some((name, _)) => format!("{name}\n"),
                None => format!("{line}\n"),
            });
        lines.collect()
    }

    /// What it prints with `--json`; this exit status is demanded.
    pub(crate) fn json(&self, expected: i32, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let (status, text, error) = self.run(&arguments);
        assert_eq!(status, expected, "{arguments:?}: {text}{error}");
        serde_json::from_str(&text).unwrap()
    }

    /// A pusher that runs by itself.
    pub(crate) fn start_push(&self, build: &str) -> Child {
        let mut command = self.command(&["push", build]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// `drift --watch --json`, its output ours to read.
    pub(crate) fn start_watch(&self, build: &str, interval: &str) -> Child {
        let mut command = self.command(&["drift", build]);
        command.args(["--watch", "--json", "--interval", interval]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Ends a switch.
    pub(crate) fn stop(&self, name: &'static str) {
        let mut switches = self.switches.borrow_mut();
        let (process, _) = switches.get_mut(name).unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Starts a switch again, where it was; without a program unless it was kept.
    pub(crate) fn start_again(&self, name: &'static str) {
        let device_id = SWITCHES.iter().position(|switch| *switch == name).unwrap();
        let mut switches = self.switches.borrow_mut();
        let (process, port) = switches.get_mut(name).unwrap();
        let state = self.state_arguments(name);
        let more: Vec<&str> = state.iter().map(String::as_str).collect();
        *process = self.kind.start(device_id, Some(*port), &more).0;
    }

    /// Makes a switch of a build refuse: the entry refers to a group that nobody makes.
    pub(crate) fn spoil(&self, build: &str, switch: &str) {
        let file = format!("switches/{switch}/entries.txtpb");
        let (group, nobodys) = ("action_profile_group_id: 1", "action_profile_group_id: 77");
        self.edit(build, &file, |text| text.replacen(group, nobodys, 1));
    }

    /// Changes a file of a build; the manifest is put right.
    pub(crate) fn edit(&self, build: &str, file: &str, change: impl Fn(&str) -> String) {
        let path = self.path().join(build).join(file);
        let text = fs::read_to_string(&path).unwrap();
        let spoilt = change(&text);
        assert_ne!(text, spoilt, "{file} changes");
        fs::write(&path, &spoilt).unwrap();
        let manifest = self.path().join(build).join("manifest.json");
        let mut json: Value = serde_json::from_reader(File::open(&manifest).unwrap()).unwrap();
        let digest: String = Sha256::digest(&spoilt)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        json["files"][file] = digest.into();
        fs::write(&manifest, json.to_string()).unwrap();
    }

    /// Demands that every switch holds exactly what one of the builds says.
    pub(crate) fn holds_one_of(&self, builds: [&str; 2]) {
        let differing = builds.map(|build| -> Vec<String> {
            let (_, text, _) = self.run(&["drift", build, "--json"]);
            let report: Value = serde_json::from_str(&text).unwrap();
            let drifts = report["drifts"].as_array().unwrap();
            drifts
                .iter()
                .map(|drift| drift["switch"].to_string())
                .collect()
        });
        for switch in &differing[0] {
            assert!(
                !differing[1].contains(switch),
                "{switch} holds half a batch"
            );
        }
    }
}

/// The lines that a process prints, as they come.
pub(crate) fn lines_of(process: &mut Child) -> Receiver<String> {
    let output = process.stdout.take().unwrap();
    let (lines, received) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    received
}
