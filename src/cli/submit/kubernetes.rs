//! `switchwright submit kubernetes`: an indexed Job with an index for every share, and a Job that
//! merges them, as one manifest. The folder of the files is a volume that all pods can write; how
//! pods are placed, retried and removed is Kubernetes' concern.

use std::path::{Component, Path};
use std::process::Command as Process;

use clap::{Args, Command};
use serde_json::{Value, json};

use super::super::fault::{Context, Fault};
use super::super::terminal::Terminal;
use super::{Common, SubmitReport, client, quoted};

/// How often an index whose pod failed is tried again.
const RETRIES: u32 = 3;
/// Where the volume is mounted in the pods.
const MOUNT: &str = "/work";
/// The volume's name in a pod.
const VOLUME: &str = "work";

/// Arguments of `switchwright submit kubernetes`.
#[derive(Debug, Args)]
pub(super) struct Kubernetes {
    #[command(flatten)]
    pub(super) common: Common,
    /// The claim (PersistentVolumeClaim, ReadWriteMany) of the volume that has the files of the
    /// command, by their paths from its root; shares and outcome come to stand on it in the folder
    /// of `-o`.
    #[arg(long, value_name = "NAME", value_parser = object_name)]
    claim: String,
    /// The image with Switchwright and a shell (see `Dockerfile`).
    #[arg(long, default_value = concat!("switchwright:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// The namespace [default: the client's].
    #[arg(long, value_name = "NAME", value_parser = object_name)]
    namespace: Option<String>,
    /// Seconds after which Kubernetes removes the finished Jobs.
    #[arg(long, value_name = "SECONDS")]
    keep: Option<u32>,
}

/// The name of an object of Kubernetes: a DNS subdomain.
fn object_name(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let label = |part: &str| {
        !part.is_empty()
            && part.chars().all(inside)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    if text.len() <= 253 && text.split('.').all(label) {
        return Ok(text.to_owned());
    }
    Err("a name of Kubernetes has small letters, digits, hyphens and dots inside".to_owned())
}

impl Kubernetes {
    pub(super) fn run(self, root: &Command, terminal: &Terminal) -> Result<(), Fault> {
        let files = self.common.write(&[("jobs.yaml", self.manifest(root)?)])?;
        let manifest = self.common.place("jobs.yaml");
        let mut told = SubmitReport {
            engine: "kubernetes",
            shares: self.common.shares,
            files,
            jobs: None,
        };
        if self.common.run {
            let mut kubectl = Process::new("kubectl");
            kubectl.args(["apply", "-o", "name", "-f"]).arg(&manifest);
            let jobs = client("kubectl", &mut kubectl)?;
            told.jobs = Some(jobs.lines().map(|line| line.trim().to_owned()).collect());
        }
        let by_hand = format!("kubectl apply -f {}", quoted(&manifest));
        self.common.tell(&told, &by_hand, terminal)
    }

    /// Both Jobs.
    fn manifest(&self, root: &Command) -> Result<String, Fault> {
        let common = &self.common;
        let below = Path::new(&common.output).components();
        let mut below = below.filter(|part| *part != Component::CurDir);
        if !below.all(|part| matches!(part, Component::Normal(_))) {
            return Err(Fault::input(format!(
                "-o {}: the shares come to stand in this folder of the volume, so it is a path below the volume's root",
                common.output
            ))
            .help("name a folder below this one: `-o sweep`"));
        }
        let lines = common.lines(root, "switchwright", "$((JOB_COMPLETION_INDEX + 1))")?;
        let about = format!(
            "# The shares of `switchwright {}` and their merge (`switchwright submit kubernetes`).\n",
            lines.command
        );
        let share = self.container("share", &lines.share);
        let merge = self.container("merge", &lines.merge);
        let wait = self.container("shares", &self.wait());
        let mut text = about;
        for job in [
            self.job(&common.name, &self.shares(&share)),
            self.job(
                &format!("{}-merge", common.name),
                &self.merge(&wait, &merge),
            ),
        ] {
            text.push_str("---\n");
            text += &serde_saphyr::to_string(&job).input("the manifest as YAML")?;
        }
        Ok(text)
    }

    fn job(&self, name: &str, spec: &Value) -> Value {
        let labels = json!({
            "app.kubernetes.io/name": "switchwright",
            "app.kubernetes.io/instance": self.common.name,
        });
        let mut job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "labels": labels },
            "spec": spec,
        });
        if let Some(namespace) = &self.namespace {
            job["metadata"]["namespace"] = json!(namespace);
        }
        if let Some(seconds) = self.keep {
            job["spec"]["ttlSecondsAfterFinished"] = json!(seconds);
        }
        job
    }

    /// An index for every share. One that says what is wrong (status 2) is not tried again, for it
    /// would say it again; pods that Kubernetes itself moves away do not count.
    fn shares(&self, container: &Value) -> Value {
        let shares = self.common.shares;
        json!({
            "completionMode": "Indexed",
            "completions": shares,
            "parallelism": self.common.at_once.unwrap_or(shares).min(shares),
            "backoffLimitPerIndex": RETRIES,
            "podFailurePolicy": { "rules": [
                { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                { "action": "FailIndex", "onExitCodes": { "containerName": "share", "operator": "In", "values": [2] } },
            ] },
            "template": self.pod(json!({ "containers": [container] })),
        })
    }

    /// One pod, once all shares are there. Its statuses 1 and 4 are outcomes, 2 would come again.
    fn merge(&self, wait: &Value, container: &Value) -> Value {
        json!({
            "backoffLimit": RETRIES,
            "podFailurePolicy": { "rules": [
                { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                { "action": "FailJob", "onExitCodes": { "containerName": "merge", "operator": "In", "values": [1, 2, 4] } },
            ] },
            "template": self.pod(json!({ "initContainers": [wait], "containers": [container] })),
        })
    }

    fn pod(&self, mut spec: Value) -> Value {
        spec["restartPolicy"] = json!("Never");
        spec["volumes"] =
            json!([{ "name": VOLUME, "persistentVolumeClaim": { "claimName": self.claim } }]);
        json!({
            "metadata": { "labels": { "app.kubernetes.io/instance": self.common.name } },
            "spec": spec,
        })
    }

    fn container(&self, name: &str, line: &str) -> Value {
        let cpus = self.common.cpus.to_string();
        let mut container = json!({
            "name": name,
            "image": self.image,
            "workingDir": MOUNT,
            "command": ["sh", "-c", line],
            "volumeMounts": [{ "name": VOLUME, "mountPath": MOUNT }],
        });
        if name == "share" {
            let mut wanted = json!({ "cpu": cpus });
            if let Some(mib) = self.common.memory {
                wanted["memory"] = json!(format!("{mib}Mi"));
            }
            container["resources"] = json!({ "requests": wanted.clone(), "limits": wanted });
            // As many threads as processors, whatever the node has.
            container["env"] = json!([{ "name": "RAYON_NUM_THREADS", "value": cpus }]);
        }
        container
    }

    /// Waits until all shares are there.
    fn wait(&self) -> String {
        let of = self.common.shares;
        let shares = quoted(&self.common.place("shares"));
        format!(
            "until [ \"$(ls {shares} 2>/dev/null | grep -c '^shard-[0-9]*-of-{of}\\.json$')\" -eq {of} ]; do sleep 5; done"
        )
    }
}
