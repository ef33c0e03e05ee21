//! One subscription: which values, when they are read, and which of them are sent (gNMI section
//! 3.5.1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::gnmi::proto::subscription_list::Mode;
use ::gnmi::proto::{Path, Subscription, SubscriptionList, SubscriptionMode, Update};
use tokio::time::Instant;
use tonic::Status;

use super::facts::{Port, Snapshot, Wants};
use super::get::Choice;
use super::path::{Filter, Pattern, answer_prefix, node_path};
use super::schema::{LEAVES, Leaf, Source};
use super::value::{Encoding, Value};
use crate::server::limits::GnmiLimits;

/// How often values are read that change without an event, where a client asks for changes or
/// leaves the interval to the switch.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What a client has subscribed to.
pub(super) struct List {
    pub(super) mode: Mode,
    pub(super) prefix: Option<Path>,
    pub(super) encoding: Encoding,
    pub(super) updates_only: bool,
    pub(super) watches: Vec<Watch>,
}

/// When values are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// When they change.
    Changes,
    /// Again and again.
    Samples {
        every: Duration,
        /// Only those that have changed.
        changed_only: bool,
    },
}

/// One subscription, or the part of one that one rule holds for.
pub(super) struct Watch {
    origin: String,
    leaves: BTreeMap<usize, Filter>,
    rule: Rule,
    heartbeat: Option<Duration>,
    /// When to read values next.
    look: Option<Instant>,
    /// When to send all values next.
    beat: Option<Instant>,
    /// The revision of the table of ports that was sent last: older events are skipped.
    seen: u64,
    /// The values that were sent, by port and leaf, where only changes are to be sent.
    sent: BTreeMap<(Arc<str>, usize), Value>,
}

/// What is to be sent.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) update: Vec<Update>,
    pub(super) delete: Vec<Path>,
}

impl List {
    /// Reads a list.
    ///
    /// # Errors
    /// INVALID_ARGUMENT, UNIMPLEMENTED, RESOURCE_EXHAUSTED; the message says which subscription.
    pub(super) fn read(list: &SubscriptionList, limits: &GnmiLimits) -> Result<Self, Status> {
        let mode = Mode::try_from(list.mode).map_err(|_| {
            Status::invalid_argument(format!("there is no mode {} of subscriptions", list.mode))
        })?;
        if list.qos.as_ref().is_some_and(|qos| qos.marking != 0) {
            return Err(Status::unimplemented(
                "packets cannot be marked; leave `qos` out",
            ));
        }
        if list.subscription.is_empty() {
            return Err(Status::invalid_argument("the list has no subscription"));
        }
        super::check_count("subscriptions", list.subscription.len(), limits)?;
        let choice = Choice::read(0, &list.use_models)?;
        let prefix = list.prefix.as_ref();
        let mut watches = Vec::new();
        for subscription in &list.subscription {
            let path = subscription.path.clone().unwrap_or_default();
            let pattern = Pattern::read(prefix, &path)?;
            let mut leaves = pattern.reach()?.leaves;
            leaves.retain(|number, _| LEAVES.get(*number).is_some_and(|leaf| choice.has(leaf)));
            let watch = Watch::new(pattern.origin(), leaves, Rule::Changes, None);
            match mode {
                Mode::Once | Mode::Poll => watches.push(watch),
                Mode::Stream => {
                    let read = watch.streamed(subscription, limits);
                    watches.extend(read.map_err(|why| {
                        Status::invalid_argument(format!("the subscription to {pattern}: {why}"))
                    })?);
                }
            }
        }
        Ok(Self {
            mode,
            prefix: answer_prefix(prefix)?,
            encoding: Encoding::of_leaves(list.encoding)?,
            updates_only: list.updates_only,
            watches,
        })
    }

    /// The sources of all values.
    pub(super) fn wants(&self) -> Wants {
        let wants = self.watches.iter().map(Watch::wants);
        wants.fold(Wants::default(), Wants::with)
    }

    /// Values that are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.watches.iter().map(|watch| watch.sent.len()).sum()
    }

    /// When something is to be done without an event.
    pub(super) fn due(&self) -> Option<Instant> {
        self.watches.iter().filter_map(Watch::due).min()
    }
}

