//! What the steps of the test command took.

use std::fs;
use std::time::Instant;

/// Steps so far, each with its seconds and its seconds of processors.
#[derive(Default)]
pub(crate) struct Steps(Vec<(&'static str, f64, Option<f64>)>);

impl Steps {
    /// Takes a step.
    ///
    /// # Errors
    /// The step's own.
    pub(crate) fn take(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let (began, processors) = (Instant::now(), processors());
        let done = step();
        let taken = self::processors()
            .zip(processors)
            .map(|(now, then)| now - then);
        self.0.push((name, began.elapsed().as_secs_f64(), taken));
        done
    }

    /// All steps in a line.
    pub(crate) fn describe(&self) -> String {
        let one = |name: &str, seconds: f64, processors: Option<f64>| match processors {
            Some(processors) => format!("{name} {seconds:.0} s ({processors:.0} s of processors)"),
            None => format!("{name} {seconds:.0} s"),
        };
        let steps = self.0.iter();
        let mut all: Vec<String> = steps.map(|&(name, s, p)| one(name, s, p)).collect();
        let seconds = self.0.iter().map(|(_, seconds, _)| seconds).sum();
        let processors = self.0.iter().map(|(_, _, processors)| *processors).sum();
        all.push(one("in all", seconds, processors));
        all.join("; ")
    }
}

/// The time that processors have spent on ended children of this process, in seconds; Linux says
/// it.
fn processors() -> Option<f64> {
    /// Of a second, as Linux counts it for all programs.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: state, parent, ...; user and system time of
    // children are proc(5)'s fields 16 and 17.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}
