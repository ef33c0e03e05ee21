//! What a report says to a reader who does not believe it: what the proof assumes, what evidence
//! there is, how to check it again, and what the same check says of the network without tags.

use plan::check::{ASSUMPTIONS, Cycle, Subject, Verdict, cycle_of};
use plan::{CarrierKind, CheckReport, CheckedPlan};
use report::{RingBox, ring};

use super::digest::Digest;
use crate::family::summary::number;

/// The file with the certificate.
pub(super) const CERTIFICATE: &str = "certificate.json";
/// The largest graph whose certificate a build holds, in dependencies.
const MAX_DEPENDENCIES: u64 = 1_000_000;
/// The largest network, in switches, of which the report looks for a cycle without tags.
const MAX_SWITCHES: usize = 400;

/// The parts of the page.
pub(super) struct Sceptic {
    /// The verdict, in a word or two.
    pub(super) verdict: String,
    /// What must be true of this network, a sentence each.
    pub(super) conditions: Vec<String>,
    /// The assumptions of the theorem that this plan uses, with their names.
    pub(super) assumptions: Vec<(&'static str, &'static str)>,
    /// What was examined, as HTML paragraphs.
    pub(super) evidence: Vec<String>,
    /// A cycle of the network without tags, as SVG; empty if there is none to show.
    pub(super) counterexample: String,
    /// Commands that check the plan again.
    pub(super) repeat: String,
    /// What the proof read, with its SHA-256.
    pub(super) inputs: Vec<(String, String)>,
}

/// The certificate of a plan as a file, where it is not too large.
pub(super) fn certificate(plan: &CheckedPlan, digest: Digest) -> Option<String> {
    let size = plan.report().graph?;
    if size.dependencies > MAX_DEPENDENCIES {
        return None;
    }
    Some(plan.certificate()?.to_json(&digest.to_string()))
}

impl Sceptic {
    /// What is said of a plan. `digest` is that of its file, `certified` whether its certificate
    /// stands beside the report.
    pub(super) fn new(
        plan: &CheckedPlan,
        report: &CheckReport,
        digest: Digest,
        certified: bool,
    ) -> Self {
        Self {
            verdict: match report.verdict {
                Verdict::Proven if report.assumed.is_empty() => "Proven.".to_owned(),
                Verdict::Proven => format!("Proven, with {}.", report.assumed.condition()),
                Verdict::Sampled => "Not refuted by a sample.".to_owned(),
                Verdict::Refuted => "Refuted.".to_owned(),
            },
            conditions: conditions(plan, report),
            assumptions: assumptions(plan),
            evidence: evidence(report, certified),
            counterexample: counterexample(plan),
            repeat: repeat(report, certified),
            inputs: inputs(plan, digest),
        }
    }
}

/// What the assumptions say of this network, in its own terms.
fn conditions(plan: &CheckedPlan, report: &CheckReport) -> Vec<String> {
    let topology = plan.topology();
    let mut said = vec![format!(
        "The cables are as drawn: {} links of network {}, or a part of them.",
        number(topology.links().len() as u64),
        topology.name()
    )];
    if plan.tables().has_tags() {
        let mut priorities: Vec<u8> = plan
            .tagging()
            .priorities
            .values()
            .map(|p| p.get())
            .collect();
        priorities.sort_unstable();
        priorities.dedup();
        let words: Vec<String> = priorities.iter().map(u8::to_string).collect();
        said.extend([
            format!(
                "PFC is on for priority {} at every port of this network, and off for all other priorities.",
                words.join(", ")
            ),
            trusted(plan.carrier().kind).to_owned(),
            "Hosts drain: no host pauses a priority for ever.".to_owned(),
            format!(
                "Rates and lengths of links are those of the topology, and frames have at most {} bytes: headroom is \
                 computed from them.",
                number(plan.tables().budget.mtu.get())
            ),
        ]);
    }
    // What nobody gave, with the option that supplies it.
    let assumed = report.assumed.iter();
    said.extend(assumed.map(|one| format!("Assumed: {one}.").replace('`', "")));
    said
}

