//! `switchwright submit slurm`: an array job with a task for every share, and a job that merges
//! them.

use std::process::Command as Process;

use askama::Template;
use clap::{Args, Command};

use super::super::fault::{Context, Fault};
use super::super::own;
use super::super::terminal::Terminal;
use super::{Common, Lines, SubmitReport, client, here, quoted};

/// How often a share that was killed is started again.
const RESTARTS: u32 = 3;

/// Arguments of `switchwright submit slurm`.
#[derive(Debug, Args)]
pub(super) struct Slurm {
    #[command(flatten)]
    pub(super) common: Common,
    /// Switchwright on the nodes [default: this program, by its path].
    #[arg(long, value_name = "FILE")]
    program: Option<String>,
    /// Another option of sbatch for both jobs, such as `--partition=long`. Repeatable.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
}

#[derive(Template)]
#[template(path = "shares.sbatch", escape = "none")]
struct SharesScript<'a> {
    command: &'a str,
    name: &'a str,
    shares: u32,
    at_once: Option<u32>,
    here: &'a str,
    log: &'a str,
    options: &'a [String],
    share: &'a str,
    restarts: u32,
}

#[derive(Template)]
#[template(path = "merge.sbatch", escape = "none")]
struct MergeScript<'a> {
    command: &'a str,
    name: &'a str,
    here: &'a str,
    log: &'a str,
    options: &'a [String],
    merge: &'a str,
}

#[derive(Template)]
#[template(path = "submit.sh", escape = "none")]
struct SubmitScript<'a> {
    command: &'a str,
    here: &'a str,
    scripts: &'a str,
}

impl Slurm {
    pub(super) fn run(self, root: &Command, terminal: &Terminal) -> Result<(), Fault> {
        let files = self.common.write(&self.scripts(root)?)?;
        let script = self.common.place("submit.sh");
        let mut told = SubmitReport {
            engine: "slurm",
            shares: self.common.shares,
            files,
            jobs: None,
        };
        if self.common.run {
            let jobs = client("sbatch", Process::new("sh").arg(&script))?;
            told.jobs = Some(jobs.split_whitespace().map(str::to_owned).collect());
        }
        let by_hand = format!("sh {}", quoted(&script));
        self.common.tell(&told, &by_hand, terminal)
    }

    /// The scripts, by name.
    fn scripts(&self, root: &Command) -> Result<[(&'static str, String); 3], Fault> {
        let common = &self.common;
        let own = || {
            let own = own::file()?;
            Ok::<_, Fault>(own.to_string_lossy().into_owned())
        };
        let program = self.program.clone().map_or_else(own, Ok)?;
        let Lines {
            command,
            share,
            merge,
        } = common.lines(root, &program, "$SLURM_ARRAY_TASK_ID")?;
        let here = here()?;
        let options = self.options()?;
        let own = self.resources().into_iter().chain(options.clone());
        let directory = directive(&here)?;
        let logs = common.place("logs").replace('%', "%%");
        let log = |name: &str| directive(&format!("{logs}/{name}"));
        let rendered = |text: Result<String, askama::Error>| text.input("the script");
        let shares = SharesScript {
            command: &command,
            name: &common.name,
            shares: common.shares,
            at_once: common.at_once,
            here: &directory,
            log: &log("share-%a.log")?,
            options: &own.collect::<Vec<_>>(),
            share: &share,
            restarts: RESTARTS,
        };
        let merge = MergeScript {
            command: &command,
            name: &common.name,
            here: &directory,
            log: &log("merge.log")?,
            options: &options,
            merge: &merge,
        };
        let submit = SubmitScript {
            command: &command,
            here: &quoted(&here),
            scripts: &quoted(&common.output),
        };
        Ok([
            ("shares.sbatch", rendered(shares.render())?),
            ("merge.sbatch", rendered(merge.render())?),
            ("submit.sh", rendered(submit.render())?),
        ])
    }

    /// The options that are passed on.
    fn options(&self) -> Result<Vec<String>, Fault> {
        for option in &self.sbatch {
            if !option.starts_with('-') || option.contains(['\n', '\r']) {
                return Err(
                    Fault::input(format!("--sbatch `{option}`: no option of sbatch"))
                        .help("write it as sbatch takes it: `--sbatch=--partition=long`"),
                );
            }
        }
        Ok(self.sbatch.clone())
    }

    /// What a share asks for.
    fn resources(&self) -> Vec<String> {
        let memory = self.common.memory.map(|mib| format!("--mem={mib}M"));
        let cpus = format!("--cpus-per-task={}", self.common.cpus);
        std::iter::once(cpus).chain(memory).collect()
    }
}

/// A path as the value of an option in a line that sbatch reads: it takes quotes, but no way out of
/// them.
fn directive(path: &str) -> Result<String, Fault> {
    if path.contains(['"', '\\', '\n', '\r']) {
        return Err(Fault::input(format!(
            "{path:?}: sbatch cannot read such a path in a script"
        ))
        .help("use a folder without quotes, backslashes and ends of lines in its path"));
    }
    Ok(match path.contains(char::is_whitespace) {
        true => format!("\"{path}\""),
        false => path.to_owned(),
    })
}
