//! Standard libraries of the targets that are not the machine's own.

use std::path::Path;
use std::process::{Command, Stdio};

/// Makes sure that the toolchain has a target's standard library; rustup fetches it if it does not.
///
/// # Errors
/// Why it cannot be had: there is no rustup, or no network.
pub(crate) fn install(root: &Path, target: &str) -> Result<(), String> {
    if is_installed(root, target)? {
        return Ok(());
    }
    let rustup = Command::new("rustup")
        .args(["target", "add", target])
        .current_dir(root)
        .status();
    match rustup {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`rustup target add {target}` failed")),
        Err(error) => Err(format!(
            "the toolchain has no target {target}, and rustup did not start: {error}"
        )),
    }
}

fn is_installed(root: &Path, target: &str) -> Result<bool, String> {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("rustc did not start: {e}"))?;
    let place = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(place.trim()).is_dir())
}
