//! The SHA-256 sums of all files of the release.

use std::path::PathBuf;
use std::process::Command;

use super::{Release, Stop, list, need, said, write};

/// The file of the sums.
const NAME: &str = "SHA256SUMS";

/// Writes the sums and checks them.
pub(super) fn make(release: &Release<'_>) -> Result<(), Stop> {
    need(&[("sha256sum", "coreutils")])?;
    let folder = release.files();
    let mut names = list(&folder)?;
    names.retain(|path| path.is_file() && !path.ends_with(NAME));
    if names.is_empty() {
        let why = format!(
            "{} has no files; the other steps make them",
            folder.display()
        );
        return Err(Stop::Missing(why));
    }
    let own = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().contains(&release.version))
    };
    if let Some(other) = names.iter().find(|path| !own(path)) {
        let why = format!("{} is of another version; remove it", other.display());
        return Err(Stop::Failed(why));
    }
    let names = names.iter().filter_map(|path| path.file_name());
    let mut sums = Command::new("sha256sum");
    let sums = said(sums.arg("--").args(names).current_dir(&folder))? + "\n";
    print!("{sums}");
    write(&folder.join(NAME), sums)?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--quiet", "--strict", NAME]);
    said(check.current_dir(&folder))?;
    Ok(())
}
