//! An editor, as far as the server sees it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

/// Longer than any answer takes.
const BOUND: Duration = Duration::from_secs(60);

pub(crate) struct Editor {
    connection: Connection,
    server: JoinHandle<Result<(), p4lsp::Error>>,
    number: i32,
    version: i32,
    /// Findings by path, with the version they are about.
    found: BTreeMap<String, Vec<Value>>,
    open: BTreeMap<String, i32>,
    fresh: BTreeMap<String, bool>,
}

/// The position of a byte of a text.
pub(crate) fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
    json!({ "line": line, "character": column })
}

/// The labels of completion items in the order an editor shows them.
pub(crate) fn labels(items: &Value) -> Vec<String> {
    let mut items: Vec<(String, String)> = items
        .as_array()
        .unwrap_or_else(|| panic!("{items}"))
        .iter()
        .map(|i| {
            (
                i["sortText"].as_str().unwrap().to_owned(),
                i["label"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    items.sort();
    items.into_iter().map(|(_, label)| label).collect()
}

impl Editor {
    pub(crate) fn start(root: Option<&Path>) -> Self {
        Self::including(root, Vec::new())
    }

    /// With folders that are searched for included files.
    pub(crate) fn including(root: Option<&Path>, include: Vec<PathBuf>) -> Self {
        let (ours, theirs) = Connection::memory();
        let server = std::thread::Builder::new()
            .stack_size(64 << 20)
            .spawn(move || p4lsp::serve(&theirs, include))
            .unwrap();
        let mut editor = Self {
            connection: ours,
            server,
            number: 0,
            version: 0,
            found: BTreeMap::new(),
            open: BTreeMap::new(),
            fresh: BTreeMap::new(),
        };
        let root = root.map(|r| format!("file://{}", r.display()));
        let told = editor.ask("initialize", json!({ "capabilities": {}, "rootUri": root }));
        assert_eq!(
            told["capabilities"]["textDocumentSync"]["change"], 2,
            "{told}"
        );
        editor.tell("initialized", json!({}));
        editor
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        if let Some(version) = params["textDocument"]["version"].as_i64() {
            let path =
                params["textDocument"]["uri"].as_str().unwrap()["file://".len()..].to_owned();
            self.open.insert(path, i32::try_from(version).unwrap());
            self.fresh.clear();
        }
        let told = Notification::new(method.to_owned(), params);
        self.connection.sender.send(told.into()).unwrap();
    }

    pub(crate) fn post(&mut self, method: &str, params: Value) -> i32 {
        self.number += 1;
        let id = RequestId::from(self.number);
        let request = Request::new(id, method.to_owned(), params);
        self.connection.sender.send(request.into()).unwrap();
        self.number
    }

    fn hear(&mut self) -> Option<Response> {
        match self.connection.receiver.recv_timeout(BOUND).unwrap() {
            Message::Response(response) => Some(response),
            Message::Notification(told) => {
                assert_eq!(told.method, "textDocument/publishDiagnostics");
                let path = told.params["uri"].as_str().unwrap()["file://".len()..].to_owned();
                let version = told.params["version"].as_i64();
                let now = self.open.get(&path).map(|v| i64::from(*v));
                if version == now || version.is_none() {
                    self.fresh.insert(path.clone(), true);
                }
                let found = told.params["diagnostics"].as_array().unwrap().clone();
                self.found.insert(path, found);
                None
            }
            Message::Request(request) => panic!("{request:?}"),
        }
    }

    pub(crate) fn answer(&mut self, number: i32) -> Value {
        loop {
            if let Some(response) = self.hear() {
                assert_eq!(response.id, RequestId::from(number));
                return serde_json::to_value(response).unwrap();
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.post(method, params);
        let answer = self.answer(number);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The text of a file becomes this.
    pub(crate) fn set(&mut self, path: &str, text: &str) {
        self.version += 1;
        let version = self.version;
        let uri = format!("file://{path}");
        let known = self.open.contains_key(path);
        let (method, params) = match known {
            false => (
                "textDocument/didOpen",
                json!({ "textDocument": { "uri": uri, "languageId": "p4", "version": version, "text": text } }),
            ),
            true => (
                "textDocument/didChange",
                json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] }),
            ),
        };
        self.tell(method, params);
    }

    /// The findings about the present text.
    pub(crate) fn findings(&mut self, path: &str) -> Vec<Value> {
        while !self.fresh.contains_key(path) {
            assert!(self.hear().is_none());
        }
        self.found[path].clone()
    }

    /// Waits for findings about a file that are as they should be.
    pub(crate) fn until(&mut self, path: &str, wanted: impl Fn(&[Value]) -> bool) {
        while !self.found.get(path).is_some_and(|found| wanted(found)) {
            assert!(self.hear().is_none());
        }
    }

    pub(crate) fn of(&mut self, method: &str, path: &str) -> Value {
        let uri = format!("file://{path}");
        self.ask(
            &format!("textDocument/{method}"),
            json!({ "textDocument": { "uri": uri } }),
        )
    }

    pub(crate) fn at(&mut self, method: &str, path: &str, text: &str, at: usize) -> Value {
        self.at_with(method, path, text, at, json!({}))
    }

    fn params(path: &str, text: &str, at: usize, more: Value) -> Value {
        let mut params = more;
        params["textDocument"] = json!({ "uri": format!("file://{path}") });
        params["position"] = position(text, at);
        params
    }

    pub(crate) fn at_with(
        &mut self,
        method: &str,
        path: &str,
        text: &str,
        at: usize,
        more: Value,
    ) -> Value {
        self.ask(
            &format!("textDocument/{method}"),
            Self::params(path, text, at, more),
        )
    }

    /// Why a request is refused.
    pub(crate) fn refused(
        &mut self,
        method: &str,
        path: &str,
        text: &str,
        at: usize,
        more: Value,
    ) -> String {
        let number = self.post(
            &format!("textDocument/{method}"),
            Self::params(path, text, at, more),
        );
        let answer = self.answer(number);
        answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    pub(crate) fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.join().unwrap().unwrap();
    }
}
