//! The command lines of p4c, as scripts have them, through links named `p4c` and `p4c-bm2-ss`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A program in two files with entries of its own, a macro that decides what it does, and a warning
/// (an unknown property).
const MAIN: &str = "#include <core.p4>\n#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n#include \"types.p4\"\n\
    #ifdef WRONG\n#error \"WRONG is defined\"\n#endif\n\
    struct headers { h_t h; }\nstruct meta { }\n\
    parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    state start { p.extract(hdr.h); transition accept; } }\n\
    control V(inout headers hdr, inout meta m) { apply { } }\n\
    control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    action set(bit<8> a) { hdr.h.a = a; }\n\
    table t { key = { hdr.h.a : exact; hdr.h.b : ternary; } actions = { set; NoAction; } wanted = 1;\n\
    const entries = { (7, 0x10 &&& 0xf0) : set(9); (8, _) : set(PORT); } default_action = NoAction(); }\n\
    apply { sm.egress_spec = 4-MINUS; t.apply(); } }\n\
    control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply { } }\n\
    control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }\n\
    V1Switch(P(), V(), I(), E(), V(), D()) main;\n";
const TYPES: &str = "// Types.\n#define MINUS -1\nheader h_t { bit<8> a; bit<8> b; }\n";

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for link in ["p4c", "p4c-bm2-ss"] {
            let link = folder.path().join(link);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_switchwright"), link).expect("a link");
        }
        let inc = folder.path().join("inc");
        fs::create_dir(&inc).expect("a writable folder");
        fs::write(folder.path().join("main.p4"), MAIN).expect("a writable folder");
        fs::write(inc.join("types.p4"), TYPES).expect("a writable folder");
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Runs a line of words.
    fn output(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        Command::new(self.at(tool))
            .args(words)
            .current_dir(self.folder.path())
            .env_remove("P4C_DEFAULT_TARGET")
            .output()
            .expect("it starts")
    }

    /// Runs a line that succeeds, and tells what it prints on both outputs.
    fn done(&self, line: &str) -> String {
        let output = self.output(line);
        let both = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {both}");
        both
    }

    /// Runs a line that is refused with these words.
    fn refused(&self, line: &str, words: &[&str]) {
        let output = self.output(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        for word in words {
            assert!(said.contains(word), "{line}: `{word}` is not in: {said}");
        }
    }
}

fn exists(path: &Path) -> bool {
    path.is_file()
}

#[test]
fn preprocessing_and_compiling_can_be_two_calls() {
    let bench = Bench::new();
    bench.done(
        "p4c --target bmv2 --arch v1model --std p4-16 -I inc -DPORT=3 -o all main.p4 --Wdisable",
    );
    bench.done("p4c --target bmv2 --arch v1model --std p4-16 -E -o two -Iinc -D PORT=3 main.p4");
    let text = bench.read("two/main.p4i");
    assert!(
        text.contains("set( 3 );") && !text.contains("PORT"),
        "{text}"
    );
    assert!(!text.contains("#include") && !exists(&bench.at("two/main.json")));
    let infos = "--p4runtime-files two/i.txtpb,two/i.txt,two/i.json,two/i.bin";
    // What is compiled is the preprocessed text: the source is no more needed.
    fs::rename(bench.at("main.p4"), bench.at("gone.p4")).expect("it is there");
    bench.done(&format!(
        "p4c -b bmv2 -a v1model -x p4_16 -e -o two {infos} main.p4 --Wdisable"
    ));
    // The text of a place is that of the file that was read: macros are gone from the second.
    let without_texts = |path: &str| {
        let text = bench.read(path);
        let lines = text
            .lines()
            .filter(|line| !line.contains("\"source_fragment\""));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        without_texts("two/main.json"),
        without_texts("all/main.json")
    );
    assert_eq!(bench.read("all/main.p4i"), text);
    assert_eq!(bench.read("two/i.txt"), bench.read("two/i.txtpb"));
    let info: Value = serde_json::from_str(&bench.read("two/i.json")).expect("JSON");
    assert_eq!(
        info["tables"][0]["matchFields"][1]["matchType"], "TERNARY",
        "{info:#}"
    );
    fs::rename(bench.at("gone.p4"), bench.at("main.p4")).expect("it is there");
    // The compiler itself prints the text.
    let printed = bench.output("p4c-bm2-ss -E -I inc -DPORT=3 main.p4").stdout;
    assert_eq!(String::from_utf8_lossy(&printed), text);
}

