//! Networks that were asked for, the last few of them remembered.

use std::sync::Arc;

use plan::check::{Options, check};
use plan::{CheckFailure, CheckedPlan, Tables};
use quantities::Progress;
use simulator::embedded::Network;

use crate::limits::Trust;
use crate::request::NetworkRequest;
use crate::{Refusal, topologies};

/// How many plans and networks are remembered.
const REMEMBERED: usize = 6;

/// What the proof said.
pub(crate) type Proof = Result<CheckedPlan, Box<CheckFailure>>;

/// See the module documentation.
#[derive(Default)]
pub(crate) struct Networks {
    trust: Trust,
    /// Told of what plans take, and asked whether anybody still waits for them.
    progress: Arc<Progress>,
    proofs: Remembered<(Tables, Proof)>,
    /// With the failures and the program that they run.
    networks: Remembered<Network>,
}

/// The last few of something, each with the keys that it is known by. The newest is the last.
struct Remembered<T>(Vec<(Vec<String>, T)>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Remembered<T> {
    /// Makes what is known by a key the newest; whether there is any.
    fn has(&mut self, key: &str) -> bool {
        let mut keys = self.0.iter().map(|(keys, _)| keys);
        let Some(at) = keys.position(|keys| keys.iter().any(|known| known == key)) else {
            return false;
        };
        let found = self.0.remove(at);
        self.0.push(found);
        true
    }

    fn add(&mut self, key: String, what: T) {
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((vec![key], what));
    }

    /// Lets the newest be known by another key, too.
    fn also(&mut self, key: String) {
        if let Some((keys, _)) = self.0.last_mut()
            && !keys.contains(&key)
        {
            keys.push(key);
        }
    }

    fn newest(&mut self) -> Result<&mut T, Refusal> {
        let last = self.0.last_mut().map(|(_, found)| found);
        last.ok_or_else(|| Refusal::wrong("nothing is remembered"))
    }
}

/// What tells a request's network from others.
fn key(asked: &NetworkRequest) -> String {
    // What serde read, in the words of its types: equal requests have equal words.
    format!("{asked:?}")
}

impl Networks {
    /// With nothing remembered.
    pub(crate) fn new(trust: Trust) -> Self {
        Self {
            trust,
            ..Self::default()
        }
    }

    /// From now on tells this of what plans take.
    pub(crate) fn tell(&mut self, progress: &Arc<Progress>) {
        self.progress = Arc::clone(progress);
    }

    /// Whose requests these are.
    pub(crate) const fn trust(&self) -> Trust {
        self.trust
    }

    /// The tables of a request and their proof.
    ///
    /// # Errors
    /// The topology is wrong, or the scheme refuses it.
    pub(crate) fn proof(&mut self, asked: &NetworkRequest) -> Result<&(Tables, Proof), Refusal> {
        let key = key(asked);
        if !self.proofs.has(&key) {
            let mut tables = tables(asked, self.trust, &self.progress)?;
            if asked.without_tags {
                let plain = tables.without_tags();
                let none = "this plan has no lossless class, so there are no tags to be left out";
                tables = plain.ok_or_else(|| Refusal::wrong(none))?;
            }
            let options = Options {
                progress: Arc::clone(&self.progress),
                ..Options::default()
            };
            let proof = check(tables.clone(), &options);
            self.proofs.add(key, (tables, proof));
        }
        self.proofs.newest().map(|found| &*found)
    }

    /// Lets the newest proof be found by the plan file that it was told as, too.
    pub(crate) fn told_as(&mut self, file: &str) {
        let asked = NetworkRequest {
            topology: None,
            plan: None,
            file: Some(file.to_owned()),
            without_tags: false,
        };
        self.proofs.also(key(&asked));
    }

    /// The plan of a request.
    ///
    /// # Errors
    /// As [`Networks::proof`]; it is not proven.
    pub(crate) fn plan_of(&mut self, asked: &NetworkRequest) -> Result<CheckedPlan, Refusal> {
        match &self.proof(asked)?.1 {
            Ok(plan) => Ok(plan.clone()),
            Err(failure) => Err(Refusal::Wrong(format!(
                "the plan is not proven, so nothing is made of it: {failure}"
            ))),
        }
    }

    /// A network, made if it is not remembered.
    pub(crate) fn network(
        &mut self,
        key: String,
        make: impl FnOnce() -> Result<Network, Refusal>,
    ) -> Result<&mut Network, Refusal> {
        if !self.networks.has(&key) {
            self.networks.add(key, make()?);
        }
        self.networks.newest()
    }
}

/// The tables of a request: those of a plan file, or computed.
fn tables(
    asked: &NetworkRequest,
    trust: Trust,
    progress: &Arc<Progress>,
) -> Result<Tables, Refusal> {
    match (&asked.topology, &asked.file) {
        (Some(given), None) => {
            let (topology, _) = topologies::make(given, trust)?;
            let plan = asked.plan.clone().unwrap_or_default();
            let tables = plan.tables(&topology, progress);
            tables.map_err(Refusal::wrong)
        }
        (None, Some(file)) if asked.plan.is_none() => {
            let tables = Tables::from_json(file).map_err(Refusal::wrong)?;
            topologies::small_enough(&tables.topology, trust)?;
            Ok(tables)
        }
        _ => Err(Refusal::wrong(
            "a network is either a `topology` with what is to be planned for it (`plan`), or the `file` of a plan",
        )),
    }
}
