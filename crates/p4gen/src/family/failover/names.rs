//! Names that failover programs have once for every hop.

use plan::failover::MAX_HOPS;

/// The name of the action that leaves so many hops for the switches after; `None` beyond what a
/// header holds.
pub(super) fn send(rest: usize) -> Option<&'static str> {
    SEND.get(rest).copied()
}

/// The names of the keys of so many places of the reverse route, this switch's port first.
pub(super) fn reverse_keys(stack: u8) -> impl Iterator<Item = &'static str> {
    REVERSE.into_iter().take(stack.into())
}

/// The names of the parameters for so many hops that are left.
pub(super) fn hops(rest: u8) -> impl Iterator<Item = &'static str> {
    HOP.into_iter().take(rest.into())
}

/// Names of the keys of the reverse route.
const REVERSE: [&str; MAX_HOPS] = [
    "rev_0", "rev_1", "rev_2", "rev_3", "rev_4", "rev_5", "rev_6", "rev_7", "rev_8", "rev_9",
    "rev_10", "rev_11", "rev_12", "rev_13", "rev_14", "rev_15", "rev_16", "rev_17", "rev_18",
    "rev_19", "rev_20", "rev_21", "rev_22", "rev_23", "rev_24", "rev_25", "rev_26", "rev_27",
    "rev_28", "rev_29", "rev_30", "rev_31",
];

/// Names of the actions that send, by the hops that they leave.
const SEND: [&str; MAX_HOPS + 1] = [
    "ingress.send",
    "ingress.send_1",
    "ingress.send_2",
    "ingress.send_3",
    "ingress.send_4",
    "ingress.send_5",
    "ingress.send_6",
    "ingress.send_7",
    "ingress.send_8",
    "ingress.send_9",
    "ingress.send_10",
    "ingress.send_11",
    "ingress.send_12",
    "ingress.send_13",
    "ingress.send_14",
    "ingress.send_15",
    "ingress.send_16",
    "ingress.send_17",
    "ingress.send_18",
    "ingress.send_19",
    "ingress.send_20",
    "ingress.send_21",
    "ingress.send_22",
    "ingress.send_23",
    "ingress.send_24",
    "ingress.send_25",
    "ingress.send_26",
    "ingress.send_27",
    "ingress.send_28",
    "ingress.send_29",
    "ingress.send_30",
    "ingress.send_31",
    "ingress.send_32",
];

/// Names of the hops that such an action leaves.
const HOP: [&str; MAX_HOPS] = [
    "hop_1", "hop_2", "hop_3", "hop_4", "hop_5", "hop_6", "hop_7", "hop_8", "hop_9", "hop_10",
    "hop_11", "hop_12", "hop_13", "hop_14", "hop_15", "hop_16", "hop_17", "hop_18", "hop_19",
    "hop_20", "hop_21", "hop_22", "hop_23", "hop_24", "hop_25", "hop_26", "hop_27", "hop_28",
    "hop_29", "hop_30", "hop_31", "hop_32",
];
