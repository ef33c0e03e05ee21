//! The data tree: which leaves of OpenConfig's models a port has, and where their values come from.
//!
//! Only what the switch knows stands here. A leaf without a value is absent from answers.

use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use linuxnet::Link;

use super::facts::{Port, Wants};
use super::models::{Module, Step};
use super::value::Value;

/// Bytes of an Ethernet header, which OpenConfig counts in an MTU and Linux does not.
const ETHERNET_HEADER: u32 = 14;

/// What a leaf is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Read and write.
    Config,
    /// The value of a `config` leaf that is in force.
    Applied,
    /// State that no configuration says (`oc-ext:operational`).
    Operational,
}

/// Where a leaf's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The table of ports; changes are events.
    State,
    /// The data plane's counters.
    Counters,
    /// The counters of the port's line.
    Line,
    /// The kernel's table of interfaces.
    Link,
}

/// A leaf of a port.
pub(super) struct Leaf {
    /// From the root.
    pub(super) steps: Vec<Step>,
    pub(super) kind: Kind,
    pub(super) source: Source,
    value: fn(&Port) -> Option<Value>,
}

/// The list whose entries are the ports.
pub(super) const LIST: &str = "interface";

/// Where the list stands on the way to a leaf.
pub(super) const LIST_DEPTH: usize = 2;

/// The list's key.
pub(super) const KEY: &str = "name";

impl Leaf {
    fn new(
        path: &'static str,
        kind: Kind,
        source: Source,
        value: fn(&Port) -> Option<Value>,
    ) -> Self {
        let mut module = Module::Interfaces;
        let step = |name: &'static str| {
            if name == "ethernet" {
                module = Module::Ethernet;
            }
            let module = if name == "id" { Module::P4rt } else { module };
            Step { name, module }
        };
        let top = ["interfaces", LIST].into_iter();
        Self {
            steps: top.chain(path.split('/')).map(step).collect(),
            kind,
            source,
            value,
        }
    }

    pub(super) fn module(&self) -> Module {
        self.steps
            .last()
            .map_or(Module::Interfaces, |step| step.module)
    }

    pub(super) fn value(&self, port: &Port) -> Option<Value> {
        (self.value)(port)
    }

    pub(super) const fn wants(&self) -> Wants {
        Wants {
            counters: matches!(self.source, Source::Counters),
            lines: matches!(self.source, Source::Line),
            links: matches!(self.source, Source::Link),
        }
    }
}

/// The leaves of a port, in the order of answers.
pub(super) static LEAVES: LazyLock<Vec<Leaf>> = LazyLock::new(|| {
    use Kind::{Applied, Config, Operational};
    use Source::{Counters, Line, Link, State};
    vec![
        Leaf::new("name", Config, State, name),
        Leaf::new("config/name", Config, State, name),
        Leaf::new("config/type", Config, Link, interface_type),
        Leaf::new("config/enabled", Config, State, enabled),
        Leaf::new("config/id", Config, State, id),
        Leaf::new("state/name", Applied, State, name),
        Leaf::new("state/type", Applied, Link, interface_type),
        Leaf::new("state/mtu", Applied, Link, mtu),
        Leaf::new("state/enabled", Applied, State, enabled),
        Leaf::new("state/ifindex", Operational, State, ifindex),
        Leaf::new("state/admin-status", Operational, State, admin_status),
        Leaf::new("state/oper-status", Operational, State, oper_status),
        Leaf::new("state/last-change", Operational, State, last_change),
        Leaf::new("state/management", Operational, State, no),
        Leaf::new("state/cpu", Operational, State, no),
        Leaf::new("state/id", Applied, State, id),
        Leaf::new("state/counters/in-octets", Operational, Counters, |port| {
            Some(Value::Big(port.counters?.received_bytes.get()))
        }),
        Leaf::new("state/counters/in-pkts", Operational, Counters, |port| {
            Some(Value::Big(port.counters?.received))
        }),
        Leaf::new("state/counters/in-discards", Operational, Line, |port| {
            Some(Value::Big(port.line?.receive_overrun))
        }),
        Leaf::new("state/counters/in-errors", Operational, Line, |port| {
            Some(Value::Big(port.line?.receive_damaged))
        }),
        Leaf::new("state/counters/out-octets", Operational, Counters, |port| {
            Some(Value::Big(port.counters?.sent_bytes.get()))
        }),
        Leaf::new("state/counters/out-pkts", Operational, Counters, |port| {
            Some(Value::Big(port.counters?.sent))
        }),
        Leaf::new(
            "state/counters/out-discards",
            Operational,
            Counters,
            |port| Some(Value::Big(port.counters?.lost_queue)),
        ),
        Leaf::new("state/counters/out-errors", Operational, Line, |port| {
            Some(Value::Big(port.line?.send_refused))
        }),
        Leaf::new(
            "state/counters/interface-transitions",
            Operational,
            State,
            |port| Some(Value::Big(port.state.transitions)),
        ),
        Leaf::new("ethernet/state/mac-address", Applied, Link, mac_address),
    ]
});

fn name(port: &Port) -> Option<Value> {
    Some(Value::Text(Arc::clone(&port.name)))
}

/// The P4Runtime port number. The model begins with 1.
fn id(port: &Port) -> Option<Value> {
    let number = port.state.port.get();
    (number != 0).then(|| Value::Small(number.into()))
}

/// "System assigned number for each interface": the system is the switch.
fn ifindex(port: &Port) -> Option<Value> {
    Some(Value::Small(port.state.port.get().into()))
}

fn ethernet(port: &Port) -> Option<&Link> {
    port.link.as_ref().filter(|link| link.ethernet)
}

fn interface_type(port: &Port) -> Option<Value> {
    ethernet(port).map(|_| Value::Identity("iana-if-type", "ethernetCsmacd"))
}

fn mtu(port: &Port) -> Option<Value> {
    let mtu = ethernet(port)?.mtu.checked_add(ETHERNET_HEADER)?;
    u16::try_from(mtu).ok().map(|mtu| Value::Small(mtu.into()))
}

fn mac_address(port: &Port) -> Option<Value> {
    let [a, b, c, d, e, f] = ethernet(port)?.mac;
    let text = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
    Some(Value::Text(text.into()))
}

fn enabled(port: &Port) -> Option<Value> {
    Some(Value::Flag(port.state.enabled))
}

/// Ports carry the traffic of the data plane; the CPU port is none of them.
fn no(_: &Port) -> Option<Value> {
    Some(Value::Flag(false))
}

const fn status(up: bool) -> Value {
    Value::Word(if up { "UP" } else { "DOWN" })
}

fn admin_status(port: &Port) -> Option<Value> {
    Some(status(port.state.enabled))
}

fn oper_status(port: &Port) -> Option<Value> {
    Some(status(port.state.is_up()))
}

fn last_change(port: &Port) -> Option<Value> {
    Some(Value::Big(nanoseconds(port.state.changed?)))
}

/// Nanoseconds since the Unix epoch.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
