//! Why a packet was not sent.

use thiserror::Error;

/// Why a packet, or a copy of it, ended without being sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DropReason {
    /// Ingress left `egress_spec` at the drop port.
    #[error("dropped by ingress")]
    Ingress,
    /// Tofino: a parser ended with an error that the program does not look at.
    #[error("the parser ended with error {0}")]
    Parser(String),
    /// Egress left `egress_spec` at the drop port.
    #[error("dropped by egress")]
    Egress,
    /// The multicast group does not exist or is empty.
    #[error("multicast group {0} has no members")]
    EmptyMulticastGroup(u16),
    /// `assert` or `assume` did not hold.
    #[error("assertion failed at {0}")]
    Assertion(String),
    /// The program ran a loop too long.
    #[error("the program ran more than {0} loop rounds for one packet")]
    LoopBound(u64),
    /// The packet was recirculated, resubmitted or cloned too often.
    #[error("the packet went round the switch more than {0} times")]
    PassBound(u32),
}
