//! One run of the picture: words, the network, goodput over time.

use std::fmt::Write;

use report::escape;
use topology::draw::Positions;
use topology::{Endpoint, LinkId, NodeId, SwitchId, Topology};

use super::values::Clock;
use super::{AnimatedRun, DIAGRAM, HEAD, PANEL_WIDTH};

/// How thick a full queue is, in pixels.
const THICKEST: f64 = 10.0;
/// How far lines of the two directions stand apart from the middle of a link.
const LANE: f64 = 4.5;
/// Radius of hosts, and the size of switches.
const HOST: f64 = 8.0;
const SWITCH: (f64, f64) = (56.0, 24.0);
/// Steps into which rates are divided.
const RATE_STEPS: f64 = 4.0;
/// How much is left free at both ends of a diagram's axes.
const INDENT: f64 = 34.0;

type Point = (f64, f64);

pub(super) struct Panel<'a> {
    pub(super) topology: &'a Topology,
    pub(super) positions: &'a Positions,
    pub(super) scale: f64,
    /// How far nodes are moved up.
    pub(super) rise: f64,
    /// Height of the network.
    pub(super) network: f64,
    /// The longest queue of both runs.
    pub(super) most_bytes: u64,
    pub(super) clock: Clock,
    pub(super) run: AnimatedRun<'a>,
}

