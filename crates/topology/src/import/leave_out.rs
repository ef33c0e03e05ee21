//! Leaves out management interfaces of switches, and what the user does not want.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ports::{GivenPort, Management, stem};
use super::draft::{Draft, DraftEnd};
use super::leave::Leave;
use super::{ImportError, ImportFormat};

impl DraftEnd {
    /// What a pattern may call the port.
    fn interface(&self) -> Option<String> {
        match (&self.port, &self.label) {
            (_, Some(label)) => Some(label.clone()),
            (GivenPort::Name(name), None) => Some(name.clone()),
            (GivenPort::Number(number), None) => Some(number.to_string()),
            (GivenPort::Open, None) => None,
        }
    }
}

impl Draft {
    /// Leaves out links at management interfaces of switches, what the user ignores, and the nodes
    /// that no link leads to any more. `is_host` says which nodes have no management interfaces.
    ///
    /// # Errors
    /// A pattern that matches nothing.
    pub(super) fn leave_out(&mut self, is_host: &dyn Fn(&str) -> bool) -> Result<(), ImportError> {
        let Some(mut leave) = self.leave.take() else {
            return Ok(());
        };
        let stems = self.stems();
        let format = self.format;
        self.links.retain(|link| {
            let [a, b] = &link.ends;
            let ignored = [a, b].map(|end| leave.ignores(&end.node, end.interface().as_deref()));
            if ignored.iter().any(Option::is_some) {
                for what in ignored.into_iter().flatten() {
                    leave.ignored(what, [&a.node, &b.node]);
                }
                return false;
            }
            for (near, far) in [(a, b), (b, a)] {
                let Some(name) = near.port.name().filter(|_| !is_host(&near.node)) else {
                    continue;
                };
                let beside = || {
                    let of_node = stems.get(&near.node);
                    let mut others = of_node.into_iter().flatten();
                    format == ImportFormat::Containerlab || others.any(|other| other != stem(name))
                };
                let managed = match Management::of(name) {
                    Management::Yes => true,
                    Management::BesideOthers => beside(),
                    Management::No => false,
                };
                if managed && !leave.keeps(&near.node, name) {
                    leave.management(&near.node, name, &far.node);
                    return false;
                }
            }
            true
        });
        self.drop_lonely(&mut leave);
        match leave.idle() {
            None => Ok(()),
            Some(text) => Err(self.value(
                &format!("`{text}`"),
                "no device and no interface matches this pattern, or none that it would change; \
                 write `DEVICE` or `DEVICE:INTERFACE`, with `*` for any characters",
            )),
        }
    }

    /// How the ports of each node are called, without numbers.
    fn stems(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut stems: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for end in self.links.iter().flat_map(|link| &link.ends) {
            if let Some(name) = end.port.name() {
                let of_node = stems.entry(end.node.clone()).or_default();
                of_node.insert(stem(name).to_owned());
            }
        }
        stems
    }

    /// Drops nodes that have lost all their links, and nodes that the user ignores.
    fn drop_lonely(&mut self, leave: &mut Leave) {
        let ends = self.links.iter().flat_map(|link| &link.ends);
        let linked: BTreeSet<&str> = ends.map(|end| end.node.as_str()).collect();
        let hosts = self.hosts.iter().map(|host| &host.name);
        for node in self.switches.iter().chain(hosts) {
            if let Some(what) = leave.ignores(node, None) {
                leave.ignored(what, [node, node]);
            }
        }
        let touched = leave.touched.iter().map(String::as_str);
        let lost: Vec<&str> = touched.filter(|node| !linked.contains(node)).collect();
        let gone: BTreeSet<String> = lost.iter().map(|&node| node.to_owned()).collect();
        let unsaid: Vec<&str> = lost
            .into_iter()
            .filter(|&node| !leave.ignored.contains(node))
            .collect();
        self.notes.extend(leave.notes(&unsaid));
        self.switches.retain(|switch| !gone.contains(switch));
        self.hosts.retain(|host| !gone.contains(&host.name));
    }
}
