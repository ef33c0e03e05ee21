//! The binaries and the package in a bare Debian system: nothing but what Debian cannot do without.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve;

use super::{PROGRAMS, Release, Stop, clear, copy, create, deb, finish, need, said};

/// Debian's release in the bare system.
const SUITE: &str = "stable";

/// Where the archive is unpacked in it.
const PLACE: &str = "/opt";

/// Mounts `/proc` in a mount namespace of the process, and becomes a program of the bare system.
/// The arguments are its root and the command line.
const ENTER: &str = r#"mount -t proc proc "$1/proc" && exec chroot "$@""#;

/// Tries the archive and the package.
pub(super) fn check(release: &Release<'_>) -> Result<(), Stop> {
    need(&[
        ("debootstrap", "debootstrap"),
        ("unshare", "util-linux"),
        ("chroot", "coreutils"),
    ])?;
    let user = said(Command::new("id").arg("-u"))?;
    if user != "0" {
        let why = "a bare system is made and entered by root".to_owned();
        return Err(Stop::Missing(why));
    }
    let archive = release.files().join(format!("{}.tar.gz", release.name()));
    let package = deb::package(release)?;
    for (file, step) in [(&archive, "binary"), (&package, "deb")] {
        if !file.is_file() {
            let file = file.display();
            let why = format!("there is no {file}; the step `{step}` makes it");
            return Err(Stop::Missing(why));
        }
    }
    let bare = Bare::copy(release)?;
    try_archive(release, &bare, &archive)?;
    Ok(try_package(&bare, &package)?)
}

/// A bare system; it is removed with this.
struct Bare(PathBuf);

impl Drop for Bare {
    fn drop(&mut self) {
        if let Err(why) = clear(&self.0) {
            println!("xtask: release: {why}");
        }
    }
}

impl Bare {
    /// A fresh copy of the system that debootstrap has made, now or earlier.
    fn copy(release: &Release<'_>) -> Result<Self, Stop> {
        let folder = crate::target_folder(release.root).join("bare");
        let made = folder.join(SUITE);
        if !made.is_dir() {
            create(&folder)?;
            let part = folder.join("part");
            clear(&part)?;
            println!("xtask: release: debootstrap {SUITE}");
            let mut make = Command::new("debootstrap");
            make.args(["--variant=minbase", SUITE]).arg(&part);
            finish(&mut make).map_err(Stop::Missing)?;
            fs::rename(&part, &made).map_err(|e| format!("{}: {e}", made.display()))?;
        }
        let place = folder.join(format!("copy-{}", std::process::id()));
        let bare = Self(place);
        finish(Command::new("cp").arg("-a").arg(&made).arg(&bare.0))?;
        Ok(bare)
    }

    /// A command in the system.
    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        command.args(["sh", "-c", ENTER, "sh"]);
        command.arg(&self.0).args(line);
        command.env_clear().env("LC_ALL", "C.UTF-8");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    fn run(&self, line: &[&str]) -> Result<String, String> {
        said(&mut self.command(line))
    }
}

/// The binaries of the archive start, run the tour and serve the page.
fn try_archive(release: &Release<'_>, bare: &Bare, archive: &Path) -> Result<(), String> {
    let place = bare.0.join(PLACE.trim_start_matches('/'));
    let mut unpack = Command::new("tar");
    finish(unpack.arg("-xzf").arg(archive).arg("-C").arg(place))?;
    let program = |name: &str| format!("{PLACE}/{}/{name}", release.name());
    for name in PROGRAMS {
        println!(
            "xtask: release: bare: {}",
            bare.run(&[&program(name), "--version"])?
        );
    }
    let command = program(PROGRAMS[0]);
    bare.run(&[&command, "demo", "-o", "/tmp/demo"])?;
    bare.run(&[&command, "reproduce", "--list"])?;
    // The network is that of this process, so the page is fetched from outside.
    serve::check(&mut bare.command(&[&command, "lab", "--json"]))
}

/// The package can be installed, used and removed.
fn try_package(bare: &Bare, package: &Path) -> Result<(), String> {
    copy(package, &bare.0.join("tmp/package.deb"))?;
    bare.run(&["dpkg", "--install", "/tmp/package.deb"])?;
    let differences = bare.run(&["dpkg", "--verify", "switchwright"])?;
    // minbase leaves nothing out, so every file of the package is there.
    if !differences.is_empty() {
        return Err(format!("`dpkg --verify` finds:\n{differences}"));
    }
    for name in PROGRAMS {
        println!("xtask: release: dpkg: {}", bare.run(&[name, "--version"])?);
    }
    bare.run(&["dpkg", "--remove", "switchwright"])?;
    match PROGRAMS
        .iter()
        .find(|name| bare.0.join("usr/bin").join(name).exists())
    {
        Some(left) => Err(format!("`dpkg --remove` left /usr/bin/{left}")),
        None => Ok(()),
    }
}
