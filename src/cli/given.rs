//! Options that stood on the command line. One that would change nothing beside the others is
//! refused, not ignored.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::fault::Fault;

/// The options and arguments that were given, by the names of their fields.
#[derive(Debug)]
pub struct Given {
    names: Vec<String>,
}

impl Given {
    /// Those of the innermost command.
    pub fn of(matches: &ArgMatches) -> Self {
        let mut inner = matches;
        while let Some((_, next)) = inner.subcommand() {
            inner = next;
        }
        let ids = inner.ids().map(clap::Id::as_str);
        let given = ids.filter(|id| inner.value_source(id) == Some(ValueSource::CommandLine));
        Self {
            names: given.map(str::to_owned).collect(),
        }
    }

    /// Whether this one was given.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|given| given == name)
    }

    /// Refuses the first option of which `idle` says why it means nothing here.
    ///
    /// # Errors
    /// That option, with the reason.
    pub fn refuse(&self, idle: impl Fn(&str) -> Option<String>) -> Result<(), Fault> {
        for name in &self.names {
            if let Some(reason) = idle(name) {
                let option = name.replace('_', "-");
                return Err(Fault::input(format!("`--{option}` means nothing {reason}"))
                    .help(format!("leave `--{option}` out")));
            }
        }
        Ok(())
    }

    /// Refuses these options.
    ///
    /// # Errors
    /// The first of them that was given, with the reason.
    pub fn refuse_all(&self, names: &[&str], reason: &str) -> Result<(), Fault> {
        self.refuse(|name| names.contains(&name).then(|| reason.to_owned()))
    }
}
