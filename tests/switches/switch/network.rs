//! A whole network as a user makes it: `topo`, `plan`, `build`, a `switchwright switch` for every
//! switch, real hosts, `push`; then ping and TCP across, also when links have failed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output};

use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{Namespace, Veth};
use serde_json::Value;

use super::hosts::{ping, tcp};
use super::support::{COMMAND, Switch, may};

fn run(folder: &Path, line: &str) -> Output {
    let output = Command::new(COMMAND)
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    output
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A host of `topology.json`, set up as that says.
struct Host {
    namespace: Namespace,
    address: IpAddr,
}

impl Host {
    fn new(file: &Value) -> Self {
        let namespace = Namespace::new().unwrap();
        let (address, _) = file["ip"].as_str().unwrap().split_once('/').unwrap();
        let address = address.parse().unwrap();
        Self { namespace, address }
    }

    /// To be called when `eth0` is there.
    fn set_up(&self, file: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut lines = vec![
            format!("ip link set eth0 address {}", text(&file["mac"])),
            format!("ip addr add {} dev eth0", text(&file["ip"])),
        ];
        lines.extend(file["commands"].as_array().unwrap().iter().map(text));
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let done = self
                .namespace
                .run(|| Command::new(words[0]).args(&words[1..]).output());
            let done = done.unwrap().unwrap();
            assert!(
                done.status.success(),
                "{line}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
    }
}

/// Every host reaches every other.
fn all_reach_all(hosts: &BTreeMap<String, Host>, when: &str) {
    for (from_name, from) in hosts {
        for (to_name, to) in hosts {
            if from_name != to_name {
                let done = ping(&from.namespace, &to.address.to_string());
                assert_ne!(done, Some(false), "{when}: {from_name} to {to_name}");
            }
        }
    }
    let (first, last) = (&hosts["h1"], &hosts["h4"]);
    for (from, to, port) in [(first, last, 7001), (last, first, 7002)] {
        tcp(
            &from.namespace,
            &to.namespace,
            (to.address, port).into(),
            1 << 20,
        );
    }
}

/// A topology without one link.
fn without(folder: &Path, from: &str, to: &str, link: [&str; 2]) {
    let mut topology = read(&folder.join(from));
    let links = topology["links"].as_array_mut().unwrap();
    let before = links.len();
    links.retain(|l| [&l["a"], &l["b"]].map(|end| end.as_str().unwrap()) != link);
    assert_eq!(links.len(), before - 1);
    std::fs::write(folder.join(to), topology.to_string()).unwrap();
}

/// Ports are those of a network namespace, files are not.
#[test]
fn switches_of_two_namespaces_listen_at_the_same_port() {
    if !may() {
        return;
    }
    let line = ["--no-p4", "--grpc-server-addr", "127.0.0.1:50151"];
    let labs = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    let switches = labs
        .each_ref()
        .map(|lab| lab.run(|| Switch::run(&line)).unwrap());
    assert_ne!(switches[0].admin, switches[1].admin);
    for (lab, switch) in labs.iter().zip(&switches) {
        let mut command = Command::new(COMMAND);
        command.args(["status", &switch.address, "--json"]);
        let output = lab.run(|| command.output()).unwrap().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_built_network_of_processes_carries_real_hosts() {
    if !may() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for line in [
        "topo clos --leaves 2 --spines 2 --hosts 2 -o clos.json",
        "plan clos.json --scheme tagger --bounces 1 -o plan.json",
        "build plan.json --target v1model --formats tutorials -o out",
    ] {
        run(folder, line);
    }
    without(folder, "clos.json", "cut.json", ["leaf1:3", "spine1:1"]);
    run(
        folder,
        "plan cut.json --scheme tagger --bounces 1 -o cut.plan.json",
    );
    run(folder, "build cut.plan.json --target v1model -o cut");
    let network = read(&folder.join("out/topology.json"));
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| in_the_lab(folder, &network)).unwrap();
}

fn in_the_lab(folder: &Path, network: &Value) {
    let hosts: BTreeMap<String, Host> = network["hosts"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, file)| (name.clone(), Host::new(file)))
        .collect();
    // Interfaces are called like the ends of links: s1-p3.
    let mut wires = Vec::new();
    let mut ports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for link in network["links"].as_array().unwrap() {
        let [a, b] = [0, 1].map(|end| link[end].as_str().unwrap());
        let end = |name| match hosts.get(name) {
            Some(host) => End::inside("eth0", &host.namespace),
            None => End::here(name),
        };
        wires.push(Veth::new(end(a), end(b)).unwrap());
        for name in [a, b] {
            if let Some((switch, port)) = name.split_once("-p") {
                let port = format!("{port}@{name}");
                ports.entry(switch.to_owned()).or_default().push(port);
            }
        }
    }
    for (name, file) in network["hosts"].as_object().unwrap() {
        hosts[name].set_up(file);
    }
    let mut devices = "format: switchwright-devices\nversion: 1\nswitches:\n".to_owned();
    let mut switches = Vec::new();
    for (number, (name, file)) in network["switches"].as_object().unwrap().iter().enumerate() {
        let own = folder.join(name);
        std::fs::create_dir(&own).unwrap();
        let (device, queues) = (number.to_string(), file["priority_queues"].to_string());
        let mut line = vec!["--no-p4", "--device-id", &device];
        line.extend(ports[name].iter().flat_map(|port| ["-i", port]));
        line.extend([
            "--",
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--priority-queues",
            &queues,
        ]);
        let switch = Switch::start(&own, &line);
        let plan_name = file["own_name"].as_str().unwrap_or(name);
        devices.push_str(&format!(
            "  {plan_name}: {{address: \"{}\"}}\n",
            switch.address
        ));
        switches.push(switch);
    }
    std::fs::write(folder.join("devices.yaml"), devices).unwrap();

    run(folder, "push out --devices devices.yaml");
    let again = run(folder, "push out --devices devices.yaml --json");
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    println!("the second push: {again}");
    all_reach_all(&hosts, "all links up");

    // A link fails; the build without it is pushed.
    let mut rtnl = Rtnl::open().unwrap();
    rtnl.set_up("s1-p3", false).unwrap();
    run(folder, "push cut --devices devices.yaml");
    all_reach_all(&hosts, "a link failed, and the entries for it pushed");

    rtnl.set_up("s1-p3", true).unwrap();
    run(folder, "push out --devices devices.yaml");
    all_reach_all(&hosts, "all links up again");
    for switch in switches {
        assert_eq!(switch.stop(), Some(0));
    }
}
