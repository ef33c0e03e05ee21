//! Networks that were asked for, the last few of them remembered.

use netsim::embedded::Network;
use plan::check::{Options, check};
use plan::{CheckFailure, CheckedPlan, Tables};

use crate::limits::Trust;
use crate::request::NetworkRequest;
use crate::{Refusal, topologies};

/// How many plans and networks are remembered.
const REMEMBERED: usize = 6;

/// What the proof said.
pub(crate) type Proof = Result<CheckedPlan, Box<CheckFailure>>;

/// See the module documentation. The newest is the last.
#[derive(Default)]
pub(crate) struct Networks {
    trust: Trust,
    proofs: Vec<(String, (Tables, Proof))>,
    /// With the failures and the program that they run.
    networks: Vec<(String, Network)>,
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
        if !to_the_end(&mut self.proofs, &key) {
            let mut tables = tables(asked, self.trust)?;
            if asked.without_tags {
                let plain = schemes::without_tags(&tables);
                let none = "this plan has no lossless class, so there are no tags to be left out";
                tables = plain.ok_or_else(|| Refusal::wrong(none))?;
            }
            let proof = check(tables.clone(), &Options::default());
            remember(&mut self.proofs, key, (tables, proof));
        }
        newest(&self.proofs)
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
        if !to_the_end(&mut self.networks, &key) {
            remember(&mut self.networks, key, make()?);
        }
        let last = self.networks.last_mut();
        last.map(|(_, network)| network)
            .ok_or_else(|| Refusal::wrong("there is no network"))
    }
}

/// The tables of a request: those of a plan file, or computed.
fn tables(asked: &NetworkRequest, trust: Trust) -> Result<Tables, Refusal> {
    match (&asked.topology, &asked.file) {
        (Some(given), None) => {
            let (topology, _) = topologies::make(given, trust)?;
            let plan = asked.plan.clone().unwrap_or_default();
            plan.tables(&topology).map_err(Refusal::wrong)
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

/// Moves what is remembered under a key to the end; whether it is remembered.
fn to_the_end<T>(all: &mut Vec<(String, T)>, key: &str) -> bool {
    let Some(at) = all.iter().position(|(known, _)| known == key) else {
        return false;
    };
    let found = all.remove(at);
    all.push(found);
    true
}

fn remember<T>(all: &mut Vec<(String, T)>, key: String, what: T) {
    if all.len() == REMEMBERED {
        all.remove(0);
    }
    all.push((key, what));
}

fn newest<T>(all: &[(String, T)]) -> Result<&T, Refusal> {
    let last = all.last().map(|(_, found)| found);
    last.ok_or_else(|| Refusal::wrong("nothing is remembered"))
}
