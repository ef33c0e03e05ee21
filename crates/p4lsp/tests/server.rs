//! The server as an editor talks to it, on programs of this repository and on texts that are being
//! typed.
#![allow(clippy::unwrap_used, clippy::panic)]

mod editor;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use editor::{Editor, labels};
use serde_json::{Value, json};

const PROGRAM: &str = r#"#include <core.p4>
#include <v1model.p4>
error { Odd }
typedef bit<48> mac_t;
enum Colour { Red, Green }
const bit<9> CPU = 255;
// An Ethernet header.
header eth_t { mac_t dst; mac_t src; bit<16> kind; }
header_union either_t { eth_t one; eth_t other; }
struct none_t { }
struct headers { eth_t eth; eth_t[2] st; either_t u; }
struct meta { none_t none; bit<9> port; Colour colour; }
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
    value_set<bit<16>>(4) kinds;
    state start { p.extract(hdr.eth); transition select(hdr.eth.kind) { kinds: more; default: accept; } }
    state more { p.extract(hdr.st.next); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply { } }
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    counter(8, CounterType.packets) seen;
    /* Sends the packet
     * to a port. */
    action out_by(bit<9> port) { sm.egress_spec = port; }
    action gone() { mark_to_drop(sm); }
    table t {
        key = { hdr.eth.dst : exact; }
        actions = { out_by; gone; }
        default_action = gone();
    }
    apply {
        bit<9> mine = CPU;
        if (hdr.eth.isValid()) { t.apply(); }
        seen.count(1);
        out_by(mine);
    }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.eth); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// The program with `typed` in the place of `of`; `|` in it is where the cursor is.
fn typed(of: &str, typed: &str) -> (String, usize) {
    assert!(PROGRAM.contains(of), "{of}");
    let text = PROGRAM.replacen(of, typed, 1);
    let at = text.find('|').unwrap();
    (text.replacen('|', "", 1), at)
}

/// What is offered at `|`, the likeliest first.
fn offered(editor: &mut Editor, of: &str, with: &str) -> Vec<String> {
    let (text, at) = typed(of, with);
    editor.set("/nowhere/a.p4", &text);
    labels(&editor.at("completion", "/nowhere/a.p4", &text, at))
}

const HEADER: [&str; 10] = [
    "dst",
    "src",
    "kind",
    "isValid",
    "setValid",
    "setInvalid",
    "minSizeInBits",
    "minSizeInBytes",
    "maxSizeInBits",
    "maxSizeInBytes",
];
const SIZES: [&str; 4] = [
    "minSizeInBits",
    "minSizeInBytes",
    "maxSizeInBits",
    "maxSizeInBytes",
];

fn sorted<'s>(names: impl IntoIterator<Item = &'s str>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn members_of_every_kind_stand_behind_a_dot() {
    let mut editor = Editor::start(None);
    let here = "seen.count(1);";
    let cases: Vec<(&str, &str, Vec<String>)> = vec![
        (here, "hdr.eth.|", sorted(HEADER)),
        (here, "x = hdr.eth.|;", sorted(HEADER)),
        (here, "if (hdr.eth.|", sorted(HEADER)),
        (here, "if (hdr.eth.d|st == 1) { }", sorted(HEADER)),
        (here, "hdr.st[1].|", sorted(HEADER)),
        (
            here,
            "hdr.st.|",
            sorted(["size", "push_front", "pop_front"]),
        ),
        (
            here,
            "hdr.u.|",
            sorted(["one", "other", "isValid"].into_iter().chain(SIZES)),
        ),
        (here, "m.none.|", vec![]),
        (here, "sm.egress_spec.|", vec![]),
        (here, "m.colour = Colour.|", sorted(["Red", "Green"])),
        (
            here,
            "hash(m.port, HashAlgorithm.|",
            sorted([
                "crc32",
                "crc32_custom",
                "crc16",
                "crc16_custom",
                "random",
                "identity",
                "csum16",
                "xor16",
            ]),
        ),
        (here, "clone(CloneType.|, 1);", sorted(["I2E", "E2E"])),
        (here, "t.|", sorted(["apply"])),
        (here, "t.apply().|", sorted(["hit", "miss", "action_run"])),
        (
            here,
            "if (t.apply().|) { }",
            sorted(["hit", "miss", "action_run"]),
        ),
        (here, "seen.|", sorted(["count"])),
        (here, "V.|", sorted(["apply"])),
        ("p.emit(hdr.eth);", "p.|", sorted(["emit"])),
        (
            "p.extract(hdr.st.next);",
            "p.|",
            sorted(["extract", "lookahead", "advance", "length"]),
        ),
        (
            "p.extract(hdr.st.next);",
            "p.extract(hdr.st.|",
            sorted([
                "size",
                "push_front",
                "pop_front",
                "next",
                "last",
                "lastIndex",
            ]),
        ),
        ("p.extract(hdr.st.next);", "hdr.st.last.|", sorted(HEADER)),
        ("p.extract(hdr.st.next);", "kinds.|", vec![]),
        (
            "key = { hdr.eth.dst : exact; }",
            "key = { hdr.eth.| }",
            sorted(HEADER),
        ),
        (
            "select(hdr.eth.kind) {",
            "select(hdr.eth.|) {",
            sorted(HEADER),
        ),
    ];
    for (of, with, wanted) in cases {
        let mut found = offered(&mut editor, of, with);
        found.sort();
        found.dedup();
        assert_eq!(found, wanted, "{with}");
    }
    let found = offered(&mut editor, here, "verify(true, error.|");
    assert!(found.contains(&"Odd".to_owned()) && found.contains(&"NoError".to_owned()));
    assert!(!found.contains(&"dst".to_owned()), "{found:?}");
    editor.end();
}

