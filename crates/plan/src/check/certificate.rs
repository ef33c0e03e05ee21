//! The certificate of O7: the buffers of the dependency graph in an order in which each waits for
//! later ones only. A graph that has such an order has no cycle, and a few lines of any program
//! check that it is one.

use serde::Serialize;
use serde_json::json;

use super::error::Buffer;

/// How large the buffer dependency graph is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphSize {
    /// Lossless ingress buffers that packets can get into: pairs of a port and a tag.
    pub buffers: u64,
    /// Pairs of buffers of which the first may wait for the second.
    pub dependencies: u64,
}

/// The buffers that packets can get into, in an order in which each waits for later ones only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The buffers in this order.
    pub buffers: Vec<CertifiedBuffer>,
}

/// A buffer of a [`Certificate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedBuffer {
    /// The buffer.
    pub buffer: Buffer,
    /// The buffers that it may wait for, by their place in the order, rising. All are after its
    /// own.
    pub waits_for: Vec<usize>,
}

impl Certificate {
    /// The name of the format.
    pub const FORMAT: &'static str = "switchwright-certificate";
    /// The version of the format.
    pub const VERSION: u32 = 1;

    /// How large the graph is.
    #[must_use]
    pub fn size(&self) -> GraphSize {
        let waits = self.buffers.iter().map(|one| one.waits_for.len() as u64);
        GraphSize {
            buffers: self.buffers.len() as u64,
            dependencies: waits.sum(),
        }
    }

    /// The certificate as a JSON file, a line for each buffer. `plan` is the SHA-256 of the plan
    /// file that it belongs to.
    #[must_use]
    pub fn to_json(&self, plan: &str) -> String {
        let GraphSize {
            buffers,
            dependencies,
        } = self.size();
        let line = |one: &CertifiedBuffer| {
            let (port, tag) = (&one.buffer.port, one.buffer.tag);
            json!({
                "switch": port.switch,
                "port": port.port,
                "tag": tag,
                "priority": one.buffer.priority,
                "waits_for": one.waits_for,
            })
            .to_string()
        };
        let lines: Vec<String> = self.buffers.iter().map(line).collect();
        format!(
            "{{\n\"format\": \"{}\",\n\"version\": {},\n\"plan_sha256\": \"{plan}\",\n\"graph\": \
             {{\"buffers\": {buffers}, \"dependencies\": {dependencies}}},\n\"buffers\": [\n{}\n]\n}}\n",
            Self::FORMAT,
            Self::VERSION,
            lines.join(",\n")
        )
    }
}
