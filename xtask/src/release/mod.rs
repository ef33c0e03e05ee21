//! `cargo xtask release`: the files of a release, made and tried step by step. The workflow
//! `.github/workflows/release.yml` runs the same steps (docs/adr/0022-release.md).

mod bare;
mod binary;
mod deb;
mod elf;
mod sums;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve::shown;
use crate::wheel;

/// The steps, in their order.
pub(crate) const STEPS: [&str; 5] = ["binary", "deb", "wheel", "bare", "sums"];

/// The profile of what is distributed.
const PROFILE: &str = "dist";

/// The programs of a release.
const PROGRAMS: [&str; 2] = ["switchwright", "switchwright-figures"];

/// The shells that have completions.
const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// Why a step was not done.
pub(crate) enum Stop {
    /// This machine lacks something that the step takes.
    Missing(String),
    /// The step failed.
    Failed(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The command line.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// The steps that were named; none: all that this machine has the tools for.
    pub(crate) steps: Vec<String>,
    profile: Option<String>,
    /// The versions of Python that try the wheel.
    pythons: Vec<PathBuf>,
}

impl Options {
    /// Reads the words behind `cargo xtask release`.
    ///
    /// # Errors
    /// A word that is neither a step nor an option, or an option without its value.
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().filter(|value| !value.starts_with("--"));
                value
                    .cloned()
                    .ok_or_else(|| format!("`{word}` needs a value"))
            };
            match word.as_str() {
                "--profile" => options.profile = Some(value()?),
                "--python" => options.pythons.push(value()?.into()),
                step if STEPS.contains(&step) => options.steps.push(step.to_owned()),
                other => {
                    return Err(format!(
                        "`release` has no step or option `{other}`; the steps are {}; the options are --profile NAME and \
                         --python PYTHON",
                        STEPS.join(", ")
                    ));
                }
            }
        }
        let tries_wheel = options.steps.is_empty() || options.steps.iter().any(|s| s == "wheel");
        if !options.pythons.is_empty() && !tries_wheel {
            return Err("`--python` is for the step `wheel`".to_owned());
        }
        Ok(options)
    }
}

/// What all steps share.
struct Release<'a> {
    root: &'a Path,
    profile: String,
    /// The version of the workspace.
    version: String,
    pythons: Vec<PathBuf>,
}

/// Takes the steps that the command line names.
///
/// # Errors
/// A step failed, or this machine lacks what a step takes that was named.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let options = Options::read(words)?;
    let release = Release::new(root, options.profile.as_deref(), options.pythons)?;
    let named: Vec<&str> = options.steps.iter().map(String::as_str).collect();
    match named.is_empty() {
        true => release.take(&STEPS, false),
        false => release.take(&named, true),
    }
}

impl<'a> Release<'a> {
    fn new(root: &'a Path, profile: Option<&str>, pythons: Vec<PathBuf>) -> Result<Self, String> {
        let said = crate::ask_cargo(root, "pkgid", &["--offline"])?;
        let version = said.trim().rsplit(['#', '@']).next().unwrap_or_default();
        Ok(Self {
            root,
            profile: profile.unwrap_or(PROFILE).to_owned(),
            version: version.to_owned(),
            pythons,
        })
    }

    /// Takes steps. A step whose tools are missing is an error if it was `named`; otherwise it is
    /// left out with a message, and so are those that need its files.
    fn take(&self, steps: &[&str], named: bool) -> Result<(), String> {
        if !named {
            // Files of earlier runs would stand for steps that are skipped now.
            clear(&self.files())?;
            clear(&self.work())?;
        }
        create(&self.files())?;
        create(&self.work())?;
        let (mut done, mut skipped) = (Vec::new(), Vec::new());
        for step in steps {
            println!("xtask: release: {step}");
            match self.step(step) {
                Ok(()) => done.push(*step),
                Err(Stop::Missing(why)) if !named => {
                    println!("xtask: release: skipped the step `{step}`: {why}");
                    skipped.push(*step);
                }
                Err(Stop::Missing(why) | Stop::Failed(why)) => {
                    return Err(format!("release: the step `{step}`: {why}"));
                }
            }
        }
        let list = |steps: &[&str]| match steps.is_empty() {
            true => "nothing".to_owned(),
            false => steps.join(", "),
        };
        println!(
            "xtask: release: done: {}; skipped: {}; the files are in {}",
            list(&done),
            list(&skipped),
            self.files().display()
        );
        Ok(())
    }

    fn step(&self, step: &str) -> Result<(), Stop> {
        match step {
            "binary" => binary::make(self),
            "deb" => deb::make(self),
            "wheel" => self.wheel(),
            "bare" => bare::check(self),
            "sums" => sums::make(self),
            other => Err(Stop::Failed(format!("there is no step `{other}`"))),
        }
    }

