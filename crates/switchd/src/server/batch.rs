//! Updates made in the control plane's copy, as one batch.

use std::ops::ControlFlow;

use p4runtime::p4::v1;
use prost::DecodeError;
use prost::bytes::Bytes;

use super::roles::Permissions;
use crate::engine::EngineHandle;
use crate::translate::action::WriteContext;
use crate::translate::fast::Short;
use crate::translate::pipeline_state::{Check, Staging};
use crate::translate::refusal::Refusal;
use crate::translate::schema::Schema;
use crate::translate::subject;

/// What making a batch needs.
pub(super) struct Batch<'a> {
    /// The data plane, for its ports.
    pub engine: &'a EngineHandle,
    /// What the client may do.
    pub permissions: Option<&'a Permissions>,
    /// The state is made again: what only packets change may be set.
    pub restoring: bool,
}

impl Batch<'_> {
    /// Makes encoded updates in the control plane's copy; `ahead` is what was read of them already.
    /// Those refused come back with their places; if the batch is to be done as a whole and one is
    /// refused, none is done and all others are aborted.
    ///
    /// # Errors
    /// [`DecodeError`] if an update is none; some of the others were made then.
    pub(super) fn stage(
        &self,
        staging: &mut Staging<'_>,
        schema: &Schema,
        updates: &[Bytes],
        ahead: &[Option<Short<'_>>],
        whole: bool,
    ) -> Result<Vec<(usize, Refusal)>, DecodeError> {
        let ports = || {
            let ports = self.engine.ports().unwrap_or_default();
            ports.into_iter().map(|(port, _)| port).collect()
        };
        let around = WriteContext {
            schema,
            cpu_port: self.engine.cpu_port(),
            ports: &ports,
            restoring: self.restoring,
        };
        let check: Check<'_> = &|update| self.check_role(schema, update);
        let check = self.permissions.map(|_| check);
        let start = staging.mark();
        let mut refusals = Vec::new();
        staging.updates(&around, updates, ahead, check, |staging, index, refusal| {
            if !whole {
                refusals.push((index, refusal));
                return ControlFlow::Continue(());
            }
            staging.roll_back(start);
            let aborted = || Refusal::aborted(format!("update {index} of the atomic batch failed"));
            let others = (0..updates.len()).filter(|i| *i != index);
            refusals.extend(others.map(|i| (i, aborted())));
            refusals.push((index, refusal));
            refusals.sort_by_key(|(i, _)| *i);
            ControlFlow::Break(())
        })?;
        Ok(refusals)
    }

    fn check_role(&self, schema: &Schema, update: &v1::Update) -> Result<(), Refusal> {
        if let Some(permissions) = self.permissions
            && let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref())
        {
            let names = object_names(schema, subject(entity));
            if !permissions.may_write(&names) {
                let what = names.join("/");
                return Err(Refusal::denied(format!("the role may not write {what}")));
            }
        }
        Ok(())
    }
}

/// The names by which role configs may call an object.
#[must_use]
pub(super) fn object_names(schema: &Schema, id: Option<u32>) -> Vec<String> {
    let Some(id) = id else {
        return vec!["packet_replication_engine".to_owned()];
    };
    let arrays = [&schema.counters, &schema.meters, &schema.registers];
    let name = None
        .or_else(|| schema.tables.get(&id).map(|t| &t.name))
        .or_else(|| schema.profiles.get(&id).map(|p| &p.name))
        .or_else(|| schema.value_sets.get(&id).map(|v| &v.name))
        .or_else(|| schema.digests.get(&id).map(|d| &d.name))
        .or_else(|| arrays.iter().find_map(|a| a.get(&id)).map(|a| &a.name));
    name.cloned().into_iter().chain([id.to_string()]).collect()
}
