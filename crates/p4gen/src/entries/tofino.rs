//! Entries of the `tagger` programs for Tofino: those of v1model's program under Tofino's names, and the one-hot bit of
//! every port, with ports as the switch's own device ports.
//!
//! A plan numbers ports as people do, from 1; Tofino's pipelines number them by pipe and channel (9 bits). Where a plan's
//! numbers are not the device's, [`DevicePorts`] says which is which. One-hot bits stay those of the plan's numbers, so the
//! rules over port sets are the same on every target.

use std::borrow::Cow;
use std::collections::BTreeMap;

use p4runtime::Bits;
use plan::{CheckedPlan, RuleForm};
use quantities::PortId;
use topology::SwitchId;
use topology::routes::forwarding::Forwarding;

use super::model::{ActionCall, EntryAction, MatchValue, Name, SwitchEntries};
use super::writer::Writer;
use super::{EntriesError, Problem, tagger};
use crate::layout::tofino::{IN_PORT_BIT, OUT_PORT_BIT, SET_IN_PORT, SET_OUT_PORT, renamed};
use crate::layout::{Features, Layout, PORT_BITS, action, table};

/// Which device port stands behind a port of the plan, by switch; ports that are not listed keep their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicePorts(BTreeMap<String, BTreeMap<PortId, u16>>);

impl DevicePorts {
    /// Reads `{"leaf1": {"1": 128, "2": 132}}`: device ports by switch and port of the plan.
    ///
    /// # Errors
    /// What is wrong, and where: no such JSON, a number above 511, or two ports of a switch with one device port.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let map: BTreeMap<String, BTreeMap<u16, u16>> = serde_json::from_str(text)
            .map_err(|e| format!("{e}; expected {{\"SWITCH\": {{\"PORT\": DEVICE_PORT}}}}"))?;
        let limit = 1_u16 << PORT_BITS;
        for (switch, ports) in &map {
            let mut seen = BTreeMap::new();
            for (&port, &device) in ports {
                if device >= limit {
                    return Err(format!(
                        "switch `{switch}`, port {port}: device port {device} does not fit in {PORT_BITS} bits"
                    ));
                }
                if let Some(other) = seen.insert(device, port) {
                    return Err(format!(
                        "switch `{switch}`: ports {other} and {port} both have device port {device}"
                    ));
                }
            }
        }
        let ports = |ports: BTreeMap<u16, u16>| {
            ports
                .into_iter()
                .map(|(port, device)| (PortId::new(port), device))
                .collect()
        };
        Ok(Self(
            map.into_iter()
                .map(|(name, map)| (name, ports(map)))
                .collect(),
        ))
    }

    /// The device port of a switch's port.
    #[must_use]
    pub fn device(&self, switch: &str, port: PortId) -> u16 {
        let listed = self.0.get(switch).and_then(|ports| ports.get(&port));
        listed.copied().unwrap_or(port.get())
    }

    /// The switches that it speaks of.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The entries of one switch for the program with this layout ([`Layout::tofino_tagger`]).
///
/// # Errors
/// As [`tagger::generate`]; two ports of a switch that end up with one device port.
pub fn generate(
    plan: &CheckedPlan,
    features: &Features,
    layout: &Layout,
    forwarding: &Forwarding,
    switch: SwitchId,
    devices: &DevicePorts,
) -> Result<SwitchEntries, EntriesError> {
    let common = tagger::generate(plan, &Layout::tagger(*features), forwarding, switch)?;
    let name = common.switch.clone();
    let ports = plan.topology().peers(switch).map(|(port, _)| port);
    let named = |problem| EntriesError::Unfit {
        at: name.clone(),
        problem,
    };
    let ports = Ports::of(&name, ports, devices).map_err(named)?;
    let entries = translate(common, features.form, &ports).map_err(named)?;
    if features.form != RuleForm::PortSets {
        return Ok(entries);
    }
    let mut to = Writer::new(layout, &name);
    to.entries = entries;
    port_bits(&mut to, features.port_bits, &ports).map_err(named)?;
    Ok(to.entries)
}

/// The ports of one switch, with their device ports.
pub(super) struct Ports(BTreeMap<PortId, u16>);

impl Ports {
    pub(super) fn of(
        switch: &str,
        ports: impl Iterator<Item = PortId>,
        devices: &DevicePorts,
    ) -> Result<Self, Problem> {
        let map: BTreeMap<PortId, u16> = ports
            .map(|port| (port, devices.device(switch, port)))
            .collect();
        let mut seen = BTreeMap::new();
        for (port, device) in &map {
            if let Some(other) = seen.insert(device, port) {
                return Err(Problem::DevicePort {
                    ports: [other.get(), port.get()],
                    device: *device,
                });
            }
        }
        Ok(Self(map))
    }

