//! Four devices with BF Runtime in this process, builds for them, and the command line beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use controlplane::bfrt::Schema;
use controlplane::bfrt::schema::Annotation;
use controlplane::desired::mark_in;
use p4runtime::P4InfoIndex;
use serde_json::Value;
use tempfile::TempDir;

use super::device::Device;

/// The switches of the Clos, in the plan's order.
pub(crate) const SWITCHES: [&str; 4] = ["leaf1", "leaf2", "spine1", "spine2"];

/// The devices, and a folder with builds `one`, `two` (other entries), `vlan` (another program) and
/// `devices.yaml`.
pub(crate) struct Network {
    folder: TempDir,
    devices: BTreeMap<&'static str, Device>,
    /// The devices end with it.
    _runtime: tokio::runtime::Runtime,
}

impl Network {
    /// Devices that run the program of `one`, by the schema that we derive from it.
    pub(crate) fn start() -> Self {
        Self::start_with(schema)
    }

    /// Devices that run the program of `one`, by a schema made from its build.
    pub(crate) fn start_with(schema: impl Fn(&Path) -> String) -> Self {
        let folder = TempDir::new().unwrap();
        builds(folder.path());
        let schema = schema(&folder.path().join("one"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let mut text = "format: switchwright-devices\nversion: 1\nswitches:\n".to_owned();
        let mut devices = BTreeMap::new();
        for name in SWITCHES {
            let device = Device::with("tagger", &schema);
            let address = runtime.block_on(device.listen());
            text.push_str(&format!("  {name}: {{address: \"{address}\"}}\n"));
            devices.insert(name, device);
        }
        fs::write(folder.path().join("devices.yaml"), text).unwrap();
        Self {
            folder,
            devices,
            _runtime: runtime,
        }
    }

    pub(crate) fn device(&self, name: &str) -> &Device {
        &self.devices[name]
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = (&'static str, &Device)> {
        self.devices.iter().map(|(name, device)| (*name, device))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Changes the devices file.
    pub(crate) fn rewrite(&self, change: impl Fn(&str) -> String) {
        let file = self.path().join("devices.yaml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(&text)).unwrap();
    }

    /// Status, output, errors.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--devices", "devices.yaml"]);
        run(self.path(), &arguments)
    }

    /// What it prints with `--json`; this exit status is demanded.
    pub(crate) fn json(&self, expected: i32, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let (status, text, error) = self.run(&arguments);
        assert_eq!(status, expected, "{arguments:?}: {text}{error}");
        serde_json::from_str(&text).unwrap()
    }

    /// A push or drift that is refused with these words.
    pub(crate) fn refused(&self, expected: i32, arguments: &[&str], words: &[&str]) {
        let (status, text, error) = self.run(arguments);
        assert_eq!(status, expected, "{arguments:?}: {text}{error}");
        for word in words {
            assert!(error.contains(word), "`{word}` is not in: {error}");
        }
    }

    /// The entries of a build's switch, by table.
    pub(crate) fn wanted(&self, build: &str, switch: &str) -> BTreeMap<String, usize> {
        let file = format!("{build}/switches/{switch}/bfrt.json");
        let file: Value =
            serde_json::from_slice(&fs::read(self.path().join(file)).unwrap()).unwrap();
        let tables = file["tables"].as_array().unwrap();
        tables
            .iter()
            .map(|t| {
                (
                    t["table"].as_str().unwrap().to_owned(),
                    t["entries"].as_array().unwrap().len(),
                )
            })
            .collect()
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn make(folder: &Path, arguments: &[&str]) {
    let (status, _, error) = run(folder, arguments);
    assert_eq!(status, 0, "{arguments:?}: {error}");
}

/// Builds of a small Clos: `one` and `two` with one program, `vlan` with another, `v1` for BMv2.
pub(crate) fn builds(folder: &Path) {
    make(
        folder,
        &[
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
        ],
    );
    for (build, target, options) in [
        ("one", "tna", &["--bounces", "1"][..]),
        ("two", "tna", &["--bounces", "0"]),
        ("vlan", "tna", &["--carrier", "vlan-pcp"]),
        ("classes", "tna", &["--classes", "2", "--class-bits"]),
        ("tofino2", "tna2", &["--bounces", "1"]),
        ("v1", "v1model", &["--bounces", "1"]),
    ] {
        let plan = format!("{build}.plan.json");
        let begin = ["plan", "clos.json", "--scheme", "tagger", "-o", &plan];
        make(folder, &[&begin[..], options].concat());
        make(folder, &["build", &plan, "--target", target, "-o", build]);
    }
}

/// The schema of a build, as our own P4Info has it.
pub(crate) fn schema(build: &Path) -> String {
    let info = fs::read_to_string(build.join("p4/tagger.p4info.txtpb")).unwrap();
    let info = P4InfoIndex::new(p4runtime::from_text(&info).unwrap()).unwrap();
    let mut schema = Schema::of_program(&info);
    let text = fs::read_to_string(build.join("p4/tagger.p4")).unwrap();
    let mark = mark_in(&text).expect("the program says what it is");
    let classify = schema
        .tables
        .iter_mut()
        .find(|t| t.name.ends_with(".classify"));
    classify.unwrap().annotations.push(Annotation {
        name: format!("@switchwright(\"{mark}\")"),
    });
    schema.to_json().unwrap()
}