fn duration(nanoseconds: u64, what: &str, least: Duration) -> Result<Option<Duration>, String> {
    let given = Duration::from_nanos(nanoseconds);
    if nanoseconds > 0 && given < least {
        return Err(format!(
            "the {what} is {nanoseconds} ns; the shortest is {} ns",
            least.as_nanos()
        ));
    }
    Ok((nanoseconds > 0).then_some(given))
}

impl Watch {
    fn new(
        origin: &str,
        leaves: BTreeMap<usize, Filter>,
        rule: Rule,
        heartbeat: Option<Duration>,
    ) -> Self {
        let now = Instant::now();
        let mut watch = Self {
            origin: origin.to_owned(),
            leaves,
            rule,
            heartbeat,
            look: None,
            beat: heartbeat.and_then(|heartbeat| now.checked_add(heartbeat)),
            seen: 0,
            sent: BTreeMap::new(),
        };
        watch.look = watch.next_look(now);
        watch
    }

    /// The watches of a subscription of a stream.
    fn streamed(self, asked: &Subscription, limits: &GnmiLimits) -> Result<Vec<Self>, String> {
        let mode = SubscriptionMode::try_from(asked.mode)
            .map_err(|_| format!("there is no mode {}", asked.mode))?;
        let least = limits.interval;
        let heartbeat = duration(asked.heartbeat_interval, "heartbeat_interval", least)?;
        let samples = |every| Rule::Samples {
            every,
            changed_only: asked.suppress_redundant,
        };
        let Self { origin, leaves, .. } = self;
        Ok(match mode {
            SubscriptionMode::OnChange => {
                vec![Self::new(&origin, leaves, Rule::Changes, heartbeat)]
            }
            SubscriptionMode::Sample => {
                let every = duration(asked.sample_interval, "sample_interval", least)?;
                let rule = samples(every.unwrap_or(least));
                vec![Self::new(&origin, leaves, rule, heartbeat)]
            }
            SubscriptionMode::TargetDefined => {
                if asked.sample_interval > 0 {
                    return Err(
                        "a sample_interval means nothing with TARGET_DEFINED; use SAMPLE"
                            .to_owned(),
                    );
                }
                let event = |number: &usize| {
                    let leaf = LEAVES.get(*number);
                    leaf.is_some_and(|leaf| leaf.source == Source::State)
                };
                let (events, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    leaves.into_iter().partition(|(number, _)| event(number));
                vec![
                    Self::new(&origin, events, Rule::Changes, heartbeat),
                    Self::new(&origin, others, samples(POLL_INTERVAL), heartbeat),
                ]
            }
        })
    }

    fn leaves(&self) -> impl Iterator<Item = (usize, &'static Leaf, &Filter)> {
        let leaves = self.leaves.iter();
        leaves.filter_map(|(number, filter)| Some((*number, LEAVES.get(*number)?, filter)))
    }

    fn wants(&self) -> Wants {
        let wants = self.leaves().map(|(_, leaf, _)| leaf.wants());
        wants.fold(Wants::default(), Wants::with)
    }

    fn next_look(&self, now: Instant) -> Option<Instant> {
        let events_only = self
            .leaves()
            .all(|(_, leaf, _)| leaf.source == Source::State);
        match self.rule {
            _ if self.leaves.is_empty() => None,
            Rule::Changes if events_only => None,
            Rule::Changes => now.checked_add(POLL_INTERVAL),
            Rule::Samples { every, .. } => now.checked_add(every),
        }
    }

    fn due(&self) -> Option<Instant> {
        self.look.into_iter().chain(self.beat).min()
    }

    /// The sources of what is due; `None` if nothing is.
    pub(super) fn due_wants(&self, now: Instant) -> Option<Wants> {
        self.due()
            .is_some_and(|due| due <= now)
            .then(|| self.wants())
    }

    const fn remembers(&self) -> bool {
        match self.rule {
            Rule::Changes => true,
            Rule::Samples { changed_only, .. } => changed_only,
        }
    }

    /// All values, of a one-off subscription or at the beginning of a stream. With `silent` they
    /// are remembered and not sent.
    pub(super) fn all(&mut self, snapshot: &Snapshot, encoding: Encoding, silent: bool) -> News {
        self.seen = snapshot.revision;
        let news = self.report(&snapshot.ports, encoding, |_| true, true);
        if silent { News::default() } else { news }
    }

    /// What an event changes of a port.
    pub(super) fn event(&mut self, port: &Port, revision: u64, encoding: Encoding) -> News {
        if self.rule != Rule::Changes || revision <= self.seen {
            return News::default();
        }
        self.seen = revision;
        let state = |leaf: &Leaf| leaf.source == Source::State;
        self.report(std::slice::from_ref(port), encoding, state, false)
    }

    /// What has changed when ports were added or removed, or events were missed.
    pub(super) fn changes(&mut self, snapshot: &Snapshot, encoding: Encoding) -> News {
        if self.rule != Rule::Changes {
            return News::default();
        }
        self.seen = snapshot.revision;
        let mut news = self.report(&snapshot.ports, encoding, |_| true, false);
        self.forget(snapshot, &mut news);
        news
    }

    /// What is due.
    pub(super) fn due_news(
        &mut self,
        snapshot: &Snapshot,
        encoding: Encoding,
        now: Instant,
    ) -> News {
        let beats = self.beat.is_some_and(|beat| beat <= now);
        if beats {
            self.beat = self
                .heartbeat
                .and_then(|heartbeat| now.checked_add(heartbeat));
        }
        let looks = self.look.is_some_and(|look| look <= now);
        if looks {
            // From when it was due, so that samples keep their rate; what was missed is left out.
            let next = self.look.and_then(|look| self.next_look(look));
            self.look = next
                .filter(|next| *next > now)
                .or_else(|| self.next_look(now));
        }
        match self.rule {
            _ if beats => {
                self.seen = snapshot.revision;
                self.report(&snapshot.ports, encoding, |_| true, true)
            }
            // Events report the others, in their order.
            Rule::Changes => {
                let silent = |leaf: &Leaf| leaf.source != Source::State;
                self.report(&snapshot.ports, encoding, silent, false)
            }
            Rule::Samples { changed_only, .. } => {
                let mut news = self.report(&snapshot.ports, encoding, |_| true, !changed_only);
                if changed_only {
                    self.forget(snapshot, &mut news);
                }
                news
            }
        }
    }

    /// Reports values of ports: all, or those that differ from what was sent before.
    fn report(
        &mut self,
        ports: &[Port],
        encoding: Encoding,
        which: impl Fn(&Leaf) -> bool,
        all: bool,
    ) -> News {
        let mut news = News::default();
        let remembers = self.remembers();
        let Self {
            origin,
            leaves,
            sent,
            ..
        } = self;
        for port in ports {
            for (number, filter) in &*leaves {
                let Some(leaf) = LEAVES.get(*number) else {
                    continue;
                };
                if !filter.has(&port.name) || !which(leaf) {
                    continue;
                }
                let Some(value) = leaf.value(port) else {
                    continue;
                };
                let key = (Arc::clone(&port.name), *number);
                if all || sent.get(&key) != Some(&value) {
                    news.update.push(Update {
                        path: Some(node_path(origin, &leaf.steps, Some(&port.name))),
                        val: Some(encoding.leaf(&value)),
                        ..Update::default()
                    });
                }
                if remembers {
                    sent.insert(key, value);
                }
            }
        }
        news
    }

    /// Reports the values that are gone.
    fn forget(&mut self, snapshot: &Snapshot, news: &mut News) {
        let ports: BTreeMap<&str, &Port> = snapshot
            .ports
            .iter()
            .map(|port| (&*port.name, port))
            .collect();
        let Self { origin, sent, .. } = self;
        sent.retain(|(name, number), _| {
            let Some(leaf) = LEAVES.get(*number) else {
                return false;
            };
            let port = ports.get(&**name);
            let there = port.is_some_and(|port| leaf.value(port).is_some());
            if !there {
                let path = node_path(origin, &leaf.steps, Some(name));
                news.delete.push(path);
            }
            there
        });
    }
}
