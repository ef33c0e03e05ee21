//! Against SONiC's own repository, where a checkout of it is there:
//! `SONIC_BUILDIMAGE=/path/to/sonic-buildimage`. With `SONIC_PYTHON`, a Python that has yangson and
//! pyang, what is written is validated against its YANG models; with one that has lxml, jinja2,
//! netaddr, natsort and PyYAML, SONiC's sample devices are made and audited.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use sonic::audit::FindingKind;
use sonic::platform::{GENERIC_8TC, GENERIC_16TC};
use sonic::tables::PortQosRow;
use sonic::{ConfigDb, ConfigFault, Options, Watchdog, configure};
use topology::import::NamedText;

use super::audited::{Way, audit_folder, configs, up_down};
use super::written::{bounces, clos};

/// The checkout, or a line that says what is left out without it.
fn checkout(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SONIC_BUILDIMAGE").map(PathBuf::from);
    if found.is_none() {
        println!(
            "skipped {what}: SONIC_BUILDIMAGE names no checkout of sonic-net/sonic-buildimage"
        );
    }
    found
}

/// A Python with what is needed, or a line that says what is left out without it.
fn python(what: &str, with: &str) -> Option<OsString> {
    let found = std::env::var_os("SONIC_PYTHON");
    if found.is_none() {
        println!("skipped {what}: SONIC_PYTHON names no Python with {with}");
    }
    found
}

/// What SONiC's own templates make of its sample devices.
fn samples(root: &Path) -> Vec<(String, String)> {
    let folder = root.join("src/sonic-config-engine/tests/sample_output/py3");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let wanted = name.starts_with("qos-") || name.starts_with("buffer");
        if wanted && name.ends_with(".json") {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn sonics_own_samples_are_read() {
    let Some(root) = checkout("samples of SONiC") else {
        return;
    };
    let samples = samples(&root);
    assert!(samples.len() > 40, "{}", samples.len());
    let (mut maps, mut read) = (0, 0);
    for (name, text) in &samples {
        let config = match sonic::read(name, text) {
            Ok(config) => config,
            // A sample that names the maps of another file and has none.
            Err(error) => {
                let elsewhere = |fault: &ConfigFault| fault.problem.starts_with("there is no `");
                assert!(error.0.iter().all(elsewhere), "{error}");
                continue;
            }
        };
        read += 1;
        maps += config
            .maps
            .values()
            .map(std::collections::BTreeMap::len)
            .sum::<usize>();
    }
    assert!(
        maps > 100 && read > 40,
        "{maps} maps in {read} of {} samples",
        samples.len()
    );
}

/// The sample devices of SONiC's configuration engine, made into whole configurations by SONiC's
/// own tools, as `config load_minigraph` does. Some have PFC on ports whose cables they call 0 m
/// long, for which SONiC makes no headroom; the audit finds these and nothing else.
#[test]
fn sonics_sample_devices_are_audited() {
    let what = "sample devices of SONiC";
    let Some(root) = checkout(what) else { return };
    let Some(python) = python(what, "lxml, jinja2, netaddr, natsort and PyYAML") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/minigraph/generate.py"
        ))
        .args([&root, folder.path()])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let whole = words.matches("made: device, qos, buffers").count();
    assert!(whole > 50, "{words}");
    let (mut lossless, mut links, mut unknown) = (0, 0, Vec::new());
    let (mut findings, mut bad, mut alone) = (0, 0, 0);
    for name in words.lines().filter_map(|line| line.split_once(": made: ")) {
        let path = folder.path().join(name.0).join("config_db.json");
        let file = NamedText {
            name: format!("{}/config_db.json", name.0),
            text: std::fs::read_to_string(path).unwrap(),
        };
        let want = without_headroom(&file.text);
        let report = audit_folder(&[file], Way::Any);
        let kinds = report.findings.iter().map(|finding| finding.kind);
        assert!(
            kinds.clone().all(|kind| kind == FindingKind::Headroom),
            "{report:?}"
        );
        assert_eq!(kinds.count(), want, "{}: {:?}", name.0, report.findings);
        findings += want;
        bad += usize::from(want > 0);
        lossless += usize::from(!report.lossless_priorities.is_empty());
        links += report.links;
        match report.cbd_free {
            Some(free) => assert!(free, "{}", name.0),
            None if report.links == 0 => alone += 1,
            None => unknown.push((name.0, report.cbd_free_unknown)),
        }
    }
    println!(
        "{} devices, {alone} without neighbours, {whole} with QoS and buffers, {lossless} with PFC; {links} cables; {findings} \
         findings on {bad}; not known: {unknown:?}",
        words.matches(": made: ").count()
    );
    assert!(lossless > 40 && links > 1000 && unknown.len() < 10);
}

