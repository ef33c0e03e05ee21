//! Older forms of the format, put in terms of today's before anything else reads them.
//!
//! * Tables name their actions instead of numbering them (before 2.7).
//! * A selector stands in its table (`act_prof_name`, `selector`), not in a list of action
//!   profiles.
//! * P4_14 spreads `simple_switch`'s metadata over `standard_metadata`, `intrinsic_metadata` and
//!   `queueing_metadata`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::{Bmv2Error, Read};
use crate::model::{Json, Profile};

/// What stands beside `standard_metadata` in programs of P4_14, and belongs to it here.
pub(crate) const BESIDE_STANDARD: [&str; 2] = ["intrinsic_metadata", "queueing_metadata"];

/// Members of a profile that no file gives a size.
const PROFILE_SIZE: u64 = 1 << 16;

impl Json {
    /// Brings a file of any age into today's form.
    ///
    /// # Errors
    /// A table that names an unknown action.
    pub(crate) fn renew(&mut self) -> Read<()> {
        self.number_actions()?;
        self.gather_profiles();
        self.join_metadata();
        Ok(())
    }

    fn number_actions(&mut self) -> Read<()> {
        let mut ids: BTreeMap<&str, i64> = BTreeMap::new();
        for action in &self.actions {
            ids.entry(&action.name).or_insert(action.id);
        }
        for table in self.pipelines.iter_mut().flat_map(|p| &mut p.tables) {
            if !table.action_ids.is_empty() {
                continue;
            }
            for name in &table.actions {
                let id = ids.get(name.as_str()).copied();
                table.action_ids.push(id.ok_or_else(|| Bmv2Error::Unknown {
                    place: format!("table `{}`", table.name),
                    kind: "action",
                    name: name.clone(),
                })?);
            }
        }
        Ok(())
    }

    fn gather_profiles(&mut self) {
        for pipeline in &mut self.pipelines {
            let profiles = &mut pipeline.action_profiles;
            let mut known: BTreeSet<String> = profiles.iter().map(|p| p.name.clone()).collect();
            for table in &mut pipeline.tables {
                let (None, Some(name)) = (&table.action_profile, table.act_prof_name.take()) else {
                    continue;
                };
                table.action_profile = Some(name.clone());
                if known.insert(name.clone()) {
                    profiles.push(Profile {
                        name,
                        max_size: PROFILE_SIZE,
                        selector: table.selector.take(),
                    });
                }
            }
        }
    }

    fn join_metadata(&mut self) {
        let is =
            |name: &'static str| move |h: &&mut crate::model::Header| h.metadata && h.name == name;
        let Some(standard) = self.headers.iter_mut().find(is("standard_metadata")) else {
            return;
        };
        let standard = standard.header_type.clone();
        for name in BESIDE_STANDARD {
            let Some(header) = self.headers.iter_mut().find(is(name)) else {
                continue;
            };
            let own = std::mem::replace(&mut header.header_type, standard.clone());
            let fields = self.header_types.iter().find(|t| t.name == own);
            let fields = fields.map(|t| t.fields.clone()).unwrap_or_default();
            let Some(joined) = self.header_types.iter_mut().find(|t| t.name == standard) else {
                continue;
            };
            let name = |f: &[Value]| f.first().and_then(Value::as_str).map(str::to_owned);
            let mut known: BTreeSet<_> = joined.fields.iter().map(|f| name(f)).collect();
            let new = fields.into_iter().filter(|f| known.insert(name(f)));
            joined.fields.extend(new);
        }
    }
}
