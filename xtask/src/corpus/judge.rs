//! One program: what one command says of it, held against what another says.

use std::fs;
use std::path::Path;

use super::command::{Said, Switchwright, scratch_file};
use super::list::{Class, Known, Profile, Repository};
use super::p4info;
use super::packets::packets;

/// What became of a program.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Why `check` refuses it.
    pub(super) refused: Option<String>,
    /// Whose fault that is, where the list says so.
    pub(super) class: Option<Class>,
    /// Packets went through it, alike on both executors.
    pub(super) ran: bool,
    /// The JSON for BMv2 was written, and does the same.
    pub(super) written: bool,
    /// Its P4Info was compared with a published one.
    pub(super) published: bool,
    /// What the list explains: positions in `refused`, `unrun` and `known`.
    pub(super) explained: Vec<String>,
    /// What it does not explain.
    pub(super) deviations: Vec<String>,
}

pub(super) struct Judge<'a> {
    pub(super) command: &'a Switchwright,
    pub(super) repository: &'a Repository,
    pub(super) folder: &'a Path,
}

impl Judge<'_> {
    /// Judges a program that is read with some options.
    ///
    /// # Errors
    /// The command cannot be started, or no file can be written.
    pub(super) fn program(&self, file: &str, profile: &Profile) -> Result<Outcome, String> {
        let path = self.folder.join(file).to_string_lossy().into_owned();
        let mut options = profile.arguments(self.folder, file);
        let mut outcome = Outcome::default();
        let mut all = vec!["check".to_owned(), path.clone()];
        all.append(&mut options.clone());
        let check = self.command.p4(&all)?;
        if let Some(broken) = check.broken() {
            self.differs(file, &mut outcome, format!("check: {broken}"));
            return Ok(outcome);
        }
        if check.status != Some(0) {
            self.refusal(file, check.why(), &mut outcome);
            return Ok(outcome);
        }
        if self.repository.is_wrong(file) {
            self.differs(
                file,
                &mut outcome,
                "accepted, and wrong on purpose".to_owned(),
            );
        }
        options.insert(0, path);
        self.info(file, profile, &options, &mut outcome)?;
        if self.loads(file, &options, &mut outcome)? {
            self.packets(file, &options, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Whose fault a refusal is.
    fn refusal(&self, file: &str, why: String, outcome: &mut Outcome) {
        let list = &self.repository.refused;
        match list.iter().position(|r| r.known.explains(file, &why)) {
            Some(i) => {
                outcome.class = Some(list[i].class);
                outcome.explained.push(format!("refused {i}"));
            }
            None if self.repository.is_wrong(file) => outcome.class = Some(Class::Author),
            None => outcome.deviations.push(format!("refused: {why}")),
        }
        outcome.refused = Some(why);
    }

    fn differs(&self, file: &str, outcome: &mut Outcome, what: String) {
        explain(&self.repository.known, file, "known", &what, outcome);
    }

    fn say(&self, command: &str, options: &[String], more: &[&str]) -> Result<Said, String> {
        let options = options.iter().map(String::as_str);
        let all: Vec<&str> = std::iter::once(command)
            .chain(options)
            .chain(more.iter().copied())
            .collect();
        self.command.p4(&all)
    }

    /// What is accepted has a P4Info: the published one, where one is known.
    fn info(
        &self,
        file: &str,
        profile: &Profile,
        options: &[String],
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let info = self.say("info", options, &[])?;
        if info.status != Some(0) {
            let why = info.broken().unwrap_or_else(|| info.why());
            self.differs(file, outcome, format!("info: {why}"));
            return Ok(());
        }
        for published in self.repository.published(file, profile) {
            let Ok(text) = fs::read_to_string(self.folder.join(&published)) else {
                continue;
            };
            outcome.published = true;
            let found = p4info::differences(&info.out, &text)
                .unwrap_or_else(|why| vec![format!("P4Info: {why}")]);
            for what in found {
                self.differs(file, outcome, what);
            }
        }
        Ok(())
    }

    /// What is accepted loads, for all commands alike.
    fn loads(&self, file: &str, options: &[String], outcome: &mut Outcome) -> Result<bool, String> {
        let ir = self.say("ir", options, &[])?;
        let tables = self.say("explain", options, &["--pass", "tables"])?;
        for said in [&ir, &tables] {
            if let Some(broken) = said.broken() {
                self.differs(file, outcome, format!("ir or explain: {broken}"));
                return Ok(false);
            }
        }
        let runs = tables.status == Some(0);
        if !runs || ir.status != Some(0) {
            let said = if runs { &ir } else { &tables };
            explain(&self.repository.unrun, file, "unrun", &said.why(), outcome);
        }
        Ok(runs)
    }

    /// Packets fare alike on both executors, and in what is written as JSON.
    fn packets(&self, file: &str, options: &[String], outcome: &mut Outcome) -> Result<(), String> {
        let packets = packets();
        let mut more: Vec<&str> = packets.iter().map(String::as_str).collect();
        more.extend(["--executor", "interp"]);
        let interpreted = self.say("run", options, &more)?;
        more.pop();
        more.push("compile");
        let compiled = self.say("run", options, &more)?;
        if interpreted.status != Some(0) {
            let why = interpreted.broken().unwrap_or_else(|| interpreted.why());
            explain(
                &self.repository.unrun,
                file,
                "unrun",
                &format!("run: {why}"),
                outcome,
            );
            return Ok(());
        }
        outcome.ran = true;
        if fates(&interpreted) != fates(&compiled) {
            self.differs(
                file,
                outcome,
                "interpreter and machine code differ".to_owned(),
            );
        }
        let json = scratch_file("program.json");
        let path = json.to_string_lossy().into_owned();
        let written = self.say("compile", options, &["-o", &path])?;
        match (written.broken(), written.status) {
            (Some(broken), _) => self.differs(file, outcome, format!("compile: {broken}")),
            // What the format cannot say is refused.
            (None, Some(0)) => {
                let said = self.say("run", &[path], &more)?;
                outcome.written = true;
                if fates(&said) != fates(&interpreted) {
                    self.differs(file, outcome, "source and written JSON differ".to_owned());
                }
                fs::remove_file(&json).map_err(|e| format!("{}: {e}", json.display()))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Notes what the list explains, or a deviation.
fn explain(list: &[Known], file: &str, kind: &str, message: &str, outcome: &mut Outcome) {
    match list.iter().position(|known| known.explains(file, message)) {
        Some(i) => outcome.explained.push(format!("{kind} {i}")),
        None => outcome.deviations.push(format!("{kind}: {message}")),
    }
}

/// What became of the packets; not how the program is named.
fn fates(said: &Said) -> (Option<i32>, Vec<&str>) {
    (said.status, said.out.lines().collect())
}