/// How many priorities have PFC on ports that lead somewhere and whose cables are 0 m long.
fn without_headroom(text: &str) -> usize {
    let config: serde_json::Value = serde_json::from_str(text).unwrap();
    let lengths = config["CABLE_LENGTH"].as_object().into_iter().flatten();
    let mut zero = std::collections::BTreeSet::new();
    for (port, length) in lengths.flat_map(|(_, row)| row.as_object().unwrap()) {
        if length == "0m" && !config["DEVICE_NEIGHBOR"][port].is_null() {
            zero.insert(port);
        }
    }
    let enabled = zero.into_iter().filter_map(|port| {
        let list = config["PORT_QOS_MAP"][port]["pfc_enable"].as_str()?;
        Some(list.split(',').filter(|item| !item.is_empty()).count())
    });
    enabled.sum()
}

/// SONiC's default maps on every port of a Clos: free of cycles until packets bounce.
#[test]
fn sonics_default_maps_deadlock_when_packets_bounce() {
    let Some(root) = checkout("default maps of SONiC") else {
        return;
    };
    let samples = samples(&root);
    let (name, text) = samples
        .iter()
        .find(|(name, _)| name == "qos-arista7050.json")
        .unwrap();
    let default = sonic::read(name, text).unwrap();
    let row: PortQosRow = default.port_qos.values().next().unwrap().clone();
    let plan = bounces(&clos(), 1);
    let configs: Vec<ConfigDb> = configs(&plan)
        .into_iter()
        .map(|config| ConfigDb {
            maps: default.maps.clone(),
            global_dscp_to_tc: default.global_dscp_to_tc.clone(),
            port_qos: config
                .ports
                .keys()
                .map(|port| (port.clone(), row.clone()))
                .collect(),
            // SONiC computes the profiles.
            priority_groups: std::collections::BTreeMap::new(),
            queues: std::collections::BTreeMap::new(),
            ..config
        })
        .collect();
    let straight = up_down(plan.topology(), &configs, 0);
    assert_eq!(straight.findings, []);
    assert_eq!(straight.cbd_free, Some(true));
    assert_eq!(straight.lossless_priorities, [3, 4]);
    let bounced = up_down(plan.topology(), &configs, 1);
    assert_eq!(bounced.cbd_free, Some(false));
    assert!(
        bounced
            .findings
            .iter()
            .all(|f| f.kind == FindingKind::CyclicBuffers)
    );
}

#[test]
fn what_is_written_validates_against_sonics_yang_models() {
    let what = "SONiC's YANG models";
    let Some(root) = checkout(what) else { return };
    let Some(python) = python(what, "yangson and pyang") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (count, platform, watchdog) in [
        (1, &GENERIC_8TC, Watchdog::Off),
        (2, &GENERIC_8TC, Watchdog::Net),
        (3, &GENERIC_16TC, Watchdog::Off),
    ] {
        let plan = bounces(&clos(), count);
        for switch in plan.topology().switch_ids() {
            let config = configure(&plan, switch, &Options { platform, watchdog }).unwrap();
            let tables = serde_json::to_string(&sonic::write::tables(&config)).unwrap();
            let path = folder
                .path()
                .join(format!("{count}-{}.json", switch.index()));
            std::fs::write(&path, tables).unwrap();
            files.push(path);
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/yang/validate.py");
    let output = Command::new(python)
        .arg(script)
        .arg(root)
        .args(&files)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{words}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(words.matches("valid: ").count(), files.len(), "{words}");
}
