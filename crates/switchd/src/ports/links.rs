//! Link state of the ports: from the kernel to the data plane, without the control plane.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use linuxnet::rtnl::Rtnl;
use linuxnet::{LinkEvent, LinkWatch};
use quantities::PortId;

use super::{PortBinding, PortError, PortSpec, lock};
use crate::engine::EngineHandle;

/// What was last known of a port's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    index: u32,
    up: bool,
}

/// Follows the interfaces of the ports.
struct Follower<R> {
    bindings: Arc<Mutex<Vec<PortBinding>>>,
    engine: EngineHandle,
    reopen: R,
    known: BTreeMap<PortId, Known>,
}

/// Watches links until it is dropped.
pub(super) struct Links {
    again: Box<dyn Fn() + Send + Sync>,
    _watch: LinkWatch,
}

impl Links {
    /// Starts. `reopen` is called when an interface that was gone is there again; it says whether
    /// it worked.
    pub(super) fn watch(
        bindings: Arc<Mutex<Vec<PortBinding>>>,
        engine: EngineHandle,
        reopen: impl FnMut(&PortBinding) -> bool + Send + 'static,
    ) -> Result<Self, PortError> {
        let follower = Arc::new(Mutex::new(Follower {
            bindings,
            engine,
            reopen,
            known: BTreeMap::new(),
        }));
        let listener = Arc::clone(&follower);
        let watch = LinkWatch::start(move |event| lock(&listener).hear(&event))?;
        let again = move || match Rtnl::open().and_then(|mut rtnl| rtnl.links()) {
            Ok(links) => {
                let mut follower = lock(&follower);
                for link in links {
                    follower.hear(&LinkEvent::State(link.into()));
                }
            }
            Err(error) => tracing::warn!(%error, "a new port's link state is not known yet"),
        };
        Ok(Self {
            again: Box::new(again),
            _watch: watch,
        })
    }

    /// Looks at all links: ports have changed.
    pub(super) fn look_again(&self) {
        (self.again)();
    }
}

impl<R: FnMut(&PortBinding) -> bool> Follower<R> {
    fn hear(&mut self, event: &LinkEvent) {
        let (name, index, up) = match event {
            LinkEvent::State(link) => (&link.name, link.index, link.up),
            LinkEvent::Gone { index, name } => (name, *index, false),
        };
        let bindings: Vec<PortBinding> = {
            let bindings = lock(&self.bindings);
            self.known
                .retain(|port, _| bindings.iter().any(|b| b.port == *port));
            let here = |b: &&PortBinding| matches!(&b.spec, PortSpec::Interface(n) if n == name);
            bindings.iter().filter(here).cloned().collect()
        };
        for binding in bindings {
            self.follow(
                &binding,
                Known { index, up },
                matches!(event, LinkEvent::Gone { .. }),
            );
        }
    }

    fn follow(&mut self, binding: &PortBinding, now: Known, gone: bool) {
        let before = self.known.get(&binding.port).copied();
        if gone && before.is_some_and(|known| known.index != now.index) {
            return; // an older interface of that name
        }
        // The socket stays with the interface it was opened on: another of the same name needs
        // another.
        if !gone && before.is_some_and(|known| known.index != now.index) && !(self.reopen)(binding)
        {
            return;
        }
        self.known.insert(binding.port, now);
        if before.map(|known| known.up) != Some(now.up) {
            // An engine that has stopped needs no news. It comes first: writing a log may take
            // longer.
            let _ = self.engine.set_port_up(binding.port, now.up);
            tracing::info!(port = %binding.port, interface = %binding.spec, up = now.up, "link");
        }
    }
}
