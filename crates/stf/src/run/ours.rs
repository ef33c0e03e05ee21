//! Statements that p4c's format does not have: value sets, digests, queues.

use entries::check;
use p4exec::Update;
use p4exec::tables::{FieldMatch, KeyField};
use p4exec::value::Bits;

use super::Run;
use crate::case::{Match, Number, Statement};
use crate::names;
use crate::translate::field_match;

impl Run<'_> {
    pub(super) fn ours(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::ValueSet { set, members } => self.value_set(set, members),
            Statement::CheckDigest { digest, values } => self.check_digest(digest, values),
            Statement::NoDigest => {
                self.fetch_digests();
                match self.digests.len() {
                    0 => Ok(()),
                    n => Err(format!("{n} digests wait")),
                }
            }
            Statement::CheckQueue { port, queue } => match self.queues.get(port) {
                Some(found) if found == queue => Ok(()),
                Some(found) => Err(format!(
                    "the last packet out of port {port} was in queue {found}, not {queue}"
                )),
                None => Err(format!("no packet came out of port {port}")),
            },
            _ => Ok(()),
        }
    }

    fn value_set(&mut self, name: &str, members: &[Vec<Match>]) -> Result<(), String> {
        let set = names::value_set(self.state(), name)?;
        let state = self.state().control.value_set(set);
        let fields = state.map_err(|e| e.to_string())?.layout().fields();
        let member = |given: &Vec<Match>| -> Result<Vec<FieldMatch>, String> {
            if given.len() != fields.len() {
                let (wanted, found) = (fields.len(), given.len());
                return Err(format!(
                    "members of `{name}` have {wanted} fields, not {found}"
                ));
            }
            let pairs = fields.iter().zip(given);
            pairs
                .map(|(field, given)| set_member(field, given))
                .collect()
        };
        let members = members.iter().map(member).collect::<Result<_, _>>()?;
        self.apply(Update::SetValueSet { set, members })
    }

    fn fetch_digests(&mut self) {
        let new = self.executor.state_mut().data.digests.take();
        self.digests.extend(new);
    }

    fn check_digest(&mut self, name: &str, values: &[Number]) -> Result<(), String> {
        self.fetch_digests();
        let Some(digest) = self.digests.pop_front() else {
            return Err("no digest waits".into());
        };
        let show = |values: &[Bits]| -> String {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            values.join(" ")
        };
        if !digest.name.ends_with(name) {
            return Err(format!("the digest is of `{}`, not `{name}`", digest.name));
        }
        let wanted: Vec<Bits> = digest
            .fields
            .iter()
            .zip(values)
            .map(|(field, number)| Bits::from_biguint(field.width(), &number.value))
            .collect();
        if values.len() == digest.fields.len() && wanted == digest.fields {
            return Ok(());
        }
        let (found, wanted) = (show(&digest.fields), show(&wanted));
        Err(format!("digest `{name}` says {found}, not {wanted}"))
    }
}

/// What a member of a value set says of a field.
fn set_member(field: &KeyField, given: &Match) -> Result<FieldMatch, String> {
    let KeyField { name, width, kind } = field;
    let given = field_match(field, given).map_err(|e| e.to_string())?;
    let made = match given {
        Some(given) => check::field_match(name, *width, Some(*kind), &given),
        None => check::left_out(name, *width, Some(*kind)),
    };
    made.map_err(|e| e.to_string())
}
