//! All tests, and at the end what was skipped of them and why: a test says so by a line that begins
//! with `skipped`. Tests that say nothing for too long are ended, so that whoever waits learns
//! which it was.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::processes;

/// Tests that are named for a reason; of more, how many.
const NAMED: usize = 6;
/// The longest that tests may say nothing: several times what the longest of them takes on a slow
/// machine.
const SILENCE: Duration = Duration::from_secs(15 * 60);

/// Runs all tests.
///
/// # Errors
/// One failed, or cargo did not start.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    // Whoever waits for them learns of all that failed, not of the first.
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--no-fail-fast",
        "--",
        "--show-output",
    ];
    println!("xtask: cargo {}", arguments.join(" "));
    let mut child = Command::new(super::cargo_program())
        .args(arguments)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    let mut skipped = Skipped::default();
    let mut hung = None;
    if let Some(output) = child.stdout.take() {
        let lines = lines(output);
        loop {
            match lines.recv_timeout(SILENCE) {
                Ok(line) => {
                    let line = line.map_err(|e| format!("what cargo says: {e}"))?;
                    if skipped.shows(&line) {
                        println!("{line}");
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    hung = Some(skipped.long.join(", "));
                    processes::end_with_descendants(child.id())?;
                    break;
                }
            }
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    print!("{}", skipped.summary());
    if let Some(tests) = hung {
        return Err(format!(
            "tests said nothing for {SILENCE:?} and were killed; running for long: {tests}"
        ));
    }
    if status.success() {
        Ok(())
    } else {
        Err("`cargo test` failed".to_owned())
    }
}

/// Lines as they come.
fn lines(output: impl Read + Send + 'static) -> Receiver<io::Result<String>> {
    let (tell, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// What tests said of what they skipped, while their output goes by.
#[derive(Default)]
pub(crate) struct Skipped {
    /// Tests by reason.
    reasons: BTreeMap<String, Vec<String>>,
    /// The test whose output goes by.
    test: String,
    /// Within the output of tests that passed.
    passed: bool,
    /// Tests that have run for long, as libtest says, and have not ended.
    long: Vec<String>,
}

impl Skipped {
    /// Whether a line is to be shown; the output of tests that passed is only read.
    fn shows(&mut self, line: &str) -> bool {
        if let Some((test, why)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... ignored"))
        {
            let why = why.trim_start_matches([',', ' ']);
            let why = if why.is_empty() { "ignored" } else { why };
            self.add(why, test);
        }
        if let Some(rest) = line.strip_prefix("test ") {
            if let Some((test, _)) = rest.split_once(" has been running for over") {
                self.long.push(test.to_owned());
            } else if let Some((test, _)) = rest.split_once(" ... ") {
                self.long.retain(|long| long != test);
            }
        }
        match line {
            "successes:" => self.passed = true,
            "failures:" => self.passed = false,
            _ if line.starts_with("test result:") => self.passed = false,
            _ => {}
        }
        if let Some(test) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            test.clone_into(&mut self.test);
        } else {
            let test = self.test.clone();
            self.read(&test, line);
        }
        !self.passed
    }

    /// Reads a line that a test printed.
    pub(crate) fn read(&mut self, test: &str, line: &str) {
        if let Some(why) = line.strip_prefix("skipped") {
            self.add(why.trim_start_matches([':', ' ']), test);
        }
    }

    fn add(&mut self, why: &str, test: &str) {
        let tests = self.reasons.entry(why.to_owned()).or_default();
        if !tests.iter().any(|known| known == test) {
            tests.push(test.to_owned());
        }
    }

    /// How many tests were skipped, in whole or in part, and why.
    pub(crate) fn summary(&self) -> String {
        let mut all: Vec<&String> = self.reasons.values().flatten().collect();
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return "xtask: no test was skipped\n".to_owned();
        }
        let mut text = format!("xtask: skipped in whole or in part, {} tests:\n", all.len());
        for (why, tests) in &self.reasons {
            let named: Vec<&str> = tests.iter().take(NAMED).map(String::as_str).collect();
            let more = match tests.len() - named.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            text.push_str(&format!("  {why}: {}{more}\n", named.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 4 tests
test a::one ... ok
test a::two ... ok
test long ... ignored, takes an hour
test wrong ... FAILED

successes:

---- a::one stdout ----
skipped: `mn` is not on PATH
much else

---- a::two stdout ----
skipped: `mn` is not on PATH
skipped: no rights

successes:
    a::one
    a::two

failures:

---- wrong stdout ----
skipped: no rights
panicked

failures:
    wrong

test result: FAILED. 2 passed; 1 failed
";

    #[test]
    fn tests_that_run_for_long_are_known_until_they_end() {
        let mut skipped = Skipped::default();
        for test in ["one", "two"] {
            assert!(skipped.shows(&format!("test {test} has been running for over 60 seconds")));
        }
        assert!(skipped.shows("test one ... ok"));
        assert_eq!(skipped.long, ["two"]);
    }

    #[test]
    fn skipped_tests_are_named_by_reason_and_output_of_failures_is_shown() {
        let mut skipped = Skipped::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| skipped.shows(line)).collect();
        assert!(shown.contains(&"panicked") && shown.contains(&"test a::one ... ok"));
        assert!(!shown.contains(&"much else"));
        assert_eq!(
            skipped.summary(),
            "xtask: skipped in whole or in part, 4 tests:
  `mn` is not on PATH: a::one, a::two
  no rights: a::two, wrong
  takes an hour: long
"
        );
        assert_eq!(Skipped::default().summary(), "xtask: no test was skipped\n");
    }
}
