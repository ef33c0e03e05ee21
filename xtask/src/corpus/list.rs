//! `xtask/corpus.json`: repositories, how their programs are read, and what is known of them.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A public repository.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// `OWNER/NAME`.
    pub(super) name: String,
    /// The commit that the list is of.
    pub(super) commit: String,
    /// Beginnings of paths that are judged; all, if there is none.
    under: Vec<String>,
    /// Beginnings of paths that are left out.
    without: Vec<String>,
    /// Beginnings of paths of programs that have no `main` in their own text.
    mains: Vec<String>,
    /// Beginnings of paths of texts that are formatted and not judged otherwise.
    texts: Vec<String>,
    /// Beginnings of paths of programs that are wrong on purpose: they must be refused.
    wrong: Vec<String>,
    /// How programs are read: the first whose beginning fits, and all others with the same
    /// beginning.
    read: Vec<Profile>,
    /// Refusals by `p4 check` that are known.
    pub(super) refused: Vec<Refusal>,
    /// Programs that are accepted and cannot be run.
    pub(super) unrun: Vec<Known>,
    /// Other deviations that are known, as faults of ours or of others.
    pub(super) known: Vec<Known>,
    /// Programs with the P4Info that lies beside them; `{name}` stands for one file name.
    published: Vec<(String, String)>,
}

/// Whose fault a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The program breaks a rule of the language, or is not finished.
    Author,
    /// A file or a macro is not in the repository.
    Missing,
    /// Another architecture, or another language.
    Other,
    /// The program is right, and the front end does not take it.
    Ours,
}

/// A refusal that is known.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) class: Class,
    pub(super) known: Known,
}

/// Options that programs are read with.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    programs: String,
    /// Folders; `{here}` is the program's own.
    include: Vec<String>,
    define: Vec<String>,
    /// The P4Info that was made of it with these options.
    published: Option<String>,
}

/// What is known: a part of what is said, and why it is so.
#[derive(Debug)]
pub(super) struct Known {
    /// A part of the message.
    pub(super) says: String,
    /// Beginnings of the paths that it holds for; none for all.
    programs: Vec<String>,
    /// Why.
    pub(super) why: String,
}

impl Known {
    pub(super) fn explains(&self, file: &str, message: &str) -> bool {
        let programs = &self.programs;
        (programs.is_empty() || programs.iter().any(|p| file.starts_with(p.as_str())))
            && message.contains(&self.says)
    }
}

impl Profile {
    /// The options of the command, for a program of a checkout.
    pub(super) fn arguments(&self, folder: &Path, file: &str) -> Vec<String> {
        let here = Path::new(file).parent().map(Path::to_string_lossy);
        let here = here.unwrap_or_default();
        let include = self.include.iter().flat_map(|i| {
            let path = folder.join(i.replace("{here}", &here));
            ["-I".to_owned(), path.to_string_lossy().into_owned()]
        });
        let define = self
            .define
            .iter()
            .flat_map(|d| ["-D".to_owned(), d.clone()]);
        include.chain(define).collect()
    }

    /// Behind the name of the program, where it is read in several ways.
    pub(super) fn suffix(&self) -> String {
        self.define.iter().map(|d| format!(" -D {d}")).collect()
    }
}

impl Repository {
    pub(super) fn takes(&self, file: &str) -> bool {
        let begins = |list: &[String]| list.iter().any(|start| file.starts_with(start.as_str()));
        (self.under.is_empty() || begins(&self.under)) && !begins(&self.without)
    }

    /// Whether a file is a program though no `main` stands in its own text.
    pub(super) fn is_main(&self, file: &str) -> bool {
        self.mains
            .iter()
            .any(|main| file.starts_with(main.as_str()))
    }

    /// Whether a file is a text that is only formatted.
    pub(super) fn is_text(&self, file: &str) -> bool {
        self.texts
            .iter()
            .any(|start| file.starts_with(start.as_str()))
    }

    /// Whether a program is wrong on purpose.
    pub(super) fn is_wrong(&self, file: &str) -> bool {
        self.wrong
            .iter()
            .any(|start| file.starts_with(start.as_str()))
    }

