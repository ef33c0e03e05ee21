//! The assumptions of the [theorem](super), as reports print them.

/// An assumption of the theorem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Its name in the theorem: `A1`.
    pub name: &'static str,
    /// What is assumed.
    pub text: &'static str,
    /// The plans whose proof uses it.
    pub of: Subject,
}

/// What a plan has that an assumption speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Tables of any kind.
    Tables,
    /// Lossless tags.
    Tags,
    /// Failover tables.
    Failover,
}

/// All assumptions, in their order in the theorem.
pub const ASSUMPTIONS: [Assumption; 8] = [
    Assumption {
        name: "A1",
        text: "Switches apply the tables as the plan has them, and tables do not change while packets that were \
               tagged by them are in the network (TaggerDraft section 6.2).",
        of: Subject::Tables,
    },
    Assumption {
        name: "A2",
        text: "Every lossless priority has an egress queue at each port and an ingress buffer of its own; ingress \
               and egress priority are those of the arriving and of the new tag (TaggerDraft section 6.3).",
        of: Subject::Tags,
    },
    Assumption {
        name: "A3",
        text: "Switches and hosts act on a pause within the time that TaggerDraft equation 1 allows for, given the \
               rate and the length of the link and the MTU of the plan's budget.",
        of: Subject::Tags,
    },
    Assumption {
        name: "A4",
        text: "Hosts drain: no host pauses a priority for ever.",
        of: Subject::Tags,
    },
    Assumption {
        name: "A5",
        text: "A switch moves every packet to its egress queue in finite time; a queue that is not paused for ever \
               sends its first packet in finite time, or drops it where the link is gone.",
        of: Subject::Tables,
    },
    Assumption {
        name: "A6",
        text: "All links are those of the topology, or a part of them. Links that are up lose and damage nothing.",
        of: Subject::Tables,
    },
    Assumption {
        name: "A7",
        text: "Hosts of a class send with its initial tag. T1 and T2 do not use this: there hosts send what they \
               like.",
        of: Subject::Tags,
    },
    Assumption {
        name: "A8",
        text: "Failures do not change while a packet is on its way, and a switch knows which of its own ports are up \
               (Stephens15 section 2.3). Only T6 uses this.",
        of: Subject::Failover,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The page that states and proves the theorem.
    const ESSAY: &str = include_str!("mod.rs");

    #[test]
    fn the_list_says_what_the_essay_says() {
        let lines = ESSAY.lines().filter_map(|line| line.strip_prefix("//!"));
        let words = lines.flat_map(str::split_whitespace);
        let essay = words.collect::<Vec<_>>().join(" ");
        for one in ASSUMPTIONS {
            let text = format!("- **{}** {}", one.name, one.text);
            assert!(essay.contains(&text), "{text}");
        }
        assert_eq!(essay.matches("- **A").count(), ASSUMPTIONS.len());
    }
}