#[test]
fn messages_name_the_source_of_a_preprocessed_text() {
    let bench = Bench::new();
    fs::write(
        bench.at("inc/types.p4"),
        TYPES.replace("bit<8> b", "bit<8> c"),
    )
    .expect("writable");
    bench.done("p4c -E -o two -I inc -D PORT=3 main.p4");
    bench.refused("p4c -e -o two main.p4", &["main.p4:15:"]);
}

#[test]
fn every_file_of_the_compiler_is_written() {
    let bench = Bench::new();
    let line = "p4c-bm2-ss -I inc -DPORT=3 --Wdisable=ignore-prop main.p4";
    assert_eq!(bench.done(&format!("{line} -o a.json")), "");
    bench.done(&format!(
        "{line} -o b.json --pp pp.p4 --toJSON ir.json --emit-externs -O2 -g -T x:1"
    ));
    assert_eq!(bench.read("a.json"), bench.read("b.json"));
    let ir: Value = serde_json::from_str(&bench.read("ir.json")).expect("JSON");
    assert_eq!(ir["format"], "switchwright-ir");
    // What is written well laid out is the same program.
    let pretty = bench.read("pp.p4");
    assert!(
        pretty.starts_with("#include <core.p4>\n#include <v1model.p4>\n"),
        "{pretty}"
    );
    bench.done("p4c-bm2-ss --Wdisable pp.p4 -o c.json --p4runtime-files c.txt");
    bench.done(&format!(
        "{line} --p4runtime-file a.txt --p4runtime-format text"
    ));
    assert_eq!(bench.read("a.txt"), bench.read("c.txt"));
    bench.done(&format!(
        "{line} --p4runtime-file a.bin --p4runtime-files b.bin"
    ));
    assert_eq!(
        fs::read(bench.at("a.bin")).ok(),
        fs::read(bench.at("b.bin")).ok()
    );
    bench.done(&format!(
        "{line} --p4runtime-entries-files e.json,e.txtpb,e.bin"
    ));
    let entries: Value = serde_json::from_str(&bench.read("e.json")).expect("JSON");
    let updates = entries["updates"].as_array().expect("updates");
    let entry = |n: usize| &updates[n]["entity"]["tableEntry"];
    assert_eq!(
        (updates.len(), &updates[0]["type"]),
        (2, &"INSERT".into()),
        "{entries:#}"
    );
    assert_eq!(
        (&entry(0)["priority"], &entry(1)["priority"]),
        (&2.into(), &1.into())
    );
    // 7, 0x10 and 0xf0 in base64; the second entry's second field is not there.
    assert_eq!(entry(0)["match"][0]["exact"]["value"], "Bw==");
    assert_eq!(entry(0)["match"][1]["ternary"]["mask"], "8A==");
    assert_eq!(entry(1)["match"].as_array().map(Vec::len), Some(1));
    assert_eq!(entry(1)["action"]["action"]["params"][0]["value"], "Aw==");
    assert_eq!(entry(1)["isConst"], true);
    bench.done(&format!(
        "{line} --p4runtime-entries-file f.txtpb --p4runtime-format text"
    ));
    assert_eq!(bench.read("f.txtpb"), bench.read("e.txtpb"));
}

