//! No option is idle: every option of every command that runs by itself changes what the command
//! prints or writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// `LINE | LINE WITH AN OPTION`; lines that begin with `#` are comments.
const TABLE: &str = include_str!("table.txt");

/// Options that are in no row, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("check --seed", "what is drawn at random need not differ"),
    ("measure --seed", "what is drawn at random need not differ"),
    (
        "simulate --seed",
        "scenarios that leave nothing to chance do not ask for it",
    ),
    (
        "grade --suite",
        "it wants a checkout of somebody else's course",
    ),
    (
        "submit slurm --run",
        "it is for a cluster, which a machine may have",
    ),
    (
        "submit kubernetes --run",
        "it is for a cluster, which a machine may have",
    ),
    ("buffers --format", "the value `lossless` writes one switch"),
    (
        "p4 explain --entries",
        "it is for `--pass profile`, which measures",
    ),
    (
        "p4 explain --p4info",
        "it is for `--pass profile`, which measures",
    ),
    (
        "p4 explain --switch",
        "it is for `--pass profile`, which measures",
    ),
    (
        "p4 explain --pcap-in",
        "it is for `--pass profile`, which measures",
    ),
    (
        "measure-paths --emulate",
        "it makes network namespaces, which not everybody may; the tests of the emulator run it",
    ),
];

/// Commands whose options the table has, all of them.
const COMMANDS: &[&str] = &[
    "topo three-node",
    "topo line",
    "topo ring",
    "topo clos",
    "topo fat-tree",
    "topo egft",
    "topo bcube",
    "topo jellyfish",
    "topo flattened-clos",
    "topo xpander",
    "topo import",
    "topo show",
    "topo diff",
    "topo cable",
    "check",
    "measure",
    "merge",
    "submit slurm",
    "submit kubernetes",
    "export containerlab",
    "export kne",
    "build",
    "audit",
    "change",
    "entries",
    "buffers",
    "targets",
    "trace",
    "simulate",
    "p4 check",
    "p4 compile",
    "p4 fmt",
    "p4 info",
    "p4 ir",
    "p4 explain",
    "grade",
    "completions",
    "man",
    "reproduce",
    "measure-paths",
];

fn run(at: &Path, line: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(line.split(' '))
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&words).into_owned(),
    )
}

/// Makes what the rows read.
fn fixtures(at: &Path) {
    for line in [
        "topo clos --leaves 2 --spines 2 --hosts 2 -o clos.json",
        "topo clos --leaves 2 --spines 2 --hosts 1 -o thin.json",
        "topo ring 4 -o ring.json",
        "topo jellyfish --switches 8 --ports 6 --fabric-ports 4 -o fish.json",
        "plan clos.json -o plan.json",
        "plan ring.json --scheme plinko -o failover.json",
        "plan clos.json --class gold:1 --class silver:0 -o classes.json",
        "measure failover.json --sets 2 --shard 1/1 -o shared",
        "build plan.json -o build",
        "build classes.json -o classes",
        "plan clos.json --bounces 3 -o deep.json",
        "plan clos.json --bounces 2 -o three.json",
        "plan clos.json --bounces 3 --carrier vlan-pcp -o old.json",
        "plan clos.json --bounces 3 --carrier vlan-pcp --tag-priorities 4,3,2,5 -o other.json",
        "build plan.json --target sonic -o sonic",
    ] {
        let (status, words) = run(at, line);
        assert_eq!(status, Some(0), "{line}: {words}");
    }
    let plan = fs::read_to_string(at.join("plan.json")).unwrap();
    let tight = plan.replace("\"buffer\":12582912", "\"buffer\":1");
    assert_ne!(plan, tight);
    fs::write(at.join("tight.json"), tight).unwrap();
    fs::write(at.join("links.csv"), "a,b\nx,y\ny,z\nz,x\n").unwrap();
    fs::write(at.join("parts.csv"), "a,b\nx,y\ny,z\nz,x\np,q\n").unwrap();
    let managed = "a,a_port,b,b_port\nx,p1,y,p1\ny,p2,z,p1\nz,p2,x,p2\nx,mgmt0,y,p3\n";
    fs::write(at.join("managed.csv"), managed).unwrap();
    fs::write(
        at.join("assumed.json"),
        plan.replace(",\"length_m\":10}", "}"),
    )
    .unwrap();
    let racks: String = (1..=8).map(|at| format!("s{at},{at},{at}\n")).collect();
    fs::write(at.join("racks.csv"), format!("node,x,y\n{racks}")).unwrap();
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("labs");
    std::os::unix::fs::symlink(labs, at.join("labs")).unwrap();
    fs::write(at.join("loose.p4"), "const bit<8> X=1 ;\n").unwrap();
    fs::write(at.join("ports.json"), "{\"leaf1\": {\"1\": 128}}").unwrap();
    let queues = "{\"SCHEDULER\": {\"scheduler.0\": {\"type\": \"DWRR\", \"weight\": \"14\"}}}";
    fs::write(at.join("qos.json"), queues).unwrap();
}

