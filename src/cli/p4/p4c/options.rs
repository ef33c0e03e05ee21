//! The options of p4c's driver (`p4c`) and of its compiler for BMv2 (`p4c-bm2-ss`), and what each
//! of them means here.
//!
//! Taken from p4c 1.2.5: `tools/driver/p4c_src/main.py`, `lib/options.cpp`,
//! `frontends/common/parser_options.cpp`, `frontends/common/options.cpp`,
//! `backends/bmv2/common/options.h`, `backends/bmv2/simple_switch/options.h`. Both tools take all
//! of them: an option that only one of the two has does no harm at the other.

/// What stands behind an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    /// A value, attached or as the next word.
    Needed(&'static str),
    /// A value, attached (`--name=VALUE`, `-OVALUE`) or not there.
    Optional(&'static str),
}

/// What an option makes happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Help,
    Version,
    Targets,
    Pragmas,
    Include,
    Define,
    Undefine,
    PreprocessOnly,
    SkipPreprocessor,
    Language,
    Target,
    Architecture,
    Output,
    Infos,
    Info,
    InfoFormat,
    EntriesFiles,
    EntriesFile,
    Pretty,
    Ir,
    Ignore,
    Note,
    Warn,
    Fail,
    MostErrors,
    Verbose,
    DryRun,
    Dependencies,
    DependenciesBeside,
    DependenciesFile,
    DependenciesTarget,
    DependenciesPhony,
    /// More words of the command line.
    Words,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Does(Act),
    /// It is taken, and changes nothing of what is written; the help says why.
    Nothing,
    /// It is refused; the help says why.
    Refused,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) names: &'static [&'static str],
    pub(super) value: Value,
    pub(super) meaning: Meaning,
    /// What it does, or why it does nothing, or why it is refused.
    pub(super) about: &'static str,
}

const fn does(
    names: &'static [&'static str],
    value: Value,
    act: Act,
    about: &'static str,
) -> Choice {
    Choice {
        names,
        value,
        meaning: Meaning::Does(act),
        about,
    }
}

const fn nothing(names: &'static [&'static str], value: Value, about: &'static str) -> Choice {
    Choice {
        names,
        value,
        meaning: Meaning::Nothing,
        about,
    }
}

const fn refused(names: &'static [&'static str], value: Value, about: &'static str) -> Choice {
    Choice {
        names,
        value,
        meaning: Meaning::Refused,
        about,
    }
}

use Value::{Needed, None, Optional};

const NO_PASSES: &str =
    "p4c's passes do not exist here; `switchwright p4 explain` shows a program after each of ours";