#[test]
fn what_fits_is_offered_and_what_fits_best_first() {
    let mut editor = Editor::start(None);
    let states = offered(&mut editor, "transition accept;", "transition |");
    assert_eq!(states, ["select", "accept", "reject", "start", "more"]);
    let states = offered(&mut editor, "default: accept;", "default: |");
    assert_eq!(states, ["accept", "reject", "start", "more"]);
    let actions = offered(
        &mut editor,
        "actions = { out_by; gone; }",
        "actions = { out_by; | }",
    );
    assert_eq!(actions, ["gone", "out_by", "NoAction"]);
    let actions = offered(
        &mut editor,
        "default_action = gone();",
        "default_action = |",
    );
    assert_eq!(actions, ["gone", "out_by", "NoAction"]);
    let kinds = offered(&mut editor, "dst : exact;", "dst : |");
    assert_eq!(kinds[..3], ["exact", "ternary", "lpm"]);
    assert!(kinds.contains(&"selector".to_owned()));
    let types = offered(&mut editor, "bit<9> port; Colour", "|; Colour");
    for known in ["mac_t", "eth_t", "Colour", "bit"] {
        assert!(types.contains(&known.to_owned()), "{known}: {types:?}");
    }
    assert!(!types.contains(&"CPU".to_owned()), "{types:?}");
    // Of the type that is asked for, and near.
    let values = offered(&mut editor, "out_by(mine);", "out_by(|);");
    assert_eq!(values[..2], ["mine", "CPU"], "{values:?}");
    let values = offered(&mut editor, "out_by(mine);", "m.port = |");
    assert_eq!(values[..2], ["mine", "CPU"], "{values:?}");
    let fields = offered(&mut editor, "out_by(mine);", "out_by(m.|");
    assert_eq!(fields[0], "port", "{fields:?}");
    // Nothing where a new name is written, in comments and numbers.
    for with in ["bit<9> n|", "// hdr.|", "m.port = 1|", "/* hdr.|"] {
        let found = offered(&mut editor, "out_by(mine);", with);
        assert_eq!(found, Vec::<String>::new(), "{with}");
    }
    // What is declared later, or elsewhere, is not known.
    let found = offered(&mut editor, "seen.count(1);", "|");
    assert!(
        !found.contains(&"D".to_owned()) && !found.contains(&"kinds".to_owned()),
        "{found:?}"
    );
    let (text, at) = typed("seen.count(1);", "out|");
    editor.set("/nowhere/a.p4", &text);
    let items = editor.at("completion", "/nowhere/a.p4", &text, at);
    let item = items
        .as_array()
        .unwrap()
        .iter()
        .find(|i| i["label"] == "out_by")
        .unwrap()
        .clone();
    assert_eq!(item["detail"], "action out_by(bit<9> port)");
    assert_eq!(
        item["documentation"]["value"],
        "Sends the packet\nto a port."
    );
    editor.end();
}

