//! How soon a lost link changes forwarding: the whole way through the kernel, and our part of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{CarrierLosses, LinkEvent, LinkMessages, Namespace, NetError, Veth};
use quantities::{Nanos, PortId};
use serde::Serialize;
use switchd::engine::{Engine, EngineConfig, EngineHandle, Notification, PortChange};
use switchd::ports::{PortBinding, PortOptions, PortSpec, Ports};

use super::ports::PortsError;

/// How often each link goes down.
const ROUNDS: usize = 200;
/// For one change of a link.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at what is not urgent.
const PAUSE: Duration = Duration::from_micros(200);
/// The port, and its interface.
const PORT: PortId = PortId::new(1);
const NAME: &str = "p1";

/// How long one part of the way took.
#[derive(Clone, Debug, Serialize)]
pub struct LinkFigure {
    /// Which end of the link was switched off.
    pub end: &'static str,
    /// From what to what.
    pub part: &'static str,
    /// Half of the times are shorter.
    pub median: Nanos,
    /// 99 of 100 are shorter.
    pub most: Nanos,
    /// The longest.
    pub worst: Nanos,
}

impl LinkFigure {
    fn of(end: &'static str, part: &'static str, mut times: Vec<Nanos>) -> Self {
        times.sort_unstable();
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            let time = times.get(place.min(times.len().saturating_sub(1)));
            time.copied().unwrap_or_default()
        };
        Self {
            end,
            part,
            median: at(0.5),
            most: at(0.99),
            worst: at(1.0),
        }
    }
}

/// What happened when a link was lost, by the engine's clock, in its order.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    /// The other end, or this one, is to be switched off.
    call: Nanos,
    /// The interface has lost its carrier.
    carrier: Nanos,
    /// The kernel's message about it can be read.
    message: Nanos,
    /// The data plane was told: what it takes up from then on is forwarded without the port.
    told: Nanos,
    /// The data plane's thread has noted it, woken from its sleep.
    noted: Nanos,
}

/// When a part of the way begins and ends.
type Part = fn(&Loss) -> (Nanos, Nanos);

/// The parts of the way.
const PARTS: [(&str, Part); 6] = [
    ("carrier lost until forwarding changes", |l| {
        (l.carrier, l.told)
    }),
    ("  carrier lost until the kernel's message", |l| {
        (l.carrier, l.message)
    }),
    ("  message until forwarding changes", |l| {
        (l.message, l.told)
    }),
    ("  until the sleeping data plane has noted it", |l| {
        (l.told, l.noted)
    }),
    ("call until the carrier is lost", |l| (l.call, l.carrier)),
    ("call until forwarding changes", |l| (l.call, l.told)),
];

/// Times that the observer saw; zero for none yet.
#[derive(Default)]
struct Seen {
    /// It is to look.
    wanted: AtomicBool,
    /// It looks.
    looking: AtomicBool,
    carrier: AtomicU64,
    message: AtomicU64,
    done: AtomicBool,
}

/// Looks all the time, and before everybody else where the system permits it, so that it is never
/// late: a late one would make us look better than we are.
fn observe(seen: &Seen, engine: &EngineHandle, carrier: &CarrierLosses, mut news: LinkMessages) {
    // On a single processor, who looks all the time would keep from running what is looked for.
    if thread::available_parallelism().is_ok_and(|count| count.get() > 1) {
        let _ = linuxnet::run_before_others();
    }
    let mut losses = None;
    while !seen.done.load(Ordering::Acquire) {
        if !seen.wanted.load(Ordering::Acquire) {
            seen.looking.store(false, Ordering::Release);
            thread::park();
            continue;
        }
        if !seen.looking.load(Ordering::Acquire) {
            // What was before is not what is looked for.
            while news.receive(&mut |_| {}).is_ok() {}
            losses = carrier.count();
            seen.looking.store(true, Ordering::Release);
        }
        if carrier.count() != losses {
            losses = carrier.count();
            note(&seen.carrier, engine);
        }
        let mut lost = false;
        let _ = news.receive(&mut |event| {
            lost |= matches!(&event, LinkEvent::State(link) if link.name == NAME && !link.up);
        });
        if lost {
            note(&seen.message, engine);
        }
    }
}

/// The first time counts.
fn note(place: &AtomicU64, engine: &EngineHandle) {
    let now = engine.now().get();
    let _ = place.compare_exchange(0, now, Ordering::AcqRel, Ordering::Relaxed);
}

