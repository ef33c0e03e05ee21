//! What a report tells of failover tables.

use plan::check::Resilience;
use plan::failover::{Element, LabelKind, Output, StateCounts};
use plan::{CheckedPlan, FailoverPart};
use serde::Serialize;

use crate::family::summary::{Section, Source, Summary, SwitchReport, by_layer, number, range};

/// The failover tables in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailoverReport {
    /// What the header says of failures.
    pub label: LabelKind,
    /// What rules put out.
    pub output: Output,
    /// Failures that the plan survives, unless `parts` says otherwise.
    pub resilience: u32,
    /// The destinations by how their packets survive failures, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<FailoverPart>,
    /// Of what.
    pub element: Element,
    /// The version that packets are stamped with.
    pub version: u8,
    /// Destinations in headers.
    pub destinations: u64,
    /// Most hops of a route in the header.
    pub stack: u8,
    /// Rules of all switches.
    pub rules_total: u64,
    /// Rules of the switch that has most.
    pub rules_max_per_switch: u64,
    /// TCAM bits of the switch that needs most, as Stephens15 counts them.
    pub tcam_bits_max: u64,
    /// The same as Tofino 1 would allot them.
    pub tofino_bits_max: u64,
}

impl FailoverReport {
    /// Of a plan; `None` where it has no failover tables.
    pub(crate) fn of(plan: &CheckedPlan, version: u8) -> Option<Self> {
        let failover = plan.tables().failover.as_ref()?;
        let counts = failover.counts();
        let most = |of: fn(&StateCounts) -> u64| counts.iter().map(of).max().unwrap_or(0);
        Some(Self {
            label: failover.label,
            output: failover.output,
            resilience: failover.claim.failures,
            parts: FailoverPart::all(failover),
            element: failover.claim.element,
            version,
            destinations: failover.destinations.len() as u64,
            stack: failover.stack,
            rules_total: counts.iter().map(|c| c.rules).sum(),
            rules_max_per_switch: most(|c| c.rules),
            tcam_bits_max: most(|c| c.tcam_bits),
            tofino_bits_max: most(|c| c.tofino.bits),
        })
    }
}

impl FailoverReport {
    /// Failures that packets to any destination survive.
    fn least(&self) -> u32 {
        let parts = self.parts.iter().map(|part| part.resilience);
        parts.min().unwrap_or(self.resilience)
    }
}

/// What a report page tells of a plan's failover tables.
pub(super) fn summary(source: &Source<'_>) -> Summary {
    let Some(failover) = FailoverReport::of(source.plan, source.version) else {
        return Summary::default();
    };
    Summary {
        proof: proof(&failover, source.resilience),
        figures: vec![
            (failover.least().into(), "failures survived"),
            (failover.rules_max_per_switch, "rules, at most, per switch"),
        ],
        sections: vec![
            Section {
                title: "Header",
                text: header(&failover),
                ..Section::default()
            },
            switch_section(source),
        ],
    }
}

fn proof(failover: &FailoverReport, proof: &Resilience) -> Vec<String> {
    let element = match failover.element {
        Element::Link => "links",
        Element::Switch => "switches",
    };
    let claim = if failover.parts.is_empty() {
        format!(
            "Any {} {element} may fail at once: a packet that has a way arrives, and none circulates.",
            failover.resilience
        )
    } else {
        let part = |part: &FailoverPart| {
            format!(
                "{} for packets to {} of the destinations",
                part.resilience,
                number(part.destinations as u64)
            )
        };
        let parts: Vec<String> = failover.parts.iter().map(part).collect();
        format!(
            "So many {element} may fail at once, and a packet that has a way arrives, and none circulates: {}.",
            parts.join(", ")
        )
    };
    let mut lines = match proof.sample {
        None => vec![claim],
        Some(sample) => vec![
            format!("Claimed, and not refuted by a sample: {claim}"),
            format!(
                "A fault in {} % of the sets was missed with a probability of {:.2}.",
                sample.share * 100.0,
                sample.missed
            ),
        ],
    };
    let how = if proof.exhaustive {
        "all of them".to_owned()
    } else {
        format!("all of {}, a sample beyond", proof.exhaustive_failures)
    };
    lines.push(format!(
        "{} sets of at most {} failures tried ({how}).",
        number(proof.sets_checked),
        proof.checked_failures
    ));
    lines
}

fn header(failover: &FailoverReport) -> String {
    let mut labels: Vec<&str> = vec![failover.label.describe()];
    for part in &failover.parts {
        let label = part.label.describe();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let label = labels.join(" or, as its destination has it, ");
    let output = match failover.output {
        Output::HopByHop => "a rule gives the next port",
        Output::SourceRoutes => "a rule gives the ports of the whole way",
    };
    format!(
        "Inside the fabric a header tells {label}; {output}. Routes have at most {} hops; packets are stamped with \
         version {}. Hosts never see the header.",
        failover.stack, failover.version
    )
}

fn switch_section(source: &Source<'_>) -> Section {
    let counts = source.plan.tables().failover.as_ref().map(|f| f.counts());
    let counts = counts.unwrap_or_default();
    let of = |switch: &SwitchReport, figure: fn(&StateCounts) -> u64| {
        let at = source.switches.iter().position(|s| s.name == switch.name);
        at.and_then(|at| counts.get(at)).map_or(0, figure)
    };
    let row = |(name, switches): (String, Vec<&SwitchReport>)| {
        let range = |of: &dyn Fn(&SwitchReport) -> u64| range(&switches, of, number);
        vec![
            name,
            switches.len().to_string(),
            range(&|s| of(s, |c| c.rules)),
            range(&|s| of(s, |c| c.tcam_bits)),
            range(&|s| of(s, |c| c.tofino.bits)),
            range(&SwitchReport::entries),
        ]
    };
    Section {
        title: "Switches",
        text: "A rule has the width that its key needs at most; ranges are over the switches of a row."
            .to_owned(),
        columns: vec![
            "switches",
            "number",
            "rules",
            "TCAM bits (Stephens15)",
            "TCAM bits (Tofino 1)",
            "entries",
        ],
        rows: by_layer(source.switches).into_iter().map(row).collect(),
        words: false,
    }
}