/// All options.
pub(super) const ALL: &[Choice] = &[
    does(&["-h", "--help"], None, Act::Help, "Print this help."),
    does(
        &["-V", "--version"],
        None,
        Act::Version,
        "Print the version.",
    ),
    does(
        &["--help-targets", "--target-help", "--targets-help"],
        None,
        Act::Targets,
        "List targets and architectures.",
    ),
    does(
        &[
            "--help-pragmas",
            "--pragma-help",
            "--pragmas-help",
            "--help-annotations",
            "--annotation-help",
            "--annotations-help",
        ],
        None,
        Act::Pragmas,
        "Print what is known of annotations: as in p4c, nothing for BMv2.",
    ),
    does(
        &["-I"],
        Needed("DIR"),
        Act::Include,
        "A folder searched for included files.",
    ),
    does(
        &["-D"],
        Needed("NAME[=VALUE]"),
        Act::Define,
        "Define a macro.",
    ),
    does(
        &["-U"],
        Needed("NAME"),
        Act::Undefine,
        "Undefine a macro that stands before it on the command line.",
    ),
    does(
        &["-E"],
        None,
        Act::PreprocessOnly,
        "Preprocess only. p4c: write NAME.p4i into the folder of -o; p4c-bm2-ss: print the text.",
    ),
    does(
        &["-e", "--nocpp"],
        None,
        Act::SkipPreprocessor,
        "Do not preprocess. p4c: compile NAME.p4i of the folder of -o; p4c-bm2-ss: the program is preprocessed already.",
    ),
    does(
        &["-x", "--std", "--p4v"],
        Needed("VERSION"),
        Act::Language,
        "The version of the language: P4_16.",
    ),
    does(
        &["-b", "--target"],
        Needed("TARGET"),
        Act::Target,
        "The target: bmv2.",
    ),
    does(
        &["-a", "--arch"],
        Needed("ARCH"),
        Act::Architecture,
        "The architecture: v1model.",
    ),
    does(
        &["-o", "--output"],
        Needed("PATH"),
        Act::Output,
        "p4c: the folder for NAME.p4i and NAME.json. p4c-bm2-ss: the JSON file.",
    ),
    does(
        &["--p4runtime-files"],
        Needed("FILES"),
        Act::Infos,
        "Write the P4Info, by ending: .txtpb or .txt, .json, .bin; several with commas.",
    ),
    does(
        &["--p4runtime-file"],
        Needed("FILE"),
        Act::Info,
        "Write the P4Info in the format of --p4runtime-format.",
    ),
    does(
        &["--p4runtime-format"],
        Needed("FORMAT"),
        Act::InfoFormat,
        "binary (default), json or text, for --p4runtime-file and --p4runtime-entries-file.",
    ),
    does(
        &["--p4runtime-entries-files"],
        Needed("FILES"),
        Act::EntriesFiles,
        "Write the entries of the program's text as a WriteRequest, by ending as --p4runtime-files.",
    ),
    does(
        &["--p4runtime-entries-file"],
        Needed("FILE"),
        Act::EntriesFile,
        "The same in the format of --p4runtime-format.",
    ),
    does(
        &["--pp"],
        Needed("FILE"),
        Act::Pretty,
        "Write the program as P4 text, with includes and macros expanded, well laid out.",
    ),
    does(
        &["--toJSON", "--toJson"],
        Needed("FILE"),
        Act::Ir,
        "Write the intermediate representation as JSON. It is this compiler's own; the nodes of p4c's are not in it.",
    ),
    does(
        &["--Wdisable"],
        Optional("NAME"),
        Act::Ignore,
        "Leave out warnings of a name, or all.",
    ),
    does(
        &["--Winfo"],
        Optional("NAME"),
        Act::Note,
        "Report warnings of a name as notes.",
    ),
    does(
        &["--Wwarn"],
        Optional("NAME"),
        Act::Warn,
        "Report warnings of a name as warnings.",
    ),
    does(
        &["--Werror"],
        Optional("NAME"),
        Act::Fail,
        "Report warnings of a name, or all, as errors.",
    ),
    does(
        &["--maxErrorCount"],
        Needed("COUNT"),
        Act::MostErrors,
        "Show no more findings than these.",
    ),
    does(
        &["-v", "--debug"],
        None,
        Act::Verbose,
        "Say what is read and written.",
    ),
    does(
        &["-###", "--test-only"],
        None,
        Act::DryRun,
        "Print the steps as commands, and run none.",
    ),
    does(
        &["-M"],
        None,
        Act::Dependencies,
        "Print a rule for make with the files that the program includes, and compile nothing.",
    ),
    does(
        &["-MD"],
        None,
        Act::DependenciesBeside,
        "Write that rule to NAME.d beside the output, and compile.",
    ),
    does(
        &["-MF"],
        Needed("FILE"),
        Act::DependenciesFile,
        "The file for the rule.",
    ),
    does(
        &["-MT", "-MQ"],
        Needed("TARGET"),
        Act::DependenciesTarget,
        "The target of the rule.",
    ),
    does(
        &["-MP"],
        None,
        Act::DependenciesPhony,
        "Add an empty rule for every included file.",
    ),
    does(
        &["-Xp4c", "-Xpreprocessor"],
        Needed("WORDS"),
        Act::Words,
        "More options, separated by blanks.",
    ),
    nothing(
        &["-c", "--compile", "-S"],
        None,
        "There is nothing behind the compiler: BMv2 has no assembler and no linker.",
    ),
    nothing(
        &["-Xassembler", "-Xlinker"],
        Needed("WORD"),
        "BMv2 has no assembler and no linker.",
    ),
    nothing(&["-g"], None, "The JSON always names lines of the source."),
    nothing(
        &["--emit-externs"],
        None,
        "Externs of the architecture are always written; those of a program's own are refused where one is met.",
    ),
    nothing(
        &["-O"],
        Optional("LEVEL"),
        "The JSON is for BMv2's interpreter; there are no levels of optimisation.",
    ),
    nothing(&["--ndebug"], None, "There is no debug mode."),
    nothing(
        &["--parser-inline-opt", "--loopsUnroll"],
        None,
        "They choose between ways to write the same parser.",
    ),
    nothing(
        &["-T"],
        Needed("LEVELS"),
        "Log levels are of p4c's own source files.",
    ),
    nothing(
        &["-W"],
        Needed("FLAG"),
        "Warnings of cpp; the preprocessor here is built in and has one set of them.",
    ),
    nothing(&["--dump"], Needed("DIR"), "It says where --top4 writes."),
    nothing(&["--doNotEmitIncludes"], None, "It says how --top4 writes."),
    refused(&["--top4"], Needed("PASSES"), NO_PASSES),
    refused(
        &["--excludeFrontendPasses", "--excludeMidendPasses"],
        Needed("PASSES"),
        NO_PASSES,
    ),
    refused(
        &["--listFrontendPasses", "--listMidendPasses"],
        None,
        NO_PASSES,
    ),
    refused(
        &["--fromJSON", "--fromJson"],
        Needed("FILE"),
        "p4c's intermediate representation is not read; give the P4 source",
    ),
    refused(
        &["--testJson"],
        None,
        "it tests p4c's own reader of its intermediate representation",
    ),
    refused(
        &["-MG"],
        None,
        "a header that is missing ends the compilation; make it before",
    ),
    refused(
        &[
            "--disable-annotations",
            "--disable-annotation",
            "--disable-pragmas",
            "--disable-pragma",
        ],
        Optional("NAMES"),
        "annotations are not taken away: P4Info and entries would say other things than the program",
    ),
    refused(
        &["--metrics"],
        Needed("METRICS"),
        "metrics of source code are not computed",
    ),
    refused(
        &["--gdb", "--cgdb", "--lldb"],
        None,
        "p4c is not here, so there is nothing to debug",
    ),
];

