//! What is wrong with a configuration, by file, table and key.

use std::fmt;

use thiserror::Error;

/// The most faults that are told of one file.
const FAULTS_MAX: usize = 20;

/// A fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub file: String,
    /// The table; empty if it is about the whole file.
    pub table: String,
    /// The key of the row, with the field where there is one; empty if it is about the whole table.
    pub key: String,
    /// What is wrong, and how to mend it.
    pub problem: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if !self.table.is_empty() {
            write!(f, ": table {}", self.table)?;
        }
        if !self.key.is_empty() {
            write!(f, ", key `{}`", self.key)?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Why a configuration is not read: at least one fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError(pub Vec<ConfigFault>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.0.iter().take(FAULTS_MAX).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            fault.fmt(f)?;
        }
        match self.0.len().saturating_sub(FAULTS_MAX) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
