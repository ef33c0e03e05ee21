//! A task of this program that runs beside others, on what they leave of the processors.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A task that runs.
pub(crate) struct Aside {
    task: &'static str,
    child: Child,
    /// What it prints.
    said: PathBuf,
}

impl Aside {
    /// Starts a task of this program behind all others (by `nice`, where that is found).
    ///
    /// # Errors
    /// It did not start, or what it prints cannot be kept.
    pub(crate) fn start(root: &Path, task: &'static str, options: &[&str]) -> Result<Self, String> {
        let said = crate::target_folder(root).join(format!("{task}.log"));
        let failed = |e: std::io::Error| format!("{task}: {}: {e}", said.display());
        let out = File::create(&said).map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut behind = Command::new("nice");
        behind.args(["-n", "19"]).arg(&program);
        let start = |command: &mut Command| {
            let (out, errors) = (out.try_clone()?, out.try_clone()?);
            command.arg(task).args(options);
            command.stdout(out).stderr(errors).spawn()
        };
        let child = start(&mut behind).or_else(|_| start(&mut Command::new(&program)));
        let child = child.map_err(|e| format!("{task} did not start: {e}"))?;
        println!("xtask: {task}, beside what follows");
        Ok(Self { task, child, said })
    }

    /// Waits for the task and shows what it has printed.
    ///
    /// # Errors
    /// The task failed.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let done = self.child.wait();
        let said = fs::read(&self.said).unwrap_or_default();
        print!("{}", String::from_utf8_lossy(&said));
        match done {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("`{}` failed", self.task)),
            Err(error) => Err(format!("{}: {error}", self.task)),
        }
    }
}
