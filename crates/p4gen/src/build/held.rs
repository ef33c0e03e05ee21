//! What the switches of a build directory hold, read back from the files by which they are filled.

use p4runtime::p4::config::v1::P4Info;
use p4runtime::{NameError, P4InfoIndex, TextError};
use thiserror::Error;

use super::manifest::{BuildDirectory, ManifestError};
use crate::capabilities::Api;
use crate::entries::{EntriesError, SwitchEntries, bfrt, write_request};

/// Why entries of a build directory cannot be read.
#[derive(Debug, Error)]
pub enum HeldError {
    /// A file is missing, was changed, or there is no such switch.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The program's P4Info is not in its format.
    #[error(transparent)]
    Text(#[from] TextError),
    /// P4Info contradicts itself.
    #[error(transparent)]
    Names(#[from] NameError),
    /// Entries do not fit the program.
    #[error(transparent)]
    Entries(#[from] EntriesError),
}

impl BuildDirectory {
    /// The entries of these switches, or of all, in the order of the manifest; every file is held against its digest.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn entries(&self, switches: &[String]) -> Result<Vec<SwitchEntries>, HeldError> {
        for name in switches {
            self.switch(name)?;
        }
        let info: P4Info = p4runtime::from_text(&self.read_text(&self.manifest().program.p4info)?)?;
        let info = P4InfoIndex::new(info)?;
        let api = self.target()?.api;
        let wanted = |name: &String| switches.is_empty() || switches.contains(name);
        let of = self.manifest().switches.iter();
        of.filter(|files| wanted(&files.name))
            .map(|files| {
                Ok(match api {
                    Api::P4Runtime => {
                        let text = self.read_text(&files.entries_txtpb())?;
                        write_request::read_text(&files.name, &text, &info)?
                    }
                    Api::BfRuntime => {
                        let text = self.read_text(&files.bfrt_json())?;
                        bfrt::read(&files.name, &text, &info)?.0
                    }
                })
            })
            .collect()
    }
}
