//! Processes of this machine, as Linux's /proc has them.

use std::fs;
use std::process::Command;

/// Kills a process and all that descend from it.
///
/// # Errors
/// `kill` cannot be started.
pub(crate) fn end_with_descendants(process: u32) -> Result<(), String> {
    let parents = parents();
    let mut all = vec![process];
    let mut next = 0;
    while let Some(&parent) = all.get(next) {
        let children = parents.iter().filter(|&&(_, of)| of == parent);
        all.extend(children.map(|&(child, _)| child));
        next += 1;
    }
    let ids = all.iter().map(u32::to_string);
    // Some may have ended by now.
    let killed = Command::new("kill").arg("-KILL").args(ids).status();
    killed.map(drop).map_err(|e| format!("kill: {e}"))
}

/// All processes, each with its parent.
fn parents() -> Vec<(u32, u32)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which may hold anything: state, parent.
        let (_, fields) = stat.rsplit_once(')')?;
        let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
        Some((process, parent))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn children_of_children_end_too() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let mut line = String::new();
        let output = shell.stdout.take().expect("a pipe");
        let mut output = BufReader::new(output);
        output.read_line(&mut line).expect("a line");
        end_with_descendants(shell.id()).expect("kill");
        assert!(!shell.wait().expect("an end").success());
        // The pipe ends with the last that holds it.
        line.clear();
        assert_eq!(output.read_line(&mut line).expect("an end"), 0);
    }
}