#[test]
fn names_are_explained_found_and_renamed() {
    let mut editor = Editor::start(None);
    let path = "/nowhere/a.p4";
    editor.set(path, PROGRAM);
    assert_eq!(editor.findings(path), Vec::<Value>::new());
    let place = |of: &str, n: usize| PROGRAM.find(of).unwrap() + n;
    let mut hover = |of: &str, n: usize| {
        let told = editor.at("hover", path, PROGRAM, place(of, n));
        told["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    for (of, n, wanted) in [
        (
            "mark_to_drop(sm)",
            3,
            "void mark_to_drop(inout standard_metadata_t",
        ),
        ("V1Switch(P", 2, "package V1Switch"),
        (
            "CounterType.packets",
            14,
            "member of an enum of enum `CounterType`",
        ),
        ("dst : exact", 7, "match_kind exact"),
        ("isValid()", 2, "bool isValid()"),
        ("mac_t dst", 1, "typedef bit<48> mac_t"),
        ("hdr.eth.dst :", 9, "field of header `eth_t`"),
        ("eth_t eth;", 1, "An Ethernet header."),
        ("kinds: more", 8, "state more"),
        ("out_by(mine)", 8, "variable of control `I`, `bit<9>`"),
        ("seen.count", 6, "void count("),
        ("transition accept; }\n}", 12, "state accept"),
    ] {
        let told = hover(of, n);
        assert!(told.contains(wanted), "{of}: {told}");
    }
    let found = editor.at("definition", path, PROGRAM, place("mark_to_drop(sm)", 1));
    let uri = found["uri"].as_str().unwrap();
    assert!(uri.ends_with("/v1model.p4"), "{found}");
    let text = std::fs::read_to_string(uri.strip_prefix("file://").unwrap()).unwrap();
    let line = found["range"]["start"]["line"].as_u64().unwrap() as usize;
    assert!(
        text.lines().nth(line).unwrap().contains("mark_to_drop"),
        "{found}"
    );
    let found = editor.at("definition", path, PROGRAM, place("kinds: more", 8));
    assert_eq!(found["range"]["start"]["line"], 15, "{found}");
    let ask = |editor: &mut Editor, method: &str, of: &str, n: usize, more: Value| {
        editor.at_with(method, path, PROGRAM, place(of, n), more)
    };
    let uses = ask(
        &mut editor,
        "references",
        "out_by(mine)",
        1,
        json!({ "context": { "includeDeclaration": true } }),
    );
    assert_eq!(uses.as_array().unwrap().len(), 3, "{uses}");
    let marks = ask(&mut editor, "documentHighlight", "CPU;", 1, json!({}));
    assert_eq!(marks.as_array().unwrap().len(), 2, "{marks}");
    let edit = ask(
        &mut editor,
        "rename",
        "dst : exact",
        1,
        json!({ "newName": "target" }),
    );
    let edits = edit["changes"]["file:///nowhere/a.p4"].as_array().unwrap();
    assert_eq!(edits.len(), 2, "{edit}");
    for (of, name, why) in [
        ("mark_to_drop(sm)", "x", "built-in"),
        ("isValid()", "x", "the language defines"),
        ("out_by(mine)", "table", "reserved word"),
        ("out_by(mine)", "gone", "cannot be used here"),
        ("main;", "x", "always called `main`"),
    ] {
        let told = editor.refused(
            "rename",
            path,
            PROGRAM,
            place(of, 1),
            json!({ "newName": name }),
        );
        assert!(told.contains(why), "{of} {name}: {told}");
    }
    editor.end();
}

#[test]
fn outline_signatures_tokens_folds_and_fixes() {
    let mut editor = Editor::start(None);
    let path = "/nowhere/a.p4";
    editor.set(path, PROGRAM);
    let outline = editor.of("documentSymbol", path);
    let names: Vec<&str> = outline
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["Odd", "mac_t", "Colour", "CPU"]);
    let control = outline
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["name"] == "I")
        .unwrap()
        .clone();
    let inner: Vec<&str> = control["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(inner, ["seen", "out_by", "gone", "t", "mine"]);
    let found = editor.ask("workspace/symbol", json!({ "query": "outby" }));
    assert_eq!(found[0]["name"], "out_by", "{found}");
    let tokens = editor.of("semanticTokens/full", path);
    assert!(
        tokens["data"].as_array().unwrap().len() > 5 * 60,
        "{tokens}"
    );
    let folds = editor.of("foldingRange", path);
    assert_eq!(folds.as_array().unwrap().len(), 4, "{folds}");
    let (text, at) = typed("out_by(mine);", "hash(m.port, HashAlgorithm.crc16, |");
    editor.set(path, &text);
    let help = editor.at("signatureHelp", path, &text, at);
    assert_eq!(help["activeParameter"], 2, "{help}");
    assert!(
        help["signatures"][0]["label"]
            .as_str()
            .unwrap()
            .starts_with("void hash<"),
        "{help}"
    );
    let (text, at) = typed("out_by(mine);", "out_by(|");
    editor.set(path, &text);
    let help = editor.at("signatureHelp", path, &text, at);
    assert_eq!(help["signatures"][0]["label"], "action out_by(bit<9> port)");
    // The help of a finding is an edit.
    let text = PROGRAM.replace("out_by(mine);", "out_bi(mine);");
    editor.set(path, &text);
    let range = editor.findings(path)[0]["range"].clone();
    let fixes = editor.ask(
        "textDocument/codeAction",
        json!({ "textDocument": { "uri": "file:///nowhere/a.p4" }, "range": range, "context": { "diagnostics": [] } }),
    );
    assert_eq!(fixes[0]["title"], "write `out_by`", "{fixes}");
    assert_eq!(
        fixes[0]["edit"]["changes"]["file:///nowhere/a.p4"][0]["newText"],
        "out_by"
    );
    editor.end();
}