/// All files below a folder, by path.
fn files(at: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}

/// What a line does: its status, its words but for times, and the files that it leaves.
#[derive(Debug, PartialEq)]
struct Outcome(Option<i32>, String, BTreeMap<String, Vec<u8>>);

/// Removes what a line made: files and folders that hold nothing from before.
fn clean(at: &Path, before: &BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let kept = before
            .keys()
            .any(|known| Path::new(known).starts_with(&path));
        if path.is_dir() && !kept {
            fs::remove_dir_all(&path).unwrap();
        } else if !kept {
            fs::remove_file(&path).unwrap();
        }
    }
}

fn outcome(at: &Path, before: &BTreeMap<String, Vec<u8>>, line: &str) -> Outcome {
    let (status, words) = run(at, line);
    let timed =
        |line: &&str| line.contains("seconds") || line.contains(" in  ") || line.ends_with(" s");
    let words: Vec<&str> = words.lines().filter(|line| !timed(line)).collect();
    let mut left = BTreeMap::new();
    files(at, &mut left);
    left.retain(|path, bytes| before.get(path) != Some(bytes));
    clean(at, before);
    Outcome(status, words.join("\n"), left)
}

/// The long options of a command, but those of every command.
fn options(at: &Path, command: &str) -> BTreeSet<String> {
    let (_, help) = run(at, &format!("{command} --help"));
    let everywhere = ["--json", "--quiet", "--verbose", "--help", "--version"];
    let long = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix('-')?;
        let from = if line.starts_with('-') {
            0
        } else {
            line.find(" --")? + 2
        };
        let name = line[from..].trim_start_matches('-');
        let end = name.find([' ', '[', '=', '.']).unwrap_or(name.len());
        // A line of words may begin with an option in quotes.
        (!name[..end].contains('`')).then(|| format!("--{}", &name[..end]))
    };
    let found = help.lines().filter_map(long);
    found
        .filter(|name| !everywhere.contains(&name.as_str()))
        .collect()
}

#[test]
fn every_option_changes_something() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fixtures(at);
    let mut before = BTreeMap::new();
    files(at, &mut before);
    let mut idle = Vec::new();
    let mut tried = BTreeSet::new();
    for row in TABLE.lines().filter(|row| !row.starts_with('#')) {
        let (plain, other) = row.split_once(" | ").unwrap();
        let both = [plain, other].map(|line| outcome(at, &before, line));
        if both[0] == both[1] {
            idle.push(row);
        }
        for (line, outcome) in [plain, other].iter().zip(&both) {
            // What these lines ask for is refused, one of them until the option is there.
            let refused = ["simulate", "topo import parts.csv"].contains(line);
            let refuses = ["--against", "--strict"]
                .iter()
                .any(|word| line.contains(word));
            let wrong = outcome.0 == Some(2) && !refused && !refuses;
            assert!(!wrong, "{line}: {}", outcome.1);
        }
        let words: Vec<&str> = plain.split(' ').collect();
        let command = COMMANDS.iter().find(|command| {
            let names: Vec<&str> = command.split(' ').collect();
            words.starts_with(&names)
        });
        let command = command.unwrap_or_else(|| panic!("{row}: no such command"));
        let options = other.split(' ').filter(|word| word.starts_with("--"));
        tried.extend(options.map(|option| format!("{command} {option}")));
    }
    assert_eq!(idle, Vec::<&str>::new(), "options that change nothing");
    for command in COMMANDS {
        for option in options(at, command) {
            let name = format!("{command} {option}");
            let reason = LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
            assert!(tried.contains(&name) || reason, "`{name}` is in no row");
        }
    }
}
