//! `docker-compose.yml` without Docker: its services run one after the other as their `depends_on`
//! say, in a network namespace, with BMv2 from PATH in the place of p4lang's image.
//!
//! What Docker itself does with the file (images, volumes) is not tried here.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use emulator::drill::{SwitchKind, possible};
use linuxnet::Namespace;
use serde::Deserialize;
use tempfile::TempDir;

/// Longest wait for anything.
const TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct Compose {
    services: BTreeMap<String, Service>,
}

#[derive(Deserialize)]
struct Service {
    image: String,
    command: Vec<String>,
    #[serde(default)]
    depends_on: BTreeMap<String, Condition>,
    healthcheck: Option<Health>,
    #[serde(default)]
    sysctls: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct Condition {
    condition: String,
}

#[derive(Deserialize)]
struct Health {
    test: Vec<String>,
}

/// Services that were started; they end with it.
struct Services<'a> {
    compose: &'a Compose,
    /// The volume `work`.
    work: PathBuf,
    running: BTreeMap<String, Child>,
    ended: BTreeSet<String>,
}

impl Drop for Services<'_> {
    fn drop(&mut self) {
        for child in self.running.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Services<'_> {
    /// A service's program with its arguments, where it would run.
    fn command(&self, words: &[String]) -> Command {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bmv2/");
        let ours = Path::new(env!("CARGO_BIN_EXE_switchwright"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(&words[0]);
        command
            .args(
                words[1..]
                    .iter()
                    .map(|word| word.replace("/example/", example)),
            )
            .current_dir(&self.work)
            .env(
                "PATH",
                format!("{}:{path}", ours.parent().unwrap().display()),
            );
        command
    }

    /// What a service said.
    fn words(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(format!("{name}.log"))).unwrap_or_default()
    }

    /// Starts a service after what it waits for.
    fn start(&mut self, name: &str) {
        if self.running.contains_key(name) || self.ended.contains(name) {
            return;
        }
        let service = &self.compose.services[name];
        for (other, wanted) in &service.depends_on {
            self.start(other);
            match wanted.condition.as_str() {
                "service_started" => {}
                "service_healthy" => self.healthy(other),
                "service_completed_successfully" => self.end(other),
                condition => panic!("{name}: condition {condition}"),
            }
        }
        for (key, value) in &service.sysctls {
            let file = format!("/proc/sys/{}", key.replace('.', "/"));
            std::fs::write(file, value.to_string()).unwrap();
        }
        let log = File::create(self.work.join(format!("{name}.log"))).unwrap();
        let mut command = self.command(&service.command);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap_or_else(|e| panic!("{name}: {e}"));
        self.running.insert(name.to_owned(), child);
    }

    fn until(&self, name: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !done() {
            assert!(Instant::now() < deadline, "{name}: {}", self.words(name));
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn healthy(&self, name: &str) {
        let test = &self.compose.services[name]
            .healthcheck
            .as_ref()
            .unwrap()
            .test;
        assert_eq!(test[0], "CMD", "{name}");
        self.until(name, || {
            self.command(&test[1..]).output().unwrap().status.success()
        });
    }

    /// Waits until a service has ended well.
    fn end(&mut self, name: &str) {
        let Some(mut child) = self.running.remove(name) else {
            return;
        };
        let mut status = None;
        self.until(name, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.unwrap().success(), "{name}: {}", self.words(name));
        self.ended.insert(name.to_owned());
    }
}

#[test]
fn the_compose_file_brings_up_four_switches_and_drills_them() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docker-compose.yml"));
    let compose: Compose = serde_saphyr::from_str(&text.unwrap()).unwrap();
    let images: BTreeSet<&str> = compose
        .services
        .values()
        .map(|s| s.image.as_str())
        .collect();
    let wanted = ["p4lang/behavioral-model:latest", "switchwright"];
    assert_eq!(images, BTreeSet::from(wanted));
    if let Err(missing) = possible(SwitchKind::Bmv2) {
        println!("skipped: {missing}");
        return;
    }
    let work = TempDir::new().unwrap();
    Namespace::new()
        .unwrap()
        .run(|| {
            let mut services = Services {
                compose: &compose,
                work: work.path().to_owned(),
                running: BTreeMap::new(),
                ended: BTreeSet::new(),
            };
            services.start("drill");
            services.end("drill");
            println!("{}", services.words("drill"));
        })
        .unwrap();
}
