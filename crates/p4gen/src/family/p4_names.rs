//! What the same thing is called in the P4 text for each architecture.

use crate::capabilities::Architecture;
use crate::layout::Layout;

/// Names that templates write alike for every architecture.
#[derive(Clone, Copy)]
pub(crate) struct P4Names {
    /// The type of a port.
    pub(crate) port_type: &'static str,
    /// The port by which a packet comes in.
    pub(crate) ingress_port: &'static str,
    /// The port by which it shall leave, in ingress.
    pub(crate) egress_port: &'static str,
    /// The port by which it leaves, in egress.
    pub(crate) out_port: &'static str,
    /// The cast of a reason to the type of the index that `drop_because` takes.
    pub(crate) reason: &'static str,
    /// Whether sizes of tables are constants of `layout.p4`.
    constant_sizes: bool,
}

impl P4Names {
    /// The names for an architecture.
    pub(crate) const fn of(architecture: Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self {
                port_type: "port_id_t",
                ingress_port: "standard_metadata.ingress_port",
                egress_port: "standard_metadata.egress_spec",
                out_port: "standard_metadata.egress_port",
                reason: "",
                constant_sizes: true,
            },
            Architecture::Tofino => Self {
                port_type: "PortId_t",
                ingress_port: "intrinsic.ingress_port",
                egress_port: "for_tm.ucast_egress_port",
                out_port: "intrinsic.egress_port",
                reason: "(drop_index_t)",
                constant_sizes: false,
            },
        }
    }

    /// Most entries of a table: this constant, or a number.
    pub(crate) fn size(self, layout: &Layout, table: &str, constant: &str) -> String {
        if self.constant_sizes {
            constant.to_owned()
        } else {
            layout.size(table).to_string()
        }
    }
}