impl Panel<'_> {
    pub(super) fn draw(&self, text: &mut String) {
        self.words(text);
        let _ = writeln!(text, "<g transform=\"translate(0 {HEAD})\">");
        for link in self.topology.link_ids() {
            self.cable(text, link);
        }
        self.cycle(text);
        for switch in self.topology.switch_ids() {
            for (port, peer) in self.topology.peers(switch) {
                let near = Endpoint {
                    node: NodeId::Switch(switch),
                    port,
                };
                self.traffic(text, near, peer.end);
                self.queue(text, near, peer.end);
            }
        }
        self.nodes(text);
        text.push_str("</g>\n");
        let top = HEAD + self.network;
        let _ = writeln!(text, "<g transform=\"translate(0 {top:.0})\">");
        self.goodput(text);
        text.push_str("</g>\n");
    }

    /// One value for each moment.
    fn values<T>(&self, value: impl Fn(&super::State) -> T) -> Vec<T> {
        self.run.recording.moments.iter().map(value).collect()
    }

    /// The name of the run, and how it ends.
    fn words(&self, text: &mut String) {
        let name = escape(self.run.name);
        let _ = writeln!(text, "<text class=\"title\" x=\"4\" y=\"24\">{name}</text>");
        let report = self.run.report;
        match report.deadlock.first() {
            Some(deadlock) => {
                let shown = self.values(|moment| u8::from(moment.now_us >= deadlock.closed_us));
                let _ = writeln!(
                    text,
                    "<text class=\"bad\" x=\"4\" y=\"44\">Deadlock at {:.1} ms: {} queues wait for ever{}</text>",
                    deadlock.closed_us / 1e3,
                    deadlock.stuck,
                    self.clock.steps("opacity", &shown)
                );
            }
            None => {
                let _ = writeln!(
                    text,
                    "<text class=\"good\" x=\"4\" y=\"44\">No deadlock; {} lossless packets lost</text>",
                    report.lossless_drops
                );
            }
        }
    }

    /// A cable, and the sign that it is down.
    fn cable(&self, text: &mut String, link: LinkId) {
        let ends = self.topology.link(link);
        let line = line(self.at(ends.a.node), self.at(ends.b.node));
        let number = link.index() as u32;
        let down = self.values(|moment| u8::from(moment.failed.contains(&number)));
        let up: Vec<u8> = down.iter().map(|down| 1 - down).collect();
        let _ = writeln!(
            text,
            "<path class=\"cable\" d=\"{line}\">{}</path>",
            self.clock.steps("opacity", &up)
        );
        if down.contains(&1) {
            let _ = writeln!(
                text,
                "<path class=\"cut\" opacity=\"0\" d=\"{line}\">{}</path>",
                self.clock.steps("opacity", &down)
            );
        }
    }

    /// The cycle of queues that wait for each other.
    fn cycle(&self, text: &mut String) {
        let Some(deadlock) = self.run.report.deadlock.first() else {
            return;
        };
        let place = |name: &String| self.topology.node(name).map(|node| self.at(node));
        let mut corners: Vec<Point> = deadlock.switches.iter().filter_map(place).collect();
        corners.extend(corners.first().copied());
        let mut path = String::new();
        for pair in corners.windows(2) {
            path.push_str(&line(pair[0], pair[1]));
        }
        let shown = self.values(|moment| u8::from(moment.now_us >= deadlock.closed_us));
        let _ = writeln!(
            text,
            "<path class=\"cycle\" d=\"{path}\">{}</path>",
            self.clock.steps("opacity", &shown)
        );
    }

    /// Dots that move while a port sends, the denser the faster.
    fn traffic(&self, text: &mut String, near: Endpoint, far: Endpoint) {
        let NodeId::Switch(switch) = near.node else {
            return;
        };
        let link = self.topology.peer(switch, near.port).map(|peer| peer.link);
        let Some(rate) = link.map(|link| self.topology.link(link).rate.get() as f64) else {
            return;
        };
        let number = switch.index() as u32;
        let sent = self.values(|moment| {
            let port = moment
                .sent
                .iter()
                .find(|(from, port, _)| (*from, *port) == (number, near.port));
            port.map_or(0, |(_, _, bytes)| *bytes)
        });
        let rates = self.rates(&sent, rate);
        let (a, b) = lane(self.at(near.node), self.at(far.node));
        let _ = writeln!(
            text,
            "<path class=\"flow\" opacity=\"0\" d=\"{}\">{}</path>",
            line(a, b),
            self.clock.steps("opacity", &rates)
        );
    }

    /// How visible the dots are: the roots of the shares of a rate at which counted bytes grew.
    fn rates(&self, bytes: &[u64], rate: f64) -> Vec<f64> {
        let times = self.values(|moment| moment.now_us);
        let share = |at: usize| {
            let Some(before) = at.checked_sub(1) else {
                return 0.0;
            };
            let bits = bytes[at].saturating_sub(bytes[before]) as f64 * 8.0;
            let seconds = (times[at] - times[before]) / 1e6;
            let share = bits / (rate * seconds.max(1e-9));
            ((share * RATE_STEPS).ceil() / RATE_STEPS)
                .clamp(0.0, 1.0)
                .sqrt()
        };
        let rounded = |at| (share(at) * 100.0).round() / 100.0;
        (0..bytes.len()).map(rounded).collect()
    }

    /// What waits at a port, and whether it may go on.
    fn queue(&self, text: &mut String, near: Endpoint, far: Endpoint) {
        let NodeId::Switch(switch) = near.node else {
            return;
        };
        let number = switch.index() as u32;
        let at_port = |moment: &super::State| {
            let queues = moment.queues.iter();
            let here = queues.filter(|queue| (queue.switch, queue.port) == (number, near.port));
            here.fold((0, false), |(bytes, paused), queue| {
                (bytes + queue.bytes, paused || queue.paused)
            })
        };
        let states = self.values(at_port);
        let width = |(bytes, _): &(u64, bool)| {
            let share = *bytes as f64 / self.most_bytes as f64;
            (share.sqrt() * THICKEST).round()
        };
        let widths: Vec<f64> = states.iter().map(width).collect();
        if widths.iter().all(|width| *width == 0.0) {
            return;
        }
        let class = |(_, paused): &(u64, bool)| match paused {
            true => "queue paused",
            false => "queue",
        };
        let classes: Vec<&str> = states.iter().map(class).collect();
        let (a, b) = lane(self.at(near.node), self.at(far.node));
        let (from, to) = (toward(a, b, 0.06), toward(a, b, 0.48));
        let _ = writeln!(
            text,
            "<path class=\"queue\" stroke-width=\"0\" d=\"{}\">{}{}</path>",
            line(from, to),
            self.clock.steps("stroke-width", &widths),
            self.clock.steps("class", &classes)
        );
    }

    fn nodes(&self, text: &mut String) {
        for host in self.topology.host_ids() {
            let Some((x, y)) = self.host(host.index()) else {
                continue;
            };
            let paused = self.values(|moment| match moment.paused_hosts.get(host.index()) {
                Some(true) => "host stop",
                _ => "host",
            });
            let name = escape(&self.topology.host(host).name);
            let _ = writeln!(
                text,
                "<circle class=\"host\" cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{HOST}\">{}</circle>\
                 <text class=\"label soft\" x=\"{x:.0}\" y=\"{:.0}\">{name}</text>",
                self.clock.steps("class", &paused),
                y + HOST + 12.0
            );
        }
        let (width, height) = SWITCH;
        for switch in self.topology.switch_ids() {
            let (x, y) = self.switch(switch);
            let name = escape(&self.topology.switch(switch).name);
            let _ = writeln!(
                text,
                "<rect class=\"switch\" x=\"{:.0}\" y=\"{:.0}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>\
                 <text class=\"name\" x=\"{x:.0}\" y=\"{:.0}\">{name}</text>",
                x - width / 2.0,
                y - height / 2.0,
                y + 4.0
            );
        }
    }

    /// Goodput of all flows over time, drawn as time passes.
    fn goodput(&self, text: &mut String) {
        let times = self.values(|moment| moment.now_us);
        let bytes = self.values(|moment| moment.flows.iter().map(|flow| flow.bytes).sum::<u64>());
        let gbps = |at: usize| match at {
            0 => 0.0,
            at => (bytes[at] - bytes[at - 1]) as f64 * 8.0 / ((times[at] - times[at - 1]) * 1e3),
        };
        let rates: Vec<f64> = (0..bytes.len()).map(gbps).collect();
        let most = rates.iter().copied().fold(1.0, f64::max);
        let end = times.last().copied().unwrap_or(1.0);
        let (left, right) = (INDENT, PANEL_WIDTH - 8.0);
        let (top, bottom) = (26.0, DIAGRAM - 26.0);
        let x = |us: f64| left + us / end * (right - left);
        let y = |rate: f64| bottom - rate / most * (bottom - top);
        let mut path = String::new();
        for (at, rate) in rates.iter().enumerate().skip(1) {
            let command = if at == 1 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.0} {:.0}", x(times[at]), y(*rate));
        }
        let clip = match self.run.report.tags {
            true => "with",
            false => "without",
        };
        let _ = writeln!(
            text,
            "<text class=\"small soft\" x=\"4\" y=\"14\">Goodput, up to {most:.0} Gb/s, over {:.0} ms</text>\n\
             <path class=\"axis\" fill=\"none\" d=\"M{left} {top}V{bottom}H{right}\"/>\n\
             <text class=\"small soft\" x=\"4\" y=\"{:.0}\">{most:.0}</text><text class=\"small soft\" x=\"4\" y=\"{bottom}\">0</text>\n\
             <clipPath id=\"{clip}\"><rect y=\"0\" width=\"{PANEL_WIDTH}\" height=\"{DIAGRAM}\">{}</rect></clipPath>\n\
             <path class=\"goodput\" clip-path=\"url(#{clip})\" d=\"{path}\"/>",
            end / 1e3,
            top + 8.0,
            self.clock.sweep("width", left, right + 1.0)
        );
        self.happenings(text, x, (top, bottom));
    }

    /// Marks of links that fail and work again.
    fn happenings(&self, text: &mut String, x: impl Fn(f64) -> f64, (top, bottom): (f64, f64)) {
        let moments = &self.run.recording.moments;
        for pair in moments.windows(2) {
            let (before, after) = (pair[0].failed.len(), pair[1].failed.len());
            let what = match before.cmp(&after) {
                std::cmp::Ordering::Less => format!("{} links fail", after - before),
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Greater => format!("{} links work again", before - after),
            };
            let at = x(pair[1].now_us);
            let _ = writeln!(
                text,
                "<path class=\"now\" stroke-dasharray=\"2 3\" d=\"M{at:.0} {top}V{bottom}\"/>\
                 <text class=\"label soft\" x=\"{at:.0}\" y=\"{:.0}\">{what}</text>",
                bottom + 15.0
            );
        }
    }

    fn at(&self, node: NodeId) -> Point {
        match node {
            NodeId::Switch(switch) => self.switch(switch),
            NodeId::Host(host) => self.host(host.index()).unwrap_or((0.0, 0.0)),
        }
    }

    fn switch(&self, switch: SwitchId) -> Point {
        let (x, y) = self.positions.switches[switch.index()];
        (x * self.scale, y * self.scale - self.rise)
    }

    fn host(&self, number: usize) -> Option<Point> {
        let (x, y) = self.positions.hosts.get(number).copied().flatten()?;
        Some((x * self.scale, y * self.scale - self.rise))
    }
}

fn line(a: Point, b: Point) -> String {
    format!("M{:.0} {:.0}L{:.0} {:.0}", a.0, a.1, b.0, b.1)
}

/// The point at a share of the way.
fn toward(a: Point, b: Point, share: f64) -> Point {
    (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
}

/// A line between two nodes on the right of its direction, from edge to edge.
fn lane(a: Point, b: Point) -> (Point, Point) {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy).max(1e-6);
    let (right_x, right_y) = (-dy / length * LANE, dx / length * LANE);
    let (a, b) = (
        (a.0 + right_x, a.1 + right_y),
        (b.0 + right_x, b.1 + right_y),
    );
    let edge = SWITCH.1 / 2.0 / length;
    (toward(a, b, edge), toward(a, b, 1.0 - edge))
}