/// Where switches believe what a packet says of its tag.
const fn trusted(carrier: CarrierKind) -> &'static str {
    match carrier {
        CarrierKind::Dscp => {
            "The DSCP is trusted at the ports of this network only. What comes in by any other port is lossy."
        }
        CarrierKind::VlanPcp | CarrierKind::VlanVid => {
            "The VLAN tag is trusted at ports between switches. Hosts choose a class by the DSCP; what comes in by a port \
             outside this network is lossy."
        }
        CarrierKind::Shim => {
            "The tag is trusted between switches only: hosts cannot send it. They choose a class by the DSCP."
        }
    }
}

/// The assumptions of the theorem that the proof of a plan uses.
fn assumptions(plan: &CheckedPlan) -> Vec<(&'static str, &'static str)> {
    let tables = plan.tables();
    let used = ASSUMPTIONS.iter().filter(|one| match one.of {
        Subject::Tables => true,
        Subject::Tags => tables.has_tags(),
        Subject::Failover => tables.failover.is_some(),
    });
    used.map(|one| (one.name, one.text)).collect()
}

fn evidence(report: &CheckReport, certified: bool) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(size) = report.graph {
        said.push(format!(
            "The buffer dependency graph has {} buffers (pairs of an ingress port and a tag) that packets can get into, and \
             {} dependencies between them, for every routing at once. It has no cycle.",
            number(size.buffers),
            number(size.dependencies)
        ));
        said.push(if certified {
            format!(
                "<a href=\"{CERTIFICATE}\"><code>{CERTIFICATE}</code></a> lists the buffers in an order in which each waits \
                 for later ones only. Such an order exists only if there is no cycle. The lines below check it without \
                 Switchwright."
            )
        } else {
            format!(
                "Its certificate is too large to stand here: <code>switchwright check plan.json --certificate \
                 {CERTIFICATE}</code> writes it."
            )
        });
    }
    let tried = &report.resilience;
    if tried.walks > 0 {
        said.push(format!(
            "Packets were followed through the failover tables on {} walks, for {} sets of failed links or switches.",
            number(tried.walks),
            number(tried.sets_checked)
        ));
    }
    if said.is_empty() {
        said.push(
            "Packets were followed through the tables from every switch with hosts to every host."
                .to_owned(),
        );
    }
    said
}

/// The cycle of the same network without tags, drawn.
fn counterexample(plan: &CheckedPlan) -> String {
    if plan.topology().switches().len() > MAX_SWITCHES {
        return String::new();
    }
    let plain = plan.tables().without_tags();
    let cycle = plain.and_then(|tables| cycle_of(&tables));
    cycle.map_or_else(String::new, |cycle| drawn(&cycle))
}

fn drawn(cycle: &Cycle) -> String {
    let boxes: Vec<RingBox> = cycle
        .buffers
        .iter()
        .map(|buffer| {
            let interface = buffer.port.interface.as_deref();
            let port = topology::port_text(interface, buffer.port.port);
            let port = match interface {
                Some(_) => port,
                None => format!("port {port}"),
            };
            RingBox {
                name: buffer.port.switch.clone(),
                detail: format!("{port}, priority {}", buffer.priority),
            }
        })
        .collect();
    ring("Without tags: a cycle of buffers", &boxes)
}

fn repeat(report: &CheckReport, certified: bool) -> String {
    let mut lines = vec!["sha256sum plan.json", "switchwright check plan.json"];
    if report.graph.is_some() && certified {
        lines.extend([
            "python3 - <<'END'",
            "import json",
            "buffers = json.load(open(\"certificate.json\"))[\"buffers\"]",
            "for place, buffer in enumerate(buffers):",
            "    assert all(place < later < len(buffers) for later in buffer[\"waits_for\"])",
            "print(len(buffers), \"buffers in order: there is no cycle\")",
            "END",
        ]);
    }
    lines.join("\n")
}

fn inputs(plan: &CheckedPlan, digest: Digest) -> Vec<(String, String)> {
    let topology = Digest::of(plan.topology().to_json().as_bytes());
    vec![
        ("plan.json".to_owned(), digest.to_string()),
        (
            "the topology in it, as the command topo writes it".to_owned(),
            topology.to_string(),
        ),
    ]
}