    fn wheel(&self) -> Result<(), Stop> {
        if let Some(missing) = crate::page::missing() {
            return Err(Stop::Missing(missing));
        }
        if let Some(missing) = wheel::missing() {
            return Err(Stop::Missing(missing));
        }
        let wheel = wheel::release(self.root, &self.profile, &self.pythons)?;
        let place = self.files().join(wheel.file_name().unwrap_or_default());
        copy(&wheel, &place)?;
        Ok(describe(&place)?)
    }

    /// Where the files of the release lie.
    fn files(&self) -> PathBuf {
        let folder = crate::target_folder(self.root).join("release-files");
        folder.join(&self.profile)
    }

    /// Where the steps put what they make in between.
    fn work(&self) -> PathBuf {
        let folder = crate::target_folder(self.root).join("release-work");
        folder.join(&self.profile)
    }

    /// An empty folder for a step.
    fn empty(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.work().join(name);
        clear(&place)?;
        create(&place)?;
        Ok(place)
    }

    /// The name of the archive of binaries, and of the folder in it.
    fn name(&self) -> String {
        let machine = std::env::consts::ARCH;
        format!("switchwright-{}-{machine}-linux", self.version)
    }

    /// The folder with binaries, manual and completions, which the step `binary` has left.
    fn binaries(&self) -> Result<PathBuf, Stop> {
        let place = self.work().join("binary").join(self.name());
        match place.join(PROGRAMS[0]).is_file() {
            true => Ok(place),
            false => Err(Stop::Missing(format!(
                "{} has no binaries; the step `binary` makes them",
                place.display()
            ))),
        }
    }

    /// Checks that the commit has no tag of another version.
    fn check_tag(&self) -> Result<(), String> {
        let mut git = Command::new("git");
        git.args(["tag", "--points-at", "HEAD", "v[0-9]*"]);
        let tags = said(git.current_dir(self.root))?;
        let own = format!("v{}", self.version);
        match tags.lines().find(|tag| *tag != own) {
            Some(tag) => Err(format!(
                "the tag is {tag}, but Cargo.toml has version {}",
                self.version
            )),
            None => Ok(()),
        }
    }

    /// The time of the commit in a format of `git log`: files of one commit are the same, whenever
    /// they are made.
    fn time(&self, format: &str) -> Result<String, String> {
        let mut git = Command::new("git");
        git.args(["log", "-1", &format!("--format={format}")]);
        said(git.current_dir(self.root))
    }
}

fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// Removes a folder if it exists.
fn clear(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display())),
        false => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let done = fs::copy(from, to).map(drop);
    done.map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        create(folder)?;
    }
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The files of a folder, by name.
fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Prints a file and its size.
fn describe(file: &Path) -> Result<(), String> {
    let bytes = fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?;
    println!(
        "xtask: release: {}: {:.1} MB",
        file.display(),
        megabytes(bytes.len())
    );
    Ok(())
}

/// Bytes in millions.
#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Whether a program is on `PATH`.
fn is_found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Makes sure that programs are on `PATH`.
fn need(programs: &[(&str, &str)]) -> Result<(), Stop> {
    let missing = programs.iter().find(|(program, _)| !is_found(program));
    missing.map_or(Ok(()), |(program, package)| {
        Err(Stop::Missing(format!(
            "`{program}` is not on PATH; Debian's package {package} has it"
        )))
    })
}

/// Runs a command to its end; its output is shown if it fails.
fn finish(command: &mut Command) -> Result<(), String> {
    said(command).map(drop)
}

/// What a command prints.
fn said(command: &mut Command) -> Result<String, String> {
    let line = shown(command);
    let output = command
        .output()
        .map_err(|e| format!("`{line}` did not start: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!(
            "`{line}` failed: {}\n{}\n{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::read(&words)
    }

    #[test]
    fn steps_and_options_are_read() {
        let options = read("binary deb --profile quick").expect("it is right");
        assert_eq!(options.steps, ["binary", "deb"]);
        assert_eq!(options.profile.as_deref(), Some("quick"));
        let options = read("wheel --python python3.9 --python python3.13").expect("it is right");
        assert_eq!(options.pythons.len(), 2);
        assert_eq!(read(""), Ok(Options::default()));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for line in [
            "binaries",
            "--profile",
            "--python --profile quick",
            "--fast",
            "deb --python python3",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        assert!(need(&[("sh", "dash")]).is_ok());
        match need(&[("sh", "dash"), ("no-such-tool", "tools")]) {
            Err(Stop::Missing(why)) => assert!(why.contains("no-such-tool"), "{why}"),
            _ => panic!("it is not there"),
        }
    }
}
