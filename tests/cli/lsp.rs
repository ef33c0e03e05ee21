//! The language server as an editor talks to it.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = "#include <core.p4>\n#include <v1model.p4>\n\
    header eth_t { bit<48> dst; bit<48> src; }\nstruct headers { eth_t eth; eth_t[2] more; }\nstruct meta { }\n\
    parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    state start { p.extract(hdr.eth); transition accept; } }\n\
    control V(inout headers hdr, inout meta m) { apply { } }\n\
    control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    action out_by(bit<9> port) { sm.egress_spec = port; }\n\
    apply { out_by(1); hdr.eth.dst = hdr.more[1].src; } }\n\
    control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply { } }\n\
    control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }\n\
    V1Switch(P(), V(), I(), E(), V(), D()) main;\n";
const ADDRESS: &str = "file:///nowhere/a%20b.p4";

struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Editor {
    fn start() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_switchwright"))
            .args(["p4", "lsp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Self {
            server,
            input,
            output,
            number: 0,
        };
        let told = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(told["capabilities"]["hoverProvider"], true, "{told}");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the server ended"
            );
            match line.trim().strip_prefix("Content-Length: ") {
                Some(n) => length = n.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params }));
        loop {
            let answer = self.hear();
            // Findings may come first.
            if answer["method"] == "textDocument/publishDiagnostics" {
                continue;
            }
            assert_eq!(answer["id"], number, "{answer}");
            assert!(answer.get("error").is_none(), "{answer}");
            return answer["result"].clone();
        }
    }

    /// The findings after the text has become this.
    fn change(&mut self, text: &str, version: u64) -> Vec<Value> {
        let method = if version == 1 {
            "textDocument/didOpen"
        } else {
            "textDocument/didChange"
        };
        let params = match version {
            1 => {
                json!({ "textDocument": { "uri": ADDRESS, "languageId": "p4", "version": 1, "text": text } })
            }
            _ => {
                json!({ "textDocument": { "uri": ADDRESS, "version": version }, "contentChanges": [{ "text": text }] })
            }
        };
        self.tell(method, params);
        loop {
            let told = self.hear();
            assert_eq!(told["method"], "textDocument/publishDiagnostics");
            assert_eq!(told["params"]["uri"], ADDRESS);
            if told["params"]["version"] == version {
                return told["params"]["diagnostics"].as_array().unwrap().clone();
            }
        }
    }
}

/// The position of the `n`-th character behind a text that occurs once.
fn place(text: &str, of: &str, n: usize) -> Value {
    let at = text.find(of).unwrap() + n;
    let line = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1);
    json!({ "textDocument": { "uri": ADDRESS }, "position": { "line": line, "character": column } })
}

#[test]
fn an_editor_is_served_over_standard_input_and_output() {
    let mut editor = Editor::start();
    assert_eq!(editor.change(PROGRAM, 1), Vec::<Value>::new());
    let hover = editor.ask("textDocument/hover", place(PROGRAM, "out_by(1)", 2));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("action out_by(bit<9> port)"), "{hover}");
    let found = editor.ask("textDocument/definition", place(PROGRAM, "hdr.eth.dst", 8));
    assert_eq!(found["uri"], ADDRESS);
    assert_eq!(found["range"]["start"]["line"], 2, "{found}");
    // A name that is being typed.
    let typed = PROGRAM.replace("out_by(1);", "out_by(1); hdr.");
    let findings = editor.change(&typed, 2);
    assert_eq!(findings[0]["range"]["start"]["line"], 10, "{findings:?}");
    assert_eq!(findings[0]["severity"], 1);
    let here = place(&typed, "out_by(1); hdr.", 15);
    let items = editor.ask("textDocument/completion", here);
    let items = items.as_array().unwrap();
    let labels = items.iter().map(|i| i["label"].as_str().unwrap());
    assert_eq!(labels.take(2).collect::<Vec<_>>(), ["eth", "more"]);
    let edits = editor.ask(
        "textDocument/formatting",
        json!({ "textDocument": { "uri": ADDRESS }, "options": { "tabSize": 4, "insertSpaces": true } }),
    );
    let text = edits[0]["newText"].as_str().unwrap();
    assert!(text.contains("\n    apply {"), "{edits}");
    assert_eq!(editor.ask("shutdown", Value::Null), Value::Null);
    editor.tell("exit", Value::Null);
    assert!(editor.server.wait().unwrap().success());
}
