//! `switchwright completions SHELL`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, ValueHint};
use clap_complete::{Shell, generate};
use spec::{BUNDLED, Choice as _, RouteName};

use super::fault::Fault;
use super::terminal;

/// Arguments of `switchwright completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    /// Prints the script for a command.
    ///
    /// # Errors
    /// None today.
    pub fn run(self, mut command: Command) -> Result<(), Fault> {
        let scenarios: Vec<&str> = BUNDLED.iter().map(|(name, _)| *name).collect();
        let routes = RouteName::names();
        for (sub, argument, names) in [
            ("simulate", "scenario", scenarios.as_slice()),
            ("emulate", "scenario", scenarios.as_slice()),
            ("plan", "routes", routes.as_slice()),
        ] {
            if command.find_subcommand(sub).is_some() {
                command = known(command, sub, argument, names);
            }
        }
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        generate(self.shell, &mut command, name, &mut script);
        let mut script = String::from_utf8_lossy(&script).into_owned();
        for names in [scenarios.as_slice(), routes.as_slice()] {
            script = or_a_file(self.shell, &script, names);
        }
        terminal::emit(&script);
        Ok(())
    }
}

/// The command line, where an argument of a command has these names.
fn known(command: Command, sub: &str, argument: &str, names: &[&'static str]) -> Command {
    let parser = PossibleValuesParser::new(names.iter().copied());
    command.mut_subcommand(sub, |sub| {
        sub.mut_arg(argument, |argument| {
            argument.value_parser(parser).value_hint(ValueHint::Unknown)
        })
    })
}

/// The script, where one of these names may be a file as well: clap_complete offers either names or
/// files.
fn or_a_file(shell: Shell, script: &str, names: &[&str]) -> String {
    let all = names.join(" ");
    let first = names.first().copied().unwrap_or_default();
    match shell {
        Shell::Bash => script.replace(
            &format!("compgen -W \"{all}\""),
            &format!("compgen -f -W \"{all}\""),
        ),
        Shell::Zsh => script.replace(
            &format!(":({all})"),
            &format!(":{{_alternative \"names:name:({all})\" \"files:file:_files\"}}"),
        ),
        Shell::Fish => script.replace(
            &format!("-r -f -a \"{first}\\t"),
            &format!("-r -F -a \"{first}\\t"),
        ),
        _ => script.to_owned(),
    }
}
