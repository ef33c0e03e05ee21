//! Which link runs through which optical circuit switch.

use super::CablingError;
use crate::{LinkId, NodeId, SwitchId, Topology};

/// The most OCSs.
const MOST: u32 = 1_000_000;

/// The OCS of every link between switches, by link: the topology's own, else, where OCSs have
/// `ports` ports, one that as few others of the link's switches run through as can be.
pub(super) fn assign(
    topology: &Topology,
    ports: Option<u16>,
) -> Result<Vec<Option<u32>>, CablingError> {
    if let Some(ports) = ports
        && ports < 2
    {
        return Err(CablingError::TooFewPorts(ports));
    }
    let fabric = |&id: &LinkId| joined(topology, id).is_some();
    let fabric: Vec<LinkId> = topology.link_ids().filter(fabric).collect();
    let mut through: Vec<Option<u32>> = topology.links().iter().map(|link| link.ocs).collect();
    let of = |id: &LinkId| topology.link(*id).ocs;
    if fabric.iter().any(|id| of(id).is_some()) {
        if let Some(&id) = fabric.iter().find(|id| of(id).is_none()) {
            let link = topology.describe_link(id);
            return Err(CablingError::SomeWithoutOcs { link });
        }
    } else if let Some(ports) = ports {
        for (id, ocs) in fabric.iter().zip(spread(topology, &fabric, ports)) {
            through[id.index()] = Some(ocs + 1);
        }
    }
    let count = through.iter().flatten().copied().max().unwrap_or(0);
    if count > MOST {
        return Err(CablingError::TooManyOcs {
            ocs: count,
            most: MOST,
        });
    }
    check(&through, count, ports)?;
    Ok(through)
}

fn check(through: &[Option<u32>], count: u32, ports: Option<u16>) -> Result<(), CablingError> {
    let mut links = vec![0; count as usize + 1];
    for &ocs in through.iter().flatten() {
        links[ocs as usize] += 1;
    }
    let Some(ports) = ports else { return Ok(()) };
    let full = |&(_, &links): &(u32, &usize)| 2 * links > usize::from(ports);
    match (0..).zip(&links).find(full) {
        Some((ocs, &links)) => Err(CablingError::OcsFull { ocs, links, ports }),
        None => Ok(()),
    }
}

fn joined(topology: &Topology, id: LinkId) -> Option<(SwitchId, SwitchId)> {
    let link = topology.link(id);
    match (link.a.node, link.b.node) {
        (NodeId::Switch(a), NodeId::Switch(b)) => Some((a, b)),
        _ => None,
    }
}

/// Links over OCSs, as many as a switch has links at most times the number of OCSs that have a port
/// for every switch (FC23 section 3.3).
fn spread(topology: &Topology, links: &[LinkId], ports: u16) -> Vec<u32> {
    let ends: Vec<(SwitchId, SwitchId)> = links
        .iter()
        .filter_map(|&id| joined(topology, id))
        .collect();
    let switches = topology.switches().len();
    let mut degree = vec![0usize; switches];
    for (a, b) in &ends {
        degree[a.index()] += 1;
        degree[b.index()] += 1;
    }
    let most = degree.iter().copied().max().unwrap_or(0);
    let room = usize::from(ports / 2);
    let count = (most * switches.div_ceil(usize::from(ports))).max(ends.len().div_ceil(room));
    let mut load = vec![0usize; count];
    let mut cables = vec![0u16; count * switches];
    let mut chosen = Vec::with_capacity(ends.len());
    for (a, b) in ends {
        let of =
            |cables: &[u16], switch: SwitchId, ocs: usize| cables[switch.index() * count + ocs];
        let free = (0..count).filter(|&ocs| load[ocs] < room);
        let crowded = |&ocs: &usize| {
            let mine = [a, b].map(|switch| of(&cables, switch, ocs));
            (mine[0].max(mine[1]), mine[0] + mine[1], load[ocs])
        };
        // All links have room: there are at least as many halves of ports.
        let ocs = free.min_by_key(crowded).unwrap_or(0);
        load[ocs] += 1;
        for switch in [a, b] {
            cables[switch.index() * count + ocs] += 1;
        }
        chosen.push(u32::try_from(ocs).unwrap_or(u32::MAX));
    }
    chosen
}