/// The option of this name.
pub(super) fn by_name(name: &str) -> Option<&'static Choice> {
    ALL.iter().find(|choice| choice.names.contains(&name))
}

/// The one long option that begins so, as argparse completes it.
pub(super) fn by_beginning(name: &str) -> Option<&'static Choice> {
    let begins = |choice: &&Choice| choice.names.iter().any(|n| n.starts_with(name));
    let mut found = ALL.iter().filter(begins);
    match (found.next(), found.next()) {
        (Some(one), Option::None) if name.len() > 2 => Some(one),
        _ => Option::None,
    }
}

/// Every option with its value and what becomes of it.
pub(super) fn help(tool: &str) -> String {
    let mut text = format!(
        "P4_16 to JSON for BMv2 and P4Info, with the command line of p4c.\n\nUsage: {tool} [OPTIONS] PROGRAM\n"
    );
    type Of = fn(&Meaning) -> bool;
    let parts: [(&str, Of); 3] = [
        ("Options", |m| matches!(m, Meaning::Does(_))),
        ("Taken, without effect", |m| matches!(m, Meaning::Nothing)),
        ("Refused", |m| matches!(m, Meaning::Refused)),
    ];
    for (title, of) in parts {
        text += &format!("\n{title}:\n");
        for choice in ALL.iter().filter(|choice| of(&choice.meaning)) {
            let value = match choice.value {
                None => String::new(),
                Needed(name) => format!(" {name}"),
                Optional(name) => format!("[={name}]"),
            };
            text += &format!(
                "  {}{value}\n        {}\n",
                choice.names.join(", "),
                choice.about
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_option_has_one_meaning_and_stands_in_the_document() {
        let document = include_str!("../../../../docs/p4-tools.md");
        let mut seen = BTreeSet::new();
        for name in ALL.iter().flat_map(|choice| choice.names) {
            assert!(seen.insert(name), "{name} stands twice");
            assert!(
                document.contains(&format!("`{name}`")),
                "{name} is not in docs/p4-tools.md"
            );
        }
    }
}
