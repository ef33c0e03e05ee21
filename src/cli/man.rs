//! `switchwright man`: the manual, a page for every command.

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde::Serialize;

use super::fault::{Context, Fault};
use super::help;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright man`.
#[derive(Debug, Args)]
pub struct Manual {
    /// The folder for the pages.
    #[arg(short, long, value_name = "DIR")]
    output: String,
}

/// What `man --json` prints.
#[derive(Serialize)]
struct Written {
    directory: String,
    pages: Vec<String>,
}

impl Manual {
    /// Writes the pages of a command and of those below it.
    ///
    /// # Errors
    /// A folder that cannot be written, or that has other files.
    pub fn run(self, mut command: Command, terminal: &Terminal) -> Result<(), Fault> {
        terminal::claim(&self.output, "man")?;
        command.build();
        let mut pages = Vec::new();
        let root = command.get_name().to_owned();
        write((&root, &command), "", &self.output, &mut pages)?;
        let written = Written {
            directory: self.output,
            pages,
        };
        terminal.summary(&written, || {
            format!("{} pages in {}", written.pages.len(), written.directory)
        })
    }
}

/// Writes the pages of a command of `root` and of those below it.
fn write(
    (root, command): (&str, &Command),
    path: &str,
    folder: &str,
    pages: &mut Vec<String>,
) -> Result<(), Fault> {
    let name = std::iter::once(root)
        .chain(path.split_whitespace())
        .collect::<Vec<_>>()
        .join("-");
    let file = format!("{name}.1");
    let text = page(command, path).input("the manual")?;
    terminal::write(&format!("{folder}/{file}"), &text)?;
    pages.push(file);
    for below in command.get_subcommands() {
        if !below.is_hide_set() && below.get_name() != "help" {
            let path = format!("{path} {}", below.get_name());
            write((root, below), path.trim_start(), folder, pages)?;
        }
    }
    Ok(())
}

/// The page of a command, in roff.
fn page(command: &Command, path: &str) -> std::io::Result<String> {
    let version = format!("switchwright {}", env!("CARGO_PKG_VERSION"));
    let manual = Man::new(command.clone()).source(version);
    let mut text = Vec::new();
    manual.render_title(&mut text)?;
    manual.render_name_section(&mut text)?;
    manual.render_synopsis_section(&mut text)?;
    manual.render_description_section(&mut text)?;
    manual.render_options_section(&mut text)?;
    if command.has_subcommands() {
        manual.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::new();
    for section in help::sections(command, path) {
        rest.control("SH", [section.name.to_uppercase().as_str()]);
        rest.control("nf", []);
        rest.text(
            section
                .lines
                .iter()
                .map(|line| roman(format!("{line}\n")))
                .collect::<Vec<_>>(),
        );
        rest.control("fi", []);
    }
    rest.control("SH", ["EXIT STATUS"]);
    rest.text([roman(help::EXIT_STATUS)]);
    rest.control("SH", ["FILES"]);
    rest.text([roman(help::FILES)]);
    rest.to_writer(&mut text)?;
    manual.render_version_section(&mut text)?;
    String::from_utf8(text).map_err(std::io::Error::other)
}