#[test]
fn an_included_file_is_read_in_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let main = root.join("main.p4");
    let part = root.join("inc/part.p4");
    std::fs::create_dir_all(root.join("inc")).unwrap();
    let control = "control V(inout headers hdr, inout meta m) { apply { } }";
    std::fs::write(&main, PROGRAM.replace(control, "#include \"inc/part.p4\"")).unwrap();
    std::fs::write(&part, control).unwrap();
    let mut editor = Editor::start(Some(&root));
    let path = part.to_str().unwrap();
    editor.set(path, control);
    assert_eq!(editor.findings(path), Vec::<Value>::new());
    let text = control.replace("apply { }", "apply { hdr. }");
    editor.set(path, &text);
    let members = labels(&editor.at("completion", path, &text, text.find("hdr. ").unwrap() + 4));
    assert_eq!(members[..3], ["eth", "st", "u"]);
    // What is not saved reaches the main file.
    let text = control.replace("control V", "control W");
    editor.set(path, &text);
    let main = main.to_str().unwrap();
    let unknown = |f: &Value| f["message"].as_str().unwrap().contains("`V`");
    editor.until(main, |found| found.iter().any(unknown));
    // A file that nothing includes has no false findings.
    let alone = root.join("alone.p4");
    let alone = alone.to_str().unwrap();
    editor.set(
        alone,
        "control X(inout headers hdr) { apply { hdr.eth.setValid(); } }",
    );
    let findings = editor.findings(alone);
    assert!(findings.iter().all(|f| f["severity"] == 3), "{findings:?}");
    editor.end();
}

/// Structs and headers of a text, by name: whether it is a header, and the fields with their types.
/// Read without the front end.
type Declared = std::collections::BTreeMap<String, (bool, Vec<(String, String)>)>;

fn declared(text: &str) -> Declared {
    let mut all = Declared::new();
    let mut lines = text.lines().map(|l| l.split("//").next().unwrap().trim());
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        let (Some(word @ ("struct" | "header")), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        let mut fields = Vec::new();
        for line in lines.by_ref().take_while(|l| !l.starts_with('}')) {
            if let Some((ty, name)) = line.trim_end_matches(';').rsplit_once(' ') {
                fields.push((name.to_owned(), ty.trim().to_owned()));
            }
        }
        let name = name.trim_end_matches('{').to_owned();
        all.insert(name, (word == "header", fields));
    }
    all
}

/// The programs below a folder, and the text of the files they include.
fn programs(root: PathBuf) -> (Vec<PathBuf>, String) {
    let (mut found, mut shared) = (Vec::new(), String::new());
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "p4") {
                let text = std::fs::read_to_string(&path).unwrap();
                match text.contains(" main;") {
                    true => found.push(path),
                    false => shared += &text,
                }
            }
        }
    }
    found.sort();
    (found, shared)
}

/// The fields that stand behind `parameter.` in a text, with where the dot behind them ends.
fn members_behind<'t>(text: &'t str, parameter: &str) -> Vec<(&'t str, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in text.match_indices(parameter) {
        let line = text[..at].rsplit('\n').next().unwrap();
        if text[..at].ends_with(|c: char| is_word(c) || c == '.') || line.contains("//") {
            continue;
        }
        let rest = &text[at + parameter.len()..];
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if end > 0 && rest[end..].starts_with('.') {
            found.push((&rest[..end], at + parameter.len() + end + 1));
        }
    }
    found
}

