//! What `--help` and the pages of `man` say beyond the arguments: examples, and what the keys of
//! cited papers stand for.

mod examples;
mod groups;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory, ValueHint};

use super::Cli;

/// What the keys stand for that code, documents and help cite.
const REFERENCES: &str = include_str!("../../docs/references.md");

/// Exit statuses of all commands.
pub(super) const EXIT_STATUS: &str = "0 done or proven; 1 a check failed; 2 wrong input or arguments; 3 a target refused or \
                                      cannot; 4 `check` found nothing wrong in a sample.";

/// What all commands do with files.
pub(super) const FILES: &str =
    "Files named on the command line may be `-` (standard input or output).";

/// The command line, with the kinds of files that arguments take.
pub(super) fn plain() -> Command {
    hint(Cli::command())
}

/// What the program says without arguments: what it is, its commands, and where to begin.
pub(super) fn first() -> String {
    groups::short(&Cli::command())
}

/// The command line with all that its help says.
pub(super) fn dressed(command: Command) -> Command {
    groups::grouped(helped(command, ""))
}

/// A command and those below it, with examples and sources after their help.
#[must_use]
pub fn helped(command: Command, path: &str) -> Command {
    let below = if path.is_empty() {
        String::new()
    } else {
        format!("{path} ")
    };
    let command = command.mut_subcommands(|sub| {
        let path = format!("{below}{}", sub.get_name());
        helped(sub, &path)
    });
    let sections = sections(&command, path);
    let styles = command.get_styles().clone();
    let heading = styles.get_header();
    let section = |section: &Section| {
        let lines: Vec<String> = section.lines.iter().map(|l| format!("  {l}")).collect();
        format!(
            "{heading}{}:{heading:#}\n{}",
            section.name,
            lines.join("\n")
        )
    };
    let mut texts: Vec<String> = sections.iter().map(section).collect();
    if path.is_empty() {
        texts.push(format!(
            "{heading}Exit status:{heading:#}\n  {}\n\n{heading}Files:{heading:#}\n  {FILES}",
            EXIT_STATUS.trim_end_matches('.').replace("; ", "\n  ")
        ));
    }
    if texts.is_empty() {
        return command;
    }
    command.after_help(StyledStr::from(texts.join("\n\n")))
}

/// A part of the help below the arguments.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub name: &'static str,
    /// Its lines.
    pub lines: Vec<String>,
}

/// The parts that a command has, by its path (`topo clos`).
#[must_use]
pub fn sections(command: &Command, path: &str) -> Vec<Section> {
    let examples: Vec<String> = examples::of(path).map(str::to_owned).collect();
    let sources = cited(command)
        .map(|(key, what)| format!("{key}: {what}"))
        .collect();
    let both = [("Examples", examples), ("Sources", sources)];
    let sections = both.map(|(name, lines)| Section { name, lines });
    sections
        .into_iter()
        .filter(|section| !section.lines.is_empty())
        .collect()
}

/// The keys of references that a command's help cites, with what they stand for.
fn cited(command: &Command) -> impl Iterator<Item = (&'static str, String)> {
    let mut words = String::new();
    let mut say = |text: Option<&StyledStr>| {
        if let Some(text) = text {
            words.push_str(&text.to_string());
            words.push('\n');
        }
    };
    say(command.get_about());
    say(command.get_long_about());
    for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
        say(argument.get_help());
        say(argument.get_long_help());
        for value in argument.get_possible_values() {
            say(value.get_help());
        }
    }
    for below in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        say(below.get_about());
    }
    references().filter(move |(key, _)| words.contains(key))
}

/// The rows of the table of references, without marks.
fn references() -> impl Iterator<Item = (&'static str, String)> {
    let row = |line: &'static str| {
        let (key, what) = line.strip_prefix("| ")?.split_once(" | ")?;
        let what = what
            .trim_end_matches([' ', '|'])
            .replace(['*', '<', '>'], "");
        (key != "key").then_some((key, what))
    };
    REFERENCES.lines().filter_map(row)
}