/// Takes a link down and up again many times, at the switch's own end and at the other. An
/// observer, which looks all the time, sees when the carrier goes and when the kernel tells of it;
/// the data plane says when it was told, and when it had noted that.
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
        // An interface with the same number as its other end is taken for one without: the kernel
        // tells of its carrier a second late. One pair more, and the numbers differ.
        let _other = Veth::new(End::here("other1"), End::here("other2"))?;
        let _pair = Veth::new(End::here(NAME), End::inside(NAME, &far))?;
        let other = far.run(Rtnl::open)??;
        measure([("own", Rtnl::open()?), ("other", other)])
    })?
}

fn measure(ends: [(&'static str, Rtnl); 2]) -> Result<Vec<LinkFigure>, PortsError> {
    let failed = |e: &dyn std::fmt::Display| PortsError::Switch(e.to_string());
    let binding = PortBinding {
        port: PORT,
        spec: PortSpec::Interface(NAME.to_owned()),
    };
    let (mut ports, set) =
        Ports::open(&[binding], PortOptions::default()).map_err(|e| failed(&e))?;
    let config = EngineConfig {
        ports: ports.numbers(),
        ..EngineConfig::default()
    };
    let (engine, mut told) = Engine::start(&config, set).map_err(|e| failed(&e))?;
    ports.attach(engine.handle()).map_err(|e| failed(&e))?;
    let seen = Arc::new(Seen::default());
    let (carrier, news) = (CarrierLosses::of(NAME)?, LinkMessages::open()?);
    let observer = {
        let (seen, engine) = (Arc::clone(&seen), engine.handle().clone());
        thread::Builder::new()
            .name("observer".to_owned())
            .spawn(move || observe(&seen, &engine, &carrier, news))
            .map_err(|e| failed(&e))?
    };
    let mut hear = |wanted: bool| {
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            match told.try_recv() {
                Ok(Notification::Port(change)) if change.port == PORT && change.up == wanted => {
                    return Ok(change);
                }
                Ok(_) => {}
                // When is in the message: there is no hurry to read it.
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Err(failed(&"the link's change was never told"))
    };
    let rounds = rounds(ends, &seen, observer.thread(), engine.handle(), &mut hear);
    seen.done.store(true, Ordering::Release);
    observer.thread().unpark();
    let _ = observer.join();
    rounds
}

fn rounds(
    ends: [(&'static str, Rtnl); 2],
    seen: &Seen,
    observer: &thread::Thread,
    engine: &EngineHandle,
    hear: &mut impl FnMut(bool) -> Result<PortChange, PortsError>,
) -> Result<Vec<LinkFigure>, PortsError> {
    let mut figures = Vec::new();
    for (end, mut rtnl) in ends {
        let mut losses = Vec::new();
        for _ in 0..ROUNDS {
            losses.push(lose(&mut rtnl, seen, observer, engine, hear)?);
            rtnl.set_up(NAME, true)?;
            hear(true)?;
        }
        for (part, of) in PARTS {
            let time = |loss: &Loss| {
                let (from, until) = of(loss);
                Nanos::new(until.get().saturating_sub(from.get()))
            };
            let times = losses.iter().map(time).collect();
            figures.push(LinkFigure::of(end, part, times));
        }
    }
    Ok(figures)
}

/// Takes the link down once.
fn lose(
    rtnl: &mut Rtnl,
    seen: &Seen,
    observer: &thread::Thread,
    engine: &EngineHandle,
    hear: &mut impl FnMut(bool) -> Result<PortChange, PortsError>,
) -> Result<Loss, PortsError> {
    for place in [&seen.carrier, &seen.message] {
        place.store(0, Ordering::Release);
    }
    seen.wanted.store(true, Ordering::Release);
    observer.unpark();
    while !seen.looking.load(Ordering::Acquire) {
        thread::sleep(PAUSE);
    }
    let call = engine.now();
    let down: Result<(), NetError> = rtnl.set_up(NAME, false);
    let change = down.map_err(PortsError::from).and_then(|()| hear(false));
    let both = || [&seen.carrier, &seen.message].map(|place| place.load(Ordering::Acquire));
    // Who looks all the time has seen what the data plane was told of.
    let start = Instant::now();
    while change.is_ok() && both().contains(&0) && start.elapsed() < TIMEOUT {
        thread::sleep(PAUSE);
    }
    seen.wanted.store(false, Ordering::Release);
    while seen.looking.load(Ordering::Acquire) {
        thread::sleep(PAUSE);
    }
    let PortChange { told, noted, .. } = change?;
    let [carrier, message] = both().map(Nanos::new);
    if both().contains(&0) {
        let unseen = "the carrier's loss was told and not seen".to_owned();
        return Err(PortsError::Switch(unseen));
    }
    Ok(Loss {
        call,
        carrier,
        message,
        told,
        noted,
    })
}