#[test]
fn our_own_programs_have_their_members() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    let (generated, headers) = programs(root.join("p4src"));
    let (labs, common) = programs(root.join("labs"));
    let generated = generated.iter().map(|path| (path, &headers));
    let programs = generated.chain(labs.iter().map(|path| (path, &common)));
    let mut editor = Editor::including(None, vec![root.join("p4src"), root.join("labs/common")]);
    let mut tried = 0;
    for (path, shared) in programs.filter(|(p, _)| {
        !p.to_str().unwrap().contains("/tna/") && !p.to_str().unwrap().contains("/t2na/")
    }) {
        let text = std::fs::read_to_string(path).unwrap();
        let mut types = declared(shared);
        types.extend(declared(&text));
        let path = path.to_str().unwrap();
        let mut seen = BTreeSet::new();
        for (parameter, ty) in [
            ("headers.", "headers_t"),
            ("hdr.", "headers_t"),
            ("hdr.", "headers"),
        ] {
            let Some((_, fields)) = types.get(ty) else {
                continue;
            };
            for (field, place) in members_behind(&text, parameter) {
                let header = fields.iter().find(|(name, _)| name == field);
                let Some((true, members)) = header.and_then(|(_, ty)| types.get(ty)) else {
                    continue;
                };
                if !seen.insert(field) {
                    continue;
                }
                if seen.len() == 1 {
                    editor.set(path, &text);
                }
                let mut found = labels(&editor.at("completion", path, &text, place));
                found.sort();
                let names = members.iter().map(|(name, _)| name.as_str());
                assert_eq!(
                    found,
                    sorted(names.chain(HEADER[3..].iter().copied())),
                    "{path}: {field}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried >= 60, "{tried}");
    editor.end();
}

#[test]
fn texts_in_mid_edit_places_out_of_range_and_unknown_documents_do_no_harm() {
    let mut editor = Editor::start(None);
    let path = "/nowhere/a.p4";
    let insert = [
        "hdr.",
        "{",
        "}",
        "(",
        "if (",
        "transition ",
        "@",
        "\"",
        "/*",
        "header x {",
    ];
    let methods = ["completion", "hover", "definition", "signatureHelp"];
    for n in 0..120 {
        let mut at = PROGRAM.len() * n / 120;
        while !PROGRAM.is_char_boundary(at) {
            at += 1;
        }
        let text = match n % 4 {
            0 => PROGRAM[..at].to_owned(),
            1 => format!(
                "{}{}{}",
                &PROGRAM[..at],
                insert[n % insert.len()],
                &PROGRAM[at..]
            ),
            2 => format!(
                "{}{}",
                &PROGRAM[..at],
                &PROGRAM[(at + 37).min(PROGRAM.len())..]
            ),
            _ => format!("{}\u{1F600}é{}", &PROGRAM[..at], &PROGRAM[at..]),
        };
        editor.set(path, &text);
        let method = methods[n % methods.len()];
        editor.at(method, path, &text, at.min(text.len()));
        editor.of("documentSymbol", path);
        editor.of("semanticTokens/full", path);
    }
    for (line, column) in [(0, 1 << 20), (1 << 20, 0), (u32::MAX, u32::MAX)] {
        for method in methods {
            editor.ask(
                &format!("textDocument/{method}"),
                json!({ "textDocument": { "uri": "file:///nowhere/a.p4" }, "position": { "line": line, "character": column } }),
            );
        }
    }
    let unknown = json!({ "textDocument": { "uri": "file:///other.p4" }, "position": { "line": 0, "character": 0 } });
    for method in methods {
        let answer = editor.ask(&format!("textDocument/{method}"), unknown.clone());
        assert_eq!(answer, Value::Null, "{method}");
    }
    editor.set(path, PROGRAM);
    assert_eq!(editor.findings(path), Vec::<Value>::new());
    editor.end();
}

#[test]
fn edits_add_up_and_old_questions_are_not_answered() {
    let mut editor = Editor::start(None);
    let path = "/nowhere/a.p4";
    editor.set(path, PROGRAM);
    let at = editor::position(PROGRAM, PROGRAM.find("out_by(mine);").unwrap());
    let end = editor::position(PROGRAM, PROGRAM.find("out_by(mine);").unwrap() + 6);
    editor.tell(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": "file:///nowhere/a.p4", "version": 9 },
            "contentChanges": [
                { "range": { "start": at, "end": end }, "text": "\u{1F600}" },
                { "range": { "start": at, "end": { "line": at["line"], "character": at["character"].as_u64().unwrap() + 2 } }, "text": "gone(); out_by" },
            ],
        }),
    );
    assert_eq!(editor.findings(path), Vec::<Value>::new());
    let number = editor.post(
        "textDocument/hover",
        json!({ "textDocument": { "uri": "file:///nowhere/a.p4" }, "position": at }),
    );
    editor.tell("$/cancelRequest", json!({ "id": number }));
    // Answered before it was cancelled, or not at all: never twice.
    let answer = editor.answer(number);
    assert!(
        answer.get("result").is_some() || answer["error"]["code"] == -32800,
        "{answer}"
    );
    editor.end();
}
