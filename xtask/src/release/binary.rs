//! The static binaries with the page, and their archive with manual and completions.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    PROFILE, PROGRAMS, Release, SHELLS, Stop, copy, create, describe, elf, finish, megabytes, need,
    read, said, write,
};
use crate::{serve, targets};

/// The largest binary that is distributed, in bytes.
const LARGEST: u64 = 40_000_000;

/// Documents in the archive.
const DOCUMENTS: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

/// Builds the binaries, checks and tries them, and packs them.
pub(super) fn make(release: &Release<'_>) -> Result<(), Stop> {
    need(&[
        ("musl-gcc", "musl-tools"),
        ("tar", "tar"),
        ("gzip", "gzip"),
        ("git", "git"),
    ])?;
    release.check_tag()?;
    if let Some(missing) = crate::page::missing() {
        return Err(Stop::Missing(missing));
    }
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    targets::install(release.root, &target).map_err(Stop::Missing)?;
    build(release, &target)?;
    let folder = release.empty("binary")?.join(release.name());
    create(&folder)?;
    for program in PROGRAMS {
        let built = crate::target_folder(release.root).join(&target);
        let built = built.join(release.output_folder()).join(program);
        check(&built, release.profile == PROFILE)?;
        copy(&built, &folder.join(program))?;
    }
    try_out(release, &folder)?;
    add_documents(release, &folder)?;
    Ok(pack(release, &folder)?)
}

impl Release<'_> {
    /// Cargo's name of the folder of a profile.
    fn output_folder(&self) -> &str {
        match self.profile.as_str() {
            "dev" => "debug",
            other => other,
        }
    }
}

fn build(release: &Release<'_>, target: &str) -> Result<(), String> {
    let mut arguments = vec!["build", "--locked", "--bins", "--profile", &release.profile];
    arguments.extend(["--target", target]);
    for package in PROGRAMS {
        arguments.extend(["--package", package]);
    }
    let profile = release.profile.to_uppercase().replace('-', "_");
    let strip = format!("CARGO_PROFILE_{profile}_STRIP");
    // The C code of `ring` is compiled with the headers of musl.
    let compiler = format!("CC_{}", target.replace('-', "_"));
    let environment = [
        ("SWITCHWRIGHT_PAGE", "required"),
        (&strip, "symbols"),
        (&compiler, "musl-gcc"),
    ];
    crate::cargo(release.root, &arguments, &environment)
}

/// Checks that a binary is static and stripped, and, if it is distributed, small enough.
fn check(binary: &Path, distributed: bool) -> Result<(), String> {
    let bytes = read(binary)?;
    elf::check(&bytes).map_err(|why| format!("{}: {why}", binary.display()))?;
    let size = bytes.len() as u64;
    println!(
        "xtask: release: {}: static, {:.1} MB",
        binary.display(),
        megabytes(size)
    );
    match distributed && size > LARGEST {
        true => Err(format!(
            "{}: a binary of a release has at most {:.0} MB",
            binary.display(),
            megabytes(LARGEST)
        )),
        false => Ok(()),
    }
}

/// Runs the binaries in an empty folder, where nothing of the checkout is found.
fn try_out(release: &Release<'_>, folder: &Path) -> Result<(), String> {
    let place = release.empty("try")?;
    let program = absolute(folder)?.join(PROGRAMS[0]);
    for arguments in [&["demo"][..], &["reproduce", "--list"]] {
        finish(Command::new(&program).args(arguments).current_dir(&place))?;
    }
    let mut lab = Command::new(&program);
    serve::check(lab.args(["lab", "--json"]).current_dir(&place))
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Adds documents, manual and completions.
fn add_documents(release: &Release<'_>, folder: &Path) -> Result<(), String> {
    for document in DOCUMENTS {
        copy(&release.root.join(document), &folder.join(document))?;
    }
    for program in PROGRAMS {
        let command = || Command::new(folder.join(program));
        let pages = release.empty("man")?;
        finish(command().arg("man").arg("-o").arg(&pages))?;
        let place = folder.join("man");
        create(&place)?;
        let mut pages = super::list(&pages)?;
        // The folder also has the mark of its command.
        pages.retain(|page| page.extension() == Some(OsStr::new("1")));
        for page in pages {
            copy(&page, &place.join(page.file_name().unwrap_or_default()))?;
        }
        for shell in SHELLS {
            let text = said(command().args(["completions", shell]))?;
            let place = folder.join("completions");
            write(&place.join(format!("{program}.{shell}")), text + "\n")?;
        }
    }
    Ok(())
}

/// Packs the folder: the same files give the same archive.
fn pack(release: &Release<'_>, folder: &Path) -> Result<(), String> {
    let name = release.name();
    let tar = release.work().join(format!("{name}.tar"));
    let mut pack = Command::new("tar");
    pack.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.args(["--format=gnu", "--mode=u=rwX,go=rX"]);
    pack.arg(format!("--mtime=@{}", release.time("%ct")?));
    pack.arg("-cf").arg(&tar).arg("-C");
    pack.arg(folder.parent().unwrap_or(folder)).arg(&name);
    finish(&mut pack)?;
    finish(Command::new("gzip").args(["-n", "-f"]).arg(&tar))?;
    let packed = tar.with_extension("tar.gz");
    let place = release.files().join(format!("{name}.tar.gz"));
    fs::rename(&packed, &place).map_err(|e| format!("{}: {e}", place.display()))?;
    describe(&place)
}