    /// The P4Infos that were made of a program, relative to the checkout.
    pub(super) fn published(&self, file: &str, profile: &Profile) -> Vec<String> {
        let named = self.published.iter().filter_map(|(program, published)| {
            let Some((start, end)) = program.split_once("{name}") else {
                return (program == file).then(|| published.clone());
            };
            let name = file.strip_prefix(start)?.strip_suffix(end)?;
            (!name.contains('/')).then(|| published.replace("{name}", name))
        });
        profile.published.iter().cloned().chain(named).collect()
    }

    /// How a program is read.
    pub(super) fn profiles(&self, file: &str) -> Vec<Profile> {
        let fits = |p: &&Profile| file.starts_with(&p.programs);
        let Some(first) = self.read.iter().find(fits) else {
            return vec![Profile::default()];
        };
        let same = self.read.iter().filter(|p| p.programs == first.programs);
        same.cloned().collect()
    }
}

/// Reads the list.
///
/// # Errors
/// It is not there, or not of this form; names the place.
pub(super) fn read(path: &Path) -> Result<Vec<Repository>, String> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let all = value.get("repositories").and_then(Value::as_array);
    let all = all.ok_or_else(|| wrong("`repositories` is no list".to_owned()))?;
    all.iter()
        .map(|one| repository(one).map_err(wrong))
        .collect()
}

fn repository(value: &Value) -> Result<Repository, String> {
    let mut made = Repository {
        name: text(value, "name")?,
        ..Repository::default()
    };
    let fields = value.as_object().ok_or("a repository is no object")?;
    for (field, value) in fields {
        let here = |why: String| format!("{}: `{field}`: {why}", made.name);
        match field.as_str() {
            "name" => {}
            "commit" => made.commit = optional(&Value::Object(fields.clone()), "commit"),
            "under" => made.under = texts(value).map_err(here)?,
            "without" => made.without = texts(value).map_err(here)?,
            "main" => made.mains = texts(value).map_err(here)?,
            "text" => made.texts = texts(value).map_err(here)?,
            "wrong" => made.wrong = texts(value).map_err(here)?,
            "read" => made.read = each(value, profile).map_err(here)?,
            "refused" => made.refused = each(value, refusal).map_err(here)?,
            "unrun" => made.unrun = each(value, known).map_err(here)?,
            "known" => made.known = each(value, known).map_err(here)?,
            "p4info" => {
                let pair = |v: &Value| Ok((text(v, "program")?, text(v, "file")?));
                made.published = each(value, pair).map_err(here)?;
            }
            _ => return Err(here("there is no such field".to_owned())),
        }
    }
    Ok(made)
}

fn profile(value: &Value) -> Result<Profile, String> {
    let list = |field| value.get(field).map_or(Ok(Vec::new()), texts);
    Ok(Profile {
        programs: optional(value, "programs"),
        include: list("include")?,
        define: list("define")?,
        published: value
            .get("p4info")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

fn refusal(value: &Value) -> Result<Refusal, String> {
    let class = match text(value, "class")?.as_str() {
        "author" => Class::Author,
        "missing" => Class::Missing,
        "other" => Class::Other,
        "ours" => Class::Ours,
        other => return Err(format!("there is no class `{other}`")),
    };
    Ok(Refusal {
        class,
        known: known(value)?,
    })
}

fn known(value: &Value) -> Result<Known, String> {
    let made = Known {
        says: text(value, "says")?,
        programs: value.get("programs").map_or(Ok(Vec::new()), texts)?,
        why: text(value, "why")?,
    };
    match made.says.is_empty() {
        true => Err("`says` is empty, and would explain everything".to_owned()),
        false => Ok(made),
    }
}

fn each<T>(value: &Value, one: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    let list = value.as_array().ok_or("it is no list")?;
    list.iter().map(one).collect()
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let one = |v: &Value| {
        v.as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{v} is no text"))
    };
    each(value, one)
}

fn text(value: &Value, field: &str) -> Result<String, String> {
    let found = value.get(field).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("`{field}` is missing, or no text"))
}

fn optional(value: &Value, field: &str) -> String {
    value
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
