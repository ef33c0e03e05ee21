//! A cluster of Slurm on this machine: munged, slurmctld and three slurmd on loopback, with key,
//! sockets, state and logs in a folder of their own. All of it ends with the value.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a busy machine may take; nothing is measured by it.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

const NODES: [&str; 3] = ["node1", "node2", "node3"];
const PROGRAMS: [&str; 8] = [
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "scontrol",
    "squeue",
    "sinfo",
    "scancel",
];

pub(super) struct Cluster {
    folder: PathBuf,
    /// In the order in which they were started.
    daemons: Vec<(&'static str, Child)>,
}

/// Where daemons are that are not on everybody's path.
fn path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/usr/local/sbin:/sbin")
}

/// What of Slurm is not on this machine.
fn missing() -> Option<&'static str> {
    let path = path();
    let there = |name: &&str| path.split(':').any(|at| Path::new(at).join(name).exists());
    PROGRAMS.into_iter().find(|name| !there(name))
}

/// Ports on loopback that nobody has.
fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

impl Cluster {
    /// Starts it below a folder; `None`, said aloud, where Slurm is not installed.
    pub(super) fn start(folder: &Path) -> Option<Self> {
        if let Some(name) = missing() {
            println!(
                "skipped: `{name}` was not found (Debian's slurmctld, slurmd, slurm-client, munge)"
            );
            return None;
        }
        for name in ["state", "spool", "munge"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let mut key = [0; 128];
        getrandom::fill(&mut key).unwrap();
        let place = folder.join("munge/key");
        fs::write(&place, key).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(folder.join("slurm.conf"), configuration(folder)).unwrap();
        let mut cluster = Self {
            folder: folder.to_owned(),
            daemons: Vec::new(),
        };
        let munge = |name: &str| folder.join("munge").join(name).display().to_string();
        cluster.daemon(
            "munged",
            &[
                "--foreground".to_owned(),
                // The folder of a test may be written by others than root.
                "--force".to_owned(),
                format!("--key-file={}", munge("key")),
                format!("--socket={}", munge("socket")),
                format!("--pid-file={}", munge("pid")),
                format!("--log-file={}", munge("log")),
                format!("--seed-file={}", munge("seed")),
            ],
        );
        cluster.until("munged has no socket", || {
            folder.join("munge/socket").exists()
        });
        cluster.daemon("slurmctld", &["-D".to_owned()]);
        for node in NODES {
            cluster.daemon("slurmd", &["-D", "-N", node].map(str::to_owned));
        }
        cluster.until("the nodes are not idle", || {
            let idle = cluster.try_call("sinfo", &["-h", "-N", "-t", "idle", "-o", "%N"]);
            idle.is_some_and(|idle| idle.lines().count() == NODES.len())
        });
        Some(cluster)
    }

    fn daemon(&mut self, name: &'static str, arguments: &[String]) {
        let log = self
            .folder
            .join(format!("{name}-{}.log", self.daemons.len()));
        let log = fs::File::create(log).unwrap();
        let mut command = self.command(name);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push((name, command.spawn().unwrap()));
    }

    /// A program that knows this cluster.
    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        self.tell(&mut command);
        command
    }

    /// Makes this the cluster of a program.
    pub(super) fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .env("PATH", path())
    }

    fn try_call(&self, name: &str, arguments: &[&str]) -> Option<String> {
        let output = self.command(name).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    }

    pub(super) fn call(&self, name: &str, arguments: &[&str]) -> String {
        let said = self.try_call(name, arguments);
        said.unwrap_or_else(|| panic!("{name} {arguments:?} failed: {}", self.logs()))
    }

    /// Waits, and says what the daemons said if that takes too long.
    pub(super) fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !done() {
            assert!(Instant::now() < deadline, "{what}: {}", self.logs());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Lets a job that is to wait before it is started again be started soon: Slurm has it wait for
    /// two minutes. Not at once, for a node takes no job in the second in which it ended it
    /// ("already killed, do not launch").
    pub(super) fn start_now(&self, job: &str) {
        self.until(&format!("{job} is not requeued"), || {
            let told = self.try_call("scontrol", &["show", "job", job]);
            told.is_some_and(|told| {
                told.contains("JobState=PENDING") && told.contains("Restarts=1")
            })
        });
        self.until(&format!("{job} cannot be started"), || {
            let update = ["update", &format!("JobId={job}"), "StartTime=now+2"];
            self.try_call("scontrol", &update).is_some()
        });
    }

    fn logs(&self) -> String {
        let mut text = String::new();
        for entry in fs::read_dir(&self.folder).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "log") {
                let log = fs::read(&path).unwrap_or_default();
                let log = String::from_utf8_lossy(&log).into_owned();
                let last: Vec<&str> = log.lines().rev().take(15).collect();
                text += &format!("\n{}:\n", path.display());
                for line in last.into_iter().rev() {
                    text += &format!("  {line}\n");
                }
            }
        }
        text
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs first: the processes that watch them outlive a slurmd.
        let user = nix::unistd::geteuid().to_string();
        let _ = self.try_call("scancel", &["-u", &user]);
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline
            && self
                .try_call("squeue", &["-h"])
                .is_some_and(|jobs| !jobs.is_empty())
        {
            std::thread::sleep(LOOK_EVERY);
        }
        for (_, daemon) in self.daemons.iter_mut().rev() {
            let process = Pid::from_raw(i32::try_from(daemon.id()).unwrap_or(i32::MAX));
            let _ = kill(process, Signal::SIGTERM);
            let deadline = Instant::now() + TIMEOUT;
            while Instant::now() < deadline && matches!(daemon.try_wait(), Ok(None)) {
                std::thread::sleep(LOOK_EVERY);
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Three nodes of one processor each, which are all this machine.
fn configuration(folder: &Path) -> String {
    let [controller, ports @ ..] = free_ports::<4>();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap_or_default();
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid());
    let user = user.unwrap().unwrap().name;
    let at = folder.display();
    let nodes: String = NODES
        .iter()
        .zip(ports)
        .map(|(node, port)| {
            format!("NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=256\n")
        })
        .collect();
    format!(
        "ClusterName=test\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmctldPort={controller}\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={at}/munge/socket\n\
         CredType=cred/munge\n\
         StateSaveLocation={at}/state\n\
         SlurmdSpoolDir={at}/spool/%n\n\
         SlurmctldPidFile={at}/slurmctld.pid\n\
         SlurmdPidFile={at}/slurmd-%n.pid\n\
         SlurmctldLogFile={at}/controller.log\n\
         SlurmdLogFile={at}/%n.log\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         SwitchType=switch/none\n\
         MpiDefault=none\n\
         SchedulerType=sched/builtin\n\
         SelectType=select/linear\n\
         ReturnToService=2\n\
         KillWait=1\n\
         {nodes}\
         PartitionName=all Nodes={} Default=YES State=UP\n",
        NODES.join(",")
    )
}
