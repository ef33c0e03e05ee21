//! The Debian package: the static binaries, their manual and completions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    PROGRAMS, Release, SHELLS, Stop, copy, create, describe, finish, is_found, list, need, read,
    said, write,
};

const PACKAGE: &str = "switchwright";

const MAINTAINER: &str = "The Switchwright developers <switchwright@localhost>";

/// What lintian finds and is so: the project has no mail host. (A static binary whose code can lie
/// anywhere looks like a library that needs no other.)
const OVERRIDES: &str = "\
switchwright: bogus-mail-host *
switchwright: bogus-mail-host-in-debian-changelog *
";

const DESCRIPTION: &str = "\
Description: proven P4 data planes from a data-center topology
 Switchwright computes forwarding tables with which a lossless (PFC) network
 cannot deadlock, proves them, writes the P4_16 program and the entries of
 every switch, and runs them in a simulator and in network namespaces.
 .
 The binaries are static and need no other package.
";

/// Where Debian's policy puts what belongs to a package.
const DOCUMENTS: &str = "usr/share/doc/switchwright";

/// Makes the package.
pub(super) fn make(release: &Release<'_>) -> Result<(), Stop> {
    need(&[("dpkg-deb", "dpkg"), ("gzip", "gzip"), ("git", "git")])?;
    let binaries = release.binaries()?;
    let root = release.empty("deb")?;
    add_programs(&binaries, &root)?;
    add_documents(release, &root)?;
    add_control(release, &root)?;
    set_modes(&root)?;
    let place = package(release)?;
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&root);
    build.arg(&place);
    finish(build.env("SOURCE_DATE_EPOCH", release.time("%ct")?))?;
    describe(&place)?;
    if is_found("lintian") {
        let mut lint = Command::new("lintian");
        lint.args(["--fail-on", "error", "--allow-root"])
            .arg(&place);
        let findings = said(&mut lint)?;
        println!("xtask: release: lintian finds no error\n{findings}");
    } else {
        println!("xtask: release: skipped the check of the package: `lintian` is not on PATH");
    }
    Ok(())
}

/// The file of the package.
pub(super) fn package(release: &Release<'_>) -> Result<PathBuf, String> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => {
            return Err(format!(
                "there is no Debian name for the architecture {other}"
            ));
        }
    };
    let name = format!("{PACKAGE}_{}_{machine}.deb", release.version);
    Ok(release.files().join(name))
}

fn add_programs(binaries: &Path, root: &Path) -> Result<(), String> {
    for program in PROGRAMS {
        create(&root.join("usr/bin"))?;
        copy(&binaries.join(program), &root.join("usr/bin").join(program))?;
        for shell in SHELLS {
            let place = match shell {
                "bash" => format!("usr/share/bash-completion/completions/{program}"),
                "fish" => format!("usr/share/fish/vendor_completions.d/{program}.fish"),
                _ => format!("usr/share/zsh/vendor-completions/_{program}"),
            };
            let text = read(&binaries.join(format!("completions/{program}.{shell}")))?;
            write(&root.join(place), text)?;
        }
    }
    for page in list(&binaries.join("man"))? {
        let name = page.file_name().unwrap_or_default();
        let place = root.join("usr/share/man/man1").join(name);
        write(&place, read(&page)?)?;
        compress(&place)?;
    }
    Ok(())
}

fn add_documents(release: &Release<'_>, root: &Path) -> Result<(), String> {
    let documents = root.join(DOCUMENTS);
    let day = release.time("%cs")?;
    let year = day.split('-').next().unwrap_or_default();
    let copyright = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n\
        Files: *\nCopyright: {year} The Switchwright developers\nLicense: Apache-2.0\n\n\
        License: Apache-2.0\n On Debian systems, the text of the license is in\n \
        /usr/share/common-licenses/Apache-2.0.\n"
    );
    write(&documents.join("copyright"), copyright)?;
    let changes = format!(
        "{PACKAGE} ({}) unstable; urgency=medium\n\n  * CHANGELOG.md.gz lists the changes.\n\n -- {MAINTAINER}  {}\n",
        release.version,
        release.time("%cD")?
    );
    let place = documents.join("changelog");
    write(&place, changes)?;
    compress(&place)?;
    for document in ["README.md", "CHANGELOG.md"] {
        write(
            &documents.join(document),
            read(&release.root.join(document))?,
        )?;
    }
    compress(&documents.join("CHANGELOG.md"))?;
    let mut overrides = OVERRIDES.to_owned();
    for program in PROGRAMS {
        overrides +=
            &format!("{PACKAGE}: shared-library-lacks-prerequisites [usr/bin/{program}]\n");
    }
    let place = root.join("usr/share/lintian/overrides").join(PACKAGE);
    write(&place, overrides)
}

/// Compresses a file in its place, without its time.
fn compress(file: &Path) -> Result<(), String> {
    finish(Command::new("gzip").args(["-9", "-n"]).arg(file))
}

fn add_control(release: &Release<'_>, root: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    find(root, &mut files)?;
    let mut sums = String::new();
    let mut bytes = 0;
    for file in &files {
        bytes += read(&root.join(file))?.len();
        let mut sum = Command::new("md5sum");
        sums += &(said(sum.arg(file).current_dir(root))? + "\n");
    }
    write(&root.join("DEBIAN/md5sums"), sums)?;
    let package = package(release)?;
    let machine = package.to_string_lossy();
    let machine = machine.rsplit('_').next().unwrap_or_default();
    let control = format!(
        "Package: {PACKAGE}\nVersion: {}\nArchitecture: {}\nMaintainer: {MAINTAINER}\nInstalled-Size: {}\n\
         Section: net\nPriority: optional\n{DESCRIPTION}",
        release.version,
        machine.trim_end_matches(".deb"),
        bytes.div_ceil(1024)
    );
    write(&root.join("DEBIAN/control"), control)
}

/// The files below a folder, relative to it, in path order.
fn find(root: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            match path.is_dir() {
                true => folders.push(path),
                false => files.extend(path.strip_prefix(root).map(Path::to_path_buf)),
            }
        }
    }
    files.sort();
    Ok(())
}

/// Sets the modes that Debian's policy asks for, whatever the umask is.
fn set_modes(folder: &Path) -> Result<(), String> {
    let set = |path: &Path, mode| {
        let done = fs::set_permissions(path, fs::Permissions::from_mode(mode));
        done.map_err(|e| format!("{}: {e}", path.display()))
    };
    set(folder, 0o755)?;
    for path in list(folder)? {
        if path.is_dir() {
            set_modes(&path)?;
        } else {
            let program = folder.ends_with("usr/bin");
            set(&path, if program { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}
