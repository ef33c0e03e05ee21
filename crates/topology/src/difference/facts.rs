//! What cables that are in place, and nodes that both networks have, are like.

use quantities::PortId;

use super::Comparison;
use super::item::{Cable, Item};
use crate::ids::{LinkId, SwitchId};
use crate::model::{Link, Switch};

/// Differences of switches, then of cables: rates, lengths, states.
pub(super) fn items(comparison: &Comparison<'_>) -> Vec<Item> {
    let Comparison { a, b, nodes, .. } = comparison;
    let mut items = Vec::new();
    for id in a.switch_ids() {
        if let Some(other) = nodes.switch_of(id) {
            switch(a.switch(id), b.switch(other), &mut items);
        }
    }
    let cables: Vec<(LinkId, LinkId)> = in_place(comparison).collect();
    let each = |fact: fn(&Cable, &Link, &Link) -> Option<Item>| {
        let cables = cables.iter();
        let item = move |(own, other): &(LinkId, LinkId)| {
            let [x, y] = comparison.slots.of_a[own.index()];
            let name = |slot| comparison.slots.name(slot, a, b);
            let (own, other) = (a.link(*own), b.link(*other));
            fact(&Cable::new(name(x), name(y)), own, other)
        };
        cables.filter_map(item).collect::<Vec<_>>()
    };
    items.extend(each(rate));
    items.extend(each(length));
    items.extend(each(state));
    items
}

/// The cables that both networks have.
pub(super) fn in_place<'a>(
    comparison: &'a Comparison<'a>,
) -> impl Iterator<Item = (LinkId, LinkId)> + 'a {
    let Comparison { a, slots, .. } = comparison;
    a.link_ids().filter_map(move |id| {
        let [x, y] = slots.of_a[id.index()];
        let other = slots.link_b(x)?;
        (slots.link_b(y) == Some(other)).then_some((id, other))
    })
}

/// A rate that nobody gave is not compared.
fn rate(cable: &Cable, a: &Link, b: &Link) -> Option<Item> {
    let known = !a.assumed.rate && !b.assumed.rate;
    (known && a.rate != b.rate).then(|| Item::Rate {
        cable: cable.clone(),
        from: a.rate,
        to: b.rate,
    })
}

/// A length that nobody gave is not compared.
fn length(cable: &Cable, a: &Link, b: &Link) -> Option<Item> {
    let known = !a.assumed.length && !b.assumed.length;
    (known && a.length != b.length).then(|| Item::Length {
        cable: cable.clone(),
        from: a.length,
        to: b.length,
    })
}

fn state(cable: &Cable, a: &Link, b: &Link) -> Option<Item> {
    (a.up != b.up).then(|| Item::LinkState {
        cable: cable.clone(),
        up: b.up,
    })
}

fn switch(a: &Switch, b: &Switch, items: &mut Vec<Item>) {
    let name = || a.name.clone();
    if a.role != b.role {
        let (switch, from, to) = (name(), a.role, b.role);
        items.push(Item::Role { switch, from, to });
    }
    if a.up != b.up {
        let (switch, up) = (name(), b.up);
        items.push(Item::SwitchState { switch, up });
    }
    if let (Some(from), Some(to)) = (a.buffer, b.buffer)
        && from != to
    {
        let switch = name();
        items.push(Item::Buffer { switch, from, to });
    }
    // If names of ports agree, ports are matched by them.
    let known = |name: &String| a.interfaces.values().any(|own| own == name);
    if a.interfaces.is_empty() || b.interfaces.values().any(known) {
        return;
    }
    let renamed = |(port, from): (&PortId, &String)| {
        let to = b.interfaces.get(port)?;
        Some(Item::PortName {
            switch: a.name.clone(),
            port: *port,
            from: from.clone(),
            to: to.clone(),
        })
    };
    items.extend(a.interfaces.iter().filter_map(renamed));
}

/// The switches that both networks have.
pub(super) fn switches<'a>(
    comparison: &'a Comparison<'a>,
) -> impl Iterator<Item = (SwitchId, SwitchId)> + 'a {
    let ids = comparison.a.switch_ids();
    ids.filter_map(move |id| Some((id, comparison.nodes.switch_of(id)?)))
}