#[test]
fn macros_warnings_and_rules_are_what_the_line_says() {
    let bench = Bench::new();
    let line = "p4c-bm2-ss -I inc -DPORT=3 -o a.json main.p4";
    bench.refused(&format!("{line} -DWRONG"), &["WRONG is defined"]);
    bench.done(&format!("{line} -DWRONG -UWRONG"));
    bench.done(&format!("{line} -Xpreprocessor -DWRONG -Xp4c -UWRONG"));
    assert!(bench.done(line).contains("`wanted`"), "warnings are shown");
    assert_eq!(bench.done(&format!("{line} --Wdisable")), "");
    assert_eq!(bench.done(&format!("{line} --Wdisable=unused,table")), "");
    assert!(
        bench
            .done(&format!("{line} --Wdisable=unused"))
            .contains("`wanted`")
    );
    assert!(
        bench
            .done(&format!("{line} --Wdisable --Wwarn=table"))
            .contains("`wanted`")
    );
    assert_eq!(
        bench.done("p4c -I inc -DPORT=3 --Wdisable unused,table main.p4 -o out"),
        ""
    );
    fs::remove_file(bench.at("a.json")).expect("it is there");
    bench.refused(&format!("{line} --Werror"), &["`wanted`", "1 error"]);
    bench.refused(&format!("{line} --Werror=ignore-prop"), &["`wanted`"]);
    assert!(
        !exists(&bench.at("a.json")),
        "nothing is written after an error"
    );
    bench.refused(
        &format!("{line} --Wdisable=type-error"),
        &["cannot be demoted"],
    );
    let rule = bench.done("p4c-bm2-ss -M -MP -I inc main.p4 -DPORT=3");
    assert_eq!(
        rule,
        "main.json: main.p4 \\\n  inc/types.p4\n\ninc/types.p4:\n"
    );
    bench.done("p4c -MD -MT goal -I inc -DPORT=3 --Wdisable -o out main.p4");
    assert_eq!(
        bench.read("out/main.d"),
        "goal: main.p4 \\\n  inc/types.p4\n"
    );
    let said = bench.done(&format!("{line} -v --Wdisable"));
    assert!(
        said.contains("reading main.p4") && said.contains("writing a.json"),
        "{said}"
    );
    let steps = bench.done("p4c -### -o new main.p4");
    assert_eq!(
        steps,
        "preprocessor:\np4c -E -o 'new' 'main.p4'\ncompiler:\np4c -e -o 'new' 'main.p4'\n"
    );
    assert!(!bench.at("new").exists());
}

#[test]
fn what_is_not_done_is_refused_with_its_reason() {
    let bench = Bench::new();
    let line = "p4c -I inc -DPORT=3 main.p4";
    for (option, word) in [
        ("--top4 FrontEnd", "passes do not exist"),
        ("--listMidendPasses", "passes do not exist"),
        ("--fromJSON x.json", "give the P4 source"),
        ("-MG", "missing"),
        ("--disable-annotations=name", "annotations"),
        ("--nonsense", "no option `--nonsense`"),
        ("--p4runtime-files x.pb", "names no format"),
        ("--p4runtime-format yaml", "is no format"),
        ("--std p4-14", "only P4_16"),
        ("--arch psa", "`psa`"),
        ("-b tofino", "`tofino`"),
        ("other.p4", "more than one program"),
        ("-o", "needs PATH"),
    ] {
        bench.refused(&format!("{line} {option}"), &[word]);
    }
    bench.refused("p4c -o x", &["there is no program"]);
    assert!(bench.done("p4c --version").starts_with("p4c "));
    assert!(bench.done("p4c --target-help").contains("bmv2-v1model"));
    let help = bench.done("p4c-bm2-ss --help");
    for word in [
        "--p4runtime-entries-files FILES",
        "Taken, without effect",
        "--toJSON",
    ] {
        assert!(help.contains(word), "{help}");
    }
    // Completed like argparse, letters together.
    bench
        .done("p4c -I inc -DPORT=3 main.p4 --outp out --p4runtime-files=out/x.txt -vgc --Wdisable");
    assert!(exists(&bench.at("out/x.txt")) && exists(&bench.at("out/main.json")));
}
