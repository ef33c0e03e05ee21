//! The commands in the help of `switchwright` itself, by what they are for.

use clap::Command;

/// What people do, in the order in which they do it, and the commands for it.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Design", &["topo", "plan", "check", "change", "audit"]),
    (
        "Build",
        &["build", "entries", "buffers", "targets", "export", "p4"],
    ),
    (
        "Run",
        &[
            "switch", "cli", "push", "drift", "conform", "agent", "net", "emulate",
        ],
    ),
    ("Observe", &["trace", "simulate", "status", "drill"]),
    ("Learn", &["demo", "lab", "grade"]),
    (
        "Measure",
        &[
            "measure",
            "measure-paths",
            "reproduce",
            "bench",
            "merge",
            "submit",
        ],
    ),
    ("Other commands", &["completions", "man", "help"]),
];

/// The root command with its commands in groups.
pub(super) fn grouped(root: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n\n{{all-args}}{{after-help}}",
        groups(&root, true)
    );
    root.mut_subcommands(|sub| sub.hide(true))
        .override_usage("switchwright [OPTIONS] <COMMAND>")
        .help_template(template)
}

/// What the command is, its commands in groups, and where to begin.
pub(super) fn short(root: &Command) -> String {
    let what = root.get_about().map(ToString::to_string);
    format!(
        "{}\n\nUsage: switchwright [OPTIONS] <COMMAND>\n\n{}\n\n\
         `switchwright demo` shows what it does. `switchwright COMMAND --help` explains a command.\n",
        what.unwrap_or_default(),
        groups(root, false)
    )
}

/// The groups of commands, a line for each command.
fn groups(root: &Command, styled: bool) -> String {
    let plain = clap::builder::styling::Style::new();
    let (heading, literal) = match styled {
        true => (
            *root.get_styles().get_header(),
            *root.get_styles().get_literal(),
        ),
        false => (plain, plain),
    };
    let width = root.get_subcommands().map(|sub| sub.get_name().len()).max();
    let width = width.unwrap_or_default();
    let line = |name: &&str| {
        let about = match *name {
            "help" => "Print the help of a command".to_owned(),
            name => about(root, name),
        };
        format!(
            "  {literal}{name}{literal:#}{:1$}  {about}",
            "",
            width - name.len().min(width)
        )
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: Vec<String> = names.iter().map(line).collect();
        format!("{heading}{title}:{heading:#}\n{}", lines.join("\n"))
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n\n")
}

fn about(root: &Command, name: &str) -> String {
    let about = root.find_subcommand(name).and_then(Command::get_about);
    about.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The width of the narrowest terminal that the lines fit.
    const COLUMNS: usize = 100;

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits() {
        let root = super::super::plain();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len(), "{listed:?}");
        let mut all: BTreeSet<&str> = root
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(Command::get_name)
            .collect();
        all.insert("help");
        assert_eq!(once, all);
        let help = grouped(root.clone()).render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        for (title, _) in GROUPS {
            assert!(help.contains(&format!("\n{title}:\n")), "{help}");
        }
    }
}