    /// Every port with its device port.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PortId, u16)> {
        self.0.iter().map(|(port, device)| (*port, *device))
    }

    /// A port number in a key or a parameter as the device has it.
    pub(super) fn translate(&self, value: &Bits) -> Result<Bits, Problem> {
        let port = value.to_u128().and_then(|v| u16::try_from(v).ok());
        let device = port.and_then(|port| self.0.get(&PortId::new(port)));
        let Some(device) = device else {
            return Ok(value.clone());
        };
        Bits::from_uint(*device, value.width()).map_err(|source| Problem::Value {
            what: "a device port".to_owned(),
            source,
        })
    }
}

/// Tofino's names and ports for what v1model's program has.
fn translate(
    mut entries: SwitchEntries,
    form: RuleForm,
    ports: &Ports,
) -> Result<SwitchEntries, Problem> {
    for member in &mut entries.members {
        call(&mut member.action, ports)?;
    }
    for entry in &mut entries.tables {
        rename(&mut entry.table);
        for key in &mut entry.keys {
            let exact_rule =
                form == RuleForm::Exact && matches!(key.field.as_ref(), "in_port" | "out_port");
            if let MatchValue::Exact(value) = &mut key.value
                && (exact_rule || key.field == "port")
            {
                *value = ports.translate(value)?;
            }
        }
        if let EntryAction::Direct(direct) = &mut entry.action {
            call(direct, ports)?;
        }
    }
    Ok(entries)
}

fn call(call: &mut ActionCall, ports: &Ports) -> Result<(), Problem> {
    rename(&mut call.action);
    if call.action == action::NEXT_HOP {
        for (_, value) in call.params.iter_mut().filter(|(name, _)| name == "port") {
            *value = ports.translate(value)?;
        }
    }
    Ok(())
}

/// What v1model's program calls so, as Tofino's does.
pub(super) fn rename(name: &mut Name) {
    if let Some(new) = renamed(name) {
        *name = Cow::Borrowed(new);
    }
}

/// Every port's bit, for both tables.
fn port_bits(to: &mut Writer<'_>, width: u16, ports: &Ports) -> Result<(), Problem> {
    for (name, action) in [(IN_PORT_BIT, SET_IN_PORT), (OUT_PORT_BIT, SET_OUT_PORT)] {
        for (port, device) in &ports.0 {
            if port.get() >= width {
                return Err(Problem::Width {
                    what: format!("bits of {action}"),
                    expected: width.into(),
                    found: u32::from(port.get()) + 1,
                    value: port.to_string(),
                });
            }
            let mut bits = Bits::zero(width.into());
            bits.set_bit(port.get().into());
            let call = ActionCall {
                action: action.into(),
                params: vec![("bits".into(), bits)],
            };
            let key = to.exact(name, "port", *device)?;
            to.push(name, vec![key], None, EntryAction::Direct(call));
        }
    }
    Ok(())
}

/// How many entries a table gets.
pub(super) fn count_of(entries: &SwitchEntries, table: &str) -> u32 {
    let of_table = entries.tables.iter().filter(|e| e.table == table);
    u32::try_from(of_table.count()).unwrap_or(u32::MAX)
}

/// How many of a switch's entries go into a table.
#[must_use]
pub fn room_needed(entries: &SwitchEntries) -> crate::layout::Room {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let of = |name: &str| count_of(entries, name);
    let largest = entries.groups.iter().map(|g| g.members.len()).max();
    crate::layout::Room {
        ipv4_routes: of(table::IPV4_ROUTE),
        ipv6_routes: of(table::IPV6_ROUTE),
        ecmp_groups: number(entries.groups.len()),
        ecmp_members: number(entries.members.len()),
        group_members: number(largest.unwrap_or(0)),
        tag_rules: of(table::CLASSIFY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_ports_are_read_and_checked() {
        let ports = DevicePorts::from_json(r#"{"s1": {"1": 128, "2": 132}}"#).unwrap();
        assert_eq!(ports.device("s1", PortId::new(2)), 132);
        assert_eq!(ports.device("s1", PortId::new(3)), 3);
        assert_eq!(ports.device("s2", PortId::new(2)), 2);
        assert_eq!(ports.switches().collect::<Vec<_>>(), ["s1"]);
        let wrong = |text: &str| DevicePorts::from_json(text).unwrap_err();
        assert!(wrong(r#"{"s1": {"1": 512}}"#).contains("9 bits"));
        assert!(wrong(r#"{"s1": {"1": 5, "2": 5}}"#).contains("both"));
        assert!(wrong("[]").contains("expected"));
    }
}
