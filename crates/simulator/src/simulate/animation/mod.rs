//! A moving picture of two runs of one network side by side: queues fill, hosts are paused, a cycle
//! of buffers closes. SVG with SMIL and CSS, without scripts, for light and dark pages. The same
//! runs give the same bytes.

mod panel;
mod values;

use std::fmt::Write;

use report::escape;
use topology::Topology;

use super::SimulateError;
use super::observe::report::SimulationReport;
use super::session::{Session, State};
use panel::Panel;
use values::Clock;

/// Moments that are shown of each run.
const MOMENTS: u64 = 80;
/// Seconds that the moments take.
const PLAY_SECONDS: f64 = 8.0;
/// Seconds that the last moment stays.
const HOLD_SECONDS: f64 = 3.0;
/// Width of a panel and the space around it, in pixels.
const PANEL_WIDTH: f64 = 430.0;
const MARGIN: f64 = 14.0;
/// Height of the words above a network, of the diagram below it, and of the legend.
const HEAD: f64 = 56.0;
const DIAGRAM: f64 = 116.0;
const LEGEND: f64 = 26.0;
/// Height above the highest switch, and below the lowest host, in pixels.
const ABOVE: f64 = 18.0;
const BELOW: f64 = 32.0;

const STYLE: &str = "\
text{font-family:system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:#1c2330;font-size:12px}\
.paper{fill:#fff}.title{font-size:16px;font-weight:700}.soft{fill:#5b6678}.small{font-size:11px}\
.cable{stroke:#c3cad6;stroke-width:2}.cut{stroke:#c1121f;stroke-width:3;stroke-dasharray:5 4}\
.flow{stroke:#2457c5;stroke-width:2.4;stroke-linecap:round;stroke-dasharray:.1 9;animation:flow .55s linear infinite}\
.queue{stroke:#e69f00;fill:none}.paused{stroke:#c1121f}.cycle{stroke:#c1121f;stroke-width:9;stroke-linecap:round;stroke-opacity:.45}\
.switch{fill:#27476e}.name{fill:#fff;font-weight:600;text-anchor:middle}.host{fill:#ced4da;stroke:#868e96}.stop{fill:#c1121f}\
.label{text-anchor:middle;font-size:11px}.axis{stroke:#c3cad6}.goodput{fill:none;stroke:#2457c5;stroke-width:2}.now{stroke:#5b6678}\
.bad{fill:#c1121f;font-weight:700;font-size:14px}.good{fill:#14804a;font-weight:700;font-size:14px}\
@keyframes flow{to{stroke-dashoffset:-9.1px}}\
@media(prefers-color-scheme:dark){text{fill:#e6eaf2}.paper{fill:#131822}.soft{fill:#9aa6ba}.cable,.axis{stroke:#3a4559}\
.flow,.goodput{stroke:#8db2ff}.switch{fill:#3d7ea6}.host{fill:#4a5568;stroke:#9aa6ba}.cut,.paused,.cycle{stroke:#ff6b76}.stop,.bad{fill:#ff6b76}\
.good{fill:#5fd39a}.now{stroke:#9aa6ba}}\
@media(prefers-reduced-motion:reduce){.flow{animation:none}}";

/// One run as the picture shows it.
#[derive(Clone, Debug)]
pub struct Recording {
    moments: Vec<State>,
}

impl Recording {
    /// Runs a session to its end and keeps what it looks like at regular moments.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn record(session: &mut Session) -> Result<Self, SimulateError> {
        let mut moments = vec![session.state()];
        let end = (moments[0].end_us * 1e3) as u64;
        for moment in 1..=MOMENTS {
            session.run(end * moment / MOMENTS, u64::MAX)?;
            moments.push(session.state());
        }
        session.run(u64::MAX, u64::MAX)?;
        Ok(Self { moments })
    }
}

/// A run, and what stands above it.
#[derive(Clone, Copy, Debug)]
pub struct AnimatedRun<'a> {
    /// Such as `Plain PFC`.
    pub name: &'a str,
    /// What was seen.
    pub recording: &'a Recording,
    /// Its figures.
    pub report: &'a SimulationReport,
}

/// Draws both runs, one beside the other. `about` is the text for those who cannot see it.
#[must_use]
pub fn animate(topology: &Topology, about: &str, runs: [AnimatedRun<'_>; 2]) -> String {
    let positions = topology.positions();
    let scale = PANEL_WIDTH / positions.width;
    let heights = positions.switches.iter().map(|(_, y)| *y);
    let heights = heights.chain(positions.hosts.iter().flatten().map(|(_, y)| *y));
    let (top, bottom) = heights.fold((f64::MAX, 0.0_f64), |(top, bottom), y| {
        (top.min(y), bottom.max(y))
    });
    let rise = top * scale - ABOVE;
    let network = (bottom - top) * scale + ABOVE + BELOW;
    let width = 2.0 * PANEL_WIDTH + 3.0 * MARGIN;
    let height = HEAD + network + DIAGRAM + LEGEND;
    let most = runs
        .iter()
        .flat_map(|run| &run.recording.moments)
        .flat_map(|moment| &moment.queues)
        .map(|queue| queue.bytes)
        .max()
        .unwrap_or(1);
    let clock = Clock::new(PLAY_SECONDS, HOLD_SECONDS, MOMENTS);
    let mut text = String::new();
    let about = escape(about);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{about}\">\n\
         <title>{about}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>"
    );
    for (number, run) in (0..).zip(runs) {
        let left = MARGIN + f64::from(number) * (PANEL_WIDTH + MARGIN);
        let panel = Panel {
            topology,
            positions: &positions,
            scale,
            rise,
            network,
            most_bytes: most,
            clock,
            run,
        };
        let _ = writeln!(text, "<g transform=\"translate({left:.0} 0)\">");
        panel.draw(&mut text);
        text.push_str("</g>\n");
    }
    legend(&mut text, (MARGIN, height - 12.0));
    text.push_str("</svg>\n");
    text
}

/// What the marks mean.
fn legend(text: &mut String, (x, y): (f64, f64)) {
    let marks = [
        ("flow", 2.4, "packets on a link"),
        ("queue", 6.0, "packets that wait at a port"),
        ("queue paused", 6.0, "a port that PFC has paused"),
        ("cycle", 9.0, "ports that wait for each other"),
    ];
    for (number, (class, width, what)) in (0..).zip(marks) {
        let left = x + f64::from(number) * 215.0;
        let _ = writeln!(
            text,
            "<path class=\"{class}\" stroke-width=\"{width}\" d=\"M{:.0} {:.0}h24\"/><text class=\"small soft\" x=\"{:.0}\" y=\"{y:.0}\">{what}</text>",
            left + 4.0,
            y - 4.0,
            left + 36.0
        );
    }
}
