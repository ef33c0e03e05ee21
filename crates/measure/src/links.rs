//! How soon the data plane knows that a link is down: the whole way through the kernel, and our part of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use netlab::rtnl::Rtnl;
use netlab::veth::End;
use netlab::{LinkEvent, LinkWatch, Namespace, Veth};
use quantities::{Nanos, PortId};
use serde::Serialize;
use switchd::engine::{Engine, EngineConfig, Notification};
use switchd::ports::{PortBinding, PortOptions, PortSpec, Ports};

use super::ports::PortsError;

/// How often each link goes down.
const ROUNDS: usize = 200;
/// For one change of a link.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The port.
const PORT: PortId = PortId::new(1);

/// How long one way of going down took to be known.
#[derive(Clone, Debug, Serialize)]
pub struct LinkFigure {
    /// What was done, and from when time counts.
    pub what: &'static str,
    /// Half of the times are shorter.
    pub median: Nanos,
    /// 99 of 100 are shorter.
    pub most: Nanos,
    /// The longest.
    pub worst: Nanos,
}

impl LinkFigure {
    fn of(what: &'static str, mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            let time = times.get(place.min(times.len().saturating_sub(1)));
            Nanos::new(time.map_or(0, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)))
        };
        Self {
            what,
            median: at(0.5),
            most: at(0.99),
            worst: at(1.0),
        }
    }
}

/// Takes a link down and up again many times, at the switch's own end and at the other, and sees when the data plane has
/// changed the port's status: it tells of it at once, and this thread looks all the time.
///
/// # Errors
/// [`PortsError::Net`] where the machine does not let us make namespaces and raw sockets.
pub fn measure_links() -> Result<Vec<LinkFigure>, PortsError> {
    let (lab, far) = (Namespace::new()?, Namespace::new()?);
    for namespace in [&lab, &far] {
        // Without IPv6 there is no chatter; where there is none it need not be switched off.
        let _ = namespace.set("ipv6/conf/default/disable_ipv6", "1");
    }
    lab.run(|| {
        // An interface with the same number as its other end is taken for one without: the kernel tells of its
        // carrier a second late. One pair more, and the numbers differ.
        let _other = Veth::new(End::here("other1"), End::here("other2"))?;
        let _pair = Veth::new(End::here("p1"), End::inside("p1", &far))?;
        let other = far.run(Rtnl::open)??;
        measure(Rtnl::open()?, other)
    })?
}

fn measure(own: Rtnl, other: Rtnl) -> Result<Vec<LinkFigure>, PortsError> {
    let failed = |e: &dyn std::fmt::Display| PortsError::Switch(e.to_string());
    let binding = PortBinding {
        port: PORT,
        spec: PortSpec::Interface("p1".to_owned()),
    };
    let (mut ports, set) =
        Ports::open(&[binding], PortOptions::default()).map_err(|e| failed(&e))?;
    let config = EngineConfig {
        ports: ports.numbers(),
        ..EngineConfig::default()
    };
    let (engine, mut told) = Engine::start(&config, set).map_err(|e| failed(&e))?;
    ports.attach(engine.handle()).map_err(|e| failed(&e))?;
    // Another listener says when the kernel's message was there.
    let heard = Arc::new(Mutex::new(Instant::now()));
    let note = Arc::clone(&heard);
    let _watch = LinkWatch::start(move |event| {
        if matches!(&event, LinkEvent::State(link) if link.name == "p1" && !link.up) {
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    })?;
    let mut wait_for = |wanted: bool| {
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            match told.try_recv() {
                Ok(Notification::Port(PORT, up)) if up == wanted => return Ok(Instant::now()),
                Ok(_) => {}
                Err(_) => std::thread::yield_now(),
            }
        }
        Err(PortsError::Switch(
            "the link's change was never told".to_owned(),
        ))
    };
    let mut figures = Vec::new();
    let ways = [
        (
            own,
            "own end switched off: from the call",
            "own end switched off: from the kernel's message",
        ),
        (
            other,
            "other end switched off: from the call",
            "other end switched off: from the kernel's message",
        ),
    ];
    for (mut rtnl, whole, ours) in ways {
        let (mut from_call, mut from_message) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            rtnl.set_up("p1", false)?;
            let known = wait_for(false)?;
            from_call.push(known - start);
            let message = *heard.lock().unwrap_or_else(PoisonError::into_inner);
            // The other listener may be the later one.
            from_message.push(known.saturating_duration_since(message.max(start)));
            rtnl.set_up("p1", true)?;
            wait_for(true)?;
        }
        figures.push(LinkFigure::of(whole, from_call));
        figures.push(LinkFigure::of(ours, from_message));
    }
    Ok(figures)
}
