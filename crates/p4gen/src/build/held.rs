//! What the switches of a build directory hold, read back from the files by which they are filled.

use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::{NameError, P4InfoIndex, TextError};
use thiserror::Error;

use super::manifest::{BuildDirectory, ManifestError};
use crate::capabilities::Api;
use crate::entries::{EntriesError, SwitchEntries, bfrt, write_request};
use crate::targets::SwitchFiles;

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
    /// The entries of these switches, or of all, in the order of the manifest; every file is held
    /// against its digest.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn entries(&self, switches: &[String]) -> Result<Vec<SwitchEntries>, HeldError> {
        for name in switches {
            self.switch(name)?;
        }
        let info: P4Info = p4runtime::from_text(&self.read_text(&self.manifest().program.p4info)?)?;
        let info = P4InfoIndex::new(info)?;
        let wanted = |name: &String| switches.is_empty() || switches.contains(name);
        let of = self.manifest().switches.iter();
        of.filter(|files| wanted(&files.name))
            .map(|files| self.switch_entries(files, &info))
            .collect()
    }

    /// The entries of one switch, by the P4Info of the program.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn switch_entries(
        &self,
        files: &SwitchFiles,
        info: &P4InfoIndex,
    ) -> Result<SwitchEntries, HeldError> {
        Ok(match self.target()?.api {
            Api::P4Runtime => {
                let (_, request) = self.write_request(files)?;
                write_request::read(&files.name, &request, info)?
            }
            Api::BfRuntime => {
                let text = self.read_text(&files.bfrt_json())?;
                bfrt::read(&files.name, &text, info)?.0
            }
        })
    }

    /// The file from which the entries of a switch are read: of two for P4Runtime the binary one,
    /// for it is read far faster.
    ///
    /// # Errors
    /// [`ManifestError::Malformed`] for a target that there is not.
    pub fn entries_file(&self, files: &SwitchFiles) -> Result<String, ManifestError> {
        if self.target()?.api == Api::BfRuntime {
            return Ok(files.bfrt_json());
        }
        let binary = files.entries_binpb();
        let there = self.manifest().files.contains_key(&binary);
        Ok(if there { binary } else { files.entries_txtpb() })
    }

    /// What fills a switch over P4Runtime, and the file that it comes from.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn write_request(
        &self,
        files: &SwitchFiles,
    ) -> Result<(String, v1::WriteRequest), HeldError> {
        let file = self.entries_file(files)?;
        let request = if file == files.entries_binpb() {
            write_request::message_of_binary(&files.name, &self.read(&file)?)?
        } else {
            p4runtime::from_text(&self.read_text(&file)?)?
        };
        Ok((file, request))
    }
}