/// Says of all arguments which kind of file they take.
#[must_use]
pub fn hint(command: Command) -> Command {
    command.mut_args(hinted).mut_subcommands(hint)
}

/// Says which kind of file an argument takes, as its name in the help has it.
fn hinted(argument: Arg) -> Arg {
    let name = argument
        .get_value_names()
        .and_then(<[_]>::first)
        .map(|name| name.as_str());
    match name {
        Some("FILE" | "PLAN" | "TOPOLOGY" | "TOPO" | "PROGRAM" | "CASES" | "JOURNAL") => {
            argument.value_hint(ValueHint::FilePath)
        }
        Some("DIR" | "DIRECTORY") => argument.value_hint(ValueHint::DirPath),
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line of the help holds, beside its margin, on a terminal of 100 columns.
    const WIDE: usize = 98;

    /// Calls `look` with every command that a user may call, and its path.
    fn walk(command: &Command, path: &str, look: &mut impl FnMut(&Command, &str)) {
        for sub in command.get_subcommands() {
            if sub.is_hide_set() || sub.get_name() == "help" {
                continue;
            }
            let path = format!("{path} {}", sub.get_name());
            look(sub, path.trim_start());
            walk(sub, &path, look);
        }
    }

    #[test]
    fn every_command_has_examples_that_are_its_own_and_parse() {
        let mut command = helped(plain(), "");
        command.build();
        let mut seen = 0;
        walk(&command, "", &mut |sub, path| {
            let lines: Vec<&str> = examples::of(path).collect();
            if sub.has_subcommands() {
                return;
            }
            assert!(!lines.is_empty(), "`{path}` has no example");
            for line in lines {
                assert!(line.len() <= WIDE, "{line}: it would be broken");
                let begin = format!("switchwright {path}");
                let line = line.split(['#', '|', '>']).map(str::trim);
                let own = line.clone().find(|part| part.starts_with(&begin));
                let own = own.unwrap_or_else(|| panic!("`{path}` is not in its example"));
                let words = own.split_whitespace();
                if let Err(error) = super::dressed(plain()).try_get_matches_from(words) {
                    panic!("{own}: {error}");
                }
                seen += 1;
            }
            let help = sub.clone().render_help().to_string();
            assert!(help.contains("Examples:"), "{path}: {help}");
        });
        assert!(seen > 40, "{seen}");
        let unknown = examples::paths().find(|path| {
            let mut found = Some(&command);
            for name in path.split(' ') {
                found = found.and_then(|command| command.find_subcommand(name));
            }
            found.is_none()
        });
        assert_eq!(unknown, None, "examples of a command that is none");
    }

    #[test]
    fn help_says_what_its_citations_stand_for() {
        let mut command = dressed(plain());
        command.build();
        let plan = command.find_subcommand("plan").unwrap().clone();
        let help = plan.clone().render_long_help().to_string();
        assert!(help.contains("Sources:"), "{help}");
        for (key, title) in [
            ("Tagger17", "Practical PFC Deadlock Prevention"),
            ("Stephens15", "Handling Congestion and Routing Failures"),
        ] {
            assert!(
                help.contains(&format!("{key}: ")) && help.contains(title),
                "{key}"
            );
        }
        let status = command.find_subcommand("status").unwrap().clone();
        assert!(
            !status
                .clone()
                .render_long_help()
                .to_string()
                .contains("Sources:")
        );
    }

    #[test]
    fn options_of_one_group_stand_together() {
        let mut command = dressed(plain());
        command.build();
        walk(&command, "", &mut |sub, path| {
            let help = sub.clone().render_help().to_string();
            let ours = help.find("Options of every command:");
            let quiet = help.find("--quiet").unwrap_or_default();
            assert!(ours.is_some_and(|at| at < quiet), "{path}: {help}");
            for heading in help.lines().filter(|line| line.ends_with(':')) {
                assert_eq!(help.matches(heading).count(), 1, "{path}: {heading}");
            }
        });
    }
}
