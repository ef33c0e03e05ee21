//! The scenarios that come with Switchwright: those of `examples/scenarios`, by name.

macro_rules! scenario {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../scenarios/", $name, ".yaml")),
        )
    };
}

/// Name and text of every one, in the papers' order.
pub const BUNDLED: &[(&str, &str)] = &[
    scenario!("lossless-transition-1"),
    scenario!("lossless-transition-2"),
    scenario!("lossless-transition-3"),
    scenario!("routing-loop"),
    scenario!("three-flows"),
    scenario!("bounce"),
    scenario!("bounce-leaf-spine"),
    scenario!("link-failures"),
    scenario!("tag-at-every-hop"),
    scenario!("priority-reuse"),
    scenario!("hierarchical-space-1"),
    scenario!("hierarchical-space-2"),
    scenario!("hierarchical-space-3"),
    scenario!("four-switches-ecmp"),
    scenario!("four-switches-virtual-up-down"),
    scenario!("four-switches-edst"),
    scenario!("port-fairness"),
    scenario!("head-of-line"),
    scenario!("lossless-failover-plinko"),
    scenario!("lossless-failover-df-fi"),
];

/// The text of a scenario that comes with Switchwright.
#[must_use]
pub fn bundled(name: &str) -> Option<&'static str> {
    let mut all = BUNDLED.iter();
    all.find(|(known, _)| *known == name).map(|(_, text)| *text)
}
