//! `switchwright p4 lsp`: a language server over standard input and output: diagnostics as one types, hover, definitions, completion, formatting.

mod names;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use lsp_server::{Connection, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Completion, Formatting, GotoDefinition, HoverRequest, Request as _};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionOptions, CompletionParams, Diagnostic,
    DiagnosticSeverity, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentFormattingParams, GotoDefinitionParams, Hover,
    HoverContents, HoverParams, HoverProviderCapability, Location, MarkupContent, MarkupKind,
    OneOf, Position, PublishDiagnosticsParams, Range, ServerCapabilities,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind, TextEdit, Uri,
};
use p4front::Options;
use p4front::diag::Record;
use p4front::source::{FileId, SourceMap, Span};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::names::{Declaration, Kind, Names};
use crate::cli::fault::{Fault, Status};
use crate::cli::terminal::Terminal;

/// Arguments of `switchwright p4 lsp`.
#[derive(Debug, Args)]
pub(super) struct Lsp {
    /// Folders searched for included files.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
}

/// Words that may stand nearly everywhere.
const WORDS: [&str; 22] = [
    "action",
    "apply",
    "bit",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "exit",
    "header",
    "if",
    "in",
    "inout",
    "out",
    "parser",
    "return",
    "select",
    "state",
    "struct",
    "switch",
    "table",
    "transition",
];

impl Lsp {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        if terminal.json {
            let message =
                "`--json` means nothing here: what is said follows the Language Server Protocol";
            return Err(Fault::input(message).help("leave `--json` out"));
        }
        let failed = |error: &dyn std::fmt::Display| Fault::with(Status::Target, error);
        let (connection, threads) = Connection::stdio();
        let capabilities = serde_json::to_value(capabilities()).map_err(|e| failed(&e))?;
        match connection.initialize(capabilities) {
            Ok(_) => {}
            // Whoever started it has gone again.
            Err(error) if error.channel_is_disconnected() => return Ok(()),
            Err(error) => return Err(failed(&error)),
        }
        let mut server = Server {
            options: Options {
                include_paths: self.include,
                ..Options::on_disk()
            },
            documents: BTreeMap::new(),
        };
        for message in &connection.receiver {
            match message {
                Message::Request(request) => {
                    if connection
                        .handle_shutdown(&request)
                        .map_err(|e| failed(&e))?
                    {
                        break;
                    }
                    let response = server.answer(request);
                    connection
                        .sender
                        .send(response.into())
                        .map_err(|e| failed(&e))?;
                }
                Message::Notification(notification) => {
                    for told in server.hear(notification) {
                        connection
                            .sender
                            .send(told.into())
                            .map_err(|e| failed(&e))?;
                    }
                }
                Message::Response(_) => {}
            }
        }
        drop(connection);
        threads.join().map_err(|e| failed(&e))
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned()]),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

struct Server {
    options: Options,
    /// Texts that are open, by their address.
    documents: BTreeMap<String, String>,
}

/// A document, read.
struct Read {
    map: SourceMap,
    main: FileId,
}

/// The path of a file's address; the address itself if it is none.
fn path_of(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address of a file.
fn uri_of(path: &str) -> Option<Uri> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b);
    let text = path
        .bytes()
        .fold("file://".to_owned(), |text, b| match plain(b) {
            true => text + &char::from(b).to_string(),
            false => text + &format!("%{b:02X}"),
        });
    text.parse().ok()
}

impl Server {
    fn read(&self, uri: &str) -> Option<Read> {
        let mut map = SourceMap::new();
        let main = map.add(&path_of(uri), self.documents.get(uri)?).ok()?;
        Some(Read { map, main })
    }

    // ---- notifications ----

    fn hear(&mut self, notification: Notification) -> Vec<Notification> {
        let uri = match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Ok(p) =
                    serde_json::from_value::<DidOpenTextDocumentParams>(notification.params)
                else {
                    return Vec::new();
                };
                let uri = p.text_document.uri;
                self.documents
                    .insert(uri.as_str().to_owned(), p.text_document.text);
                uri
            }
            DidChangeTextDocument::METHOD => {
                let Ok(p) =
                    serde_json::from_value::<DidChangeTextDocumentParams>(notification.params)
                else {
                    return Vec::new();
                };
                let uri = p.text_document.uri;
                // Whole texts, as was agreed: the last counts.
                if let Some(change) = p.content_changes.into_iter().last() {
                    self.documents.insert(uri.as_str().to_owned(), change.text);
                }
                uri
            }
            DidCloseTextDocument::METHOD => {
                if let Ok(p) =
                    serde_json::from_value::<DidCloseTextDocumentParams>(notification.params)
                {
                    self.documents.remove(p.text_document.uri.as_str());
                }
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.publish(uri).into_iter().collect()
    }

    fn publish(&self, uri: Uri) -> Option<Notification> {
        let diagnostics = self.diagnostics(uri.as_str())?;
        let params = PublishDiagnosticsParams::new(uri, diagnostics, None);
        Some(Notification::new(
            PublishDiagnostics::METHOD.to_owned(),
            params,
        ))
    }

    fn diagnostics(&self, uri: &str) -> Option<Vec<Diagnostic>> {
        let Read { mut map, main } = self.read(uri)?;
        let found = match p4front::compile(&mut map, main, &self.options) {
            Ok(compiled) => compiled.warnings,
            Err(found) => found.into_vec(),
        };
        let name = path_of(uri);
        Some(
            found
                .iter()
                .map(|d| diagnostic(&map, main, &name, &d.record(&map)))
                .collect(),
        )
    }

    // ---- requests ----

    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let answered = match method.as_str() {
            HoverRequest::METHOD => with(params, |p: HoverParams| {
                self.hover(&p.text_document_position_params)
            }),
            GotoDefinition::METHOD => with(params, |p: GotoDefinitionParams| {
                self.definition(&p.text_document_position_params)
            }),
            Completion::METHOD => with(params, |p: CompletionParams| {
                Some(self.complete(&p.text_document_position))
            }),
            Formatting::METHOD => with(params, |p: DocumentFormattingParams| {
                self.format(p.text_document.uri.as_str())
            }),
            _ => {
                let message = format!("`{method}` is not known here");
                return Response::new_err(
                    id,
                    lsp_server::ErrorCode::MethodNotFound as i32,
                    message,
                );
            }
        };
        match answered {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => Response::new_err(id, lsp_server::ErrorCode::InvalidParams as i32, error),
        }
    }

    /// The names of a document, and where a position is in its text.
    fn names(&self, at: &TextDocumentPositionParams) -> Option<(Read, Names, u32)> {
        let mut read = self.read(at.text_document.uri.as_str())?;
        let offset = offset(&read.map, read.main, at.position)?;
        let names = Names::of(&mut read.map, read.main, &self.options);
        Some((read, names, offset))
    }

    fn hover(&self, at: &TextDocumentPositionParams) -> Option<Hover> {
        let (read, names, offset) = self.names(at)?;
        let declared = names.declaration_at(offset)?;
        let file = read.map.file(declared.span.file)?;
        let line = file.line_index(declared.span.start);
        let text = file.line_text(line).trim();
        let place = format!("{}:{}", file.name, line + 1);
        let value = format!("```p4\n{text}\n```\n{}, {place}", word(declared.kind));
        let contents = HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value,
        });
        Some(Hover {
            contents,
            range: None,
        })
    }

    fn definition(&self, at: &TextDocumentPositionParams) -> Option<Location> {
        let (read, names, offset) = self.names(at)?;
        let declared = names.declaration_at(offset)?;
        let file = read.map.file(declared.span.file)?;
        if file.builtin {
            return None;
        }
        let uri = match declared.span.file == read.main {
            true => at.text_document.uri.clone(),
            false => uri_of(&std::path::absolute(&*file.name).ok()?.to_string_lossy())?,
        };
        let range = range(&read.map, declared.span)?;
        Some(Location { uri, range })
    }

    fn complete(&self, at: &TextDocumentPositionParams) -> Vec<CompletionItem> {
        let Some((read, names, offset)) = self.names(at) else {
            return Vec::new();
        };
        let candidates = names.candidates(offset);
        let members = candidates
            .iter()
            .all(|d| matches!(d.kind, Kind::Field | Kind::Method))
            && !candidates.is_empty();
        let mut items: BTreeMap<String, CompletionItem> = BTreeMap::new();
        for declared in candidates {
            items
                .entry(declared.name.clone())
                .or_insert_with(|| item(&read.map, declared));
        }
        if !members {
            for word in WORDS {
                let made = CompletionItem {
                    label: word.to_owned(),
                    kind: Some(CompletionItemKind::KEYWORD),
                    ..CompletionItem::default()
                };
                items.entry(word.to_owned()).or_insert(made);
            }
        }
        items.into_values().collect()
    }

    fn format(&self, uri: &str) -> Option<Vec<TextEdit>> {
        let text = self.documents.get(uri)?;
        let formatted = p4front::format::format(&path_of(uri), text).ok()?;
        if formatted == *text {
            return Some(Vec::new());
        }
        let end = Position::new(text.lines().count() as u32 + 1, 0);
        Some(vec![TextEdit::new(
            Range::new(Position::default(), end),
            formatted,
        )])
    }
}

/// Answers a request with these parameters.
fn with<P: DeserializeOwned, T: Serialize>(
    params: serde_json::Value,
    answer: impl FnOnce(P) -> Option<T>,
) -> Result<serde_json::Value, String> {
    let params = serde_json::from_value(params).map_err(|e| e.to_string())?;
    serde_json::to_value(answer(params)).map_err(|e| e.to_string())
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Type => "type",
        Kind::Control => "control",
        Kind::Parser => "parser",
        Kind::Action => "action",
        Kind::Table => "table",
        Kind::State => "state",
        Kind::Constant => "constant",
        Kind::Variable => "variable",
        Kind::Field => "field",
        Kind::Method => "method",
    }
}

fn item(map: &SourceMap, declared: &Declaration) -> CompletionItem {
    let kind = match declared.kind {
        Kind::Type => CompletionItemKind::STRUCT,
        Kind::Control | Kind::Parser => CompletionItemKind::CLASS,
        Kind::Action => CompletionItemKind::FUNCTION,
        Kind::Table | Kind::State => CompletionItemKind::MODULE,
        Kind::Constant => CompletionItemKind::CONSTANT,
        Kind::Variable => CompletionItemKind::VARIABLE,
        Kind::Field => CompletionItemKind::FIELD,
        Kind::Method => CompletionItemKind::METHOD,
    };
    let line = map.file(declared.span.file).map(|f| {
        f.line_text(f.line_index(declared.span.start))
            .trim()
            .to_owned()
    });
    CompletionItem {
        label: declared.name.clone(),
        kind: Some(kind),
        detail: line,
        ..CompletionItem::default()
    }
}

/// A finding as the protocol has it. What is in another file stands at the beginning of this one.
fn diagnostic(map: &SourceMap, main: FileId, name: &str, record: &Record) -> Diagnostic {
    let severity = match record.severity {
        "error" => DiagnosticSeverity::ERROR,
        "warning" => DiagnosticSeverity::WARNING,
        _ => DiagnosticSeverity::INFORMATION,
    };
    let mut message = record.message.clone();
    for more in record.notes.iter().chain(&record.help) {
        message += &format!("\n{more}");
    }
    let range = match &record.place {
        Some(place) if place.file == name => {
            let start = map
                .file(main)
                .map_or(0, |f| f.line_start(place.line.saturating_sub(1)));
            let line = map
                .file(main)
                .map_or("", |f| f.line_text(place.line.saturating_sub(1)));
            let ahead: usize = line
                .chars()
                .take(place.column.saturating_sub(1) as usize)
                .map(char::len_utf8)
                .sum();
            let from = start + ahead as u32;
            range(map, Span::new(main, from, from + place.length.max(1)))
        }
        Some(place) => {
            message = format!("{}:{}: {message}", place.file, place.line);
            None
        }
        None => None,
    };
    Diagnostic {
        range: range.unwrap_or_default(),
        severity: Some(severity),
        code: Some(lsp_types::NumberOrString::String(record.code.to_owned())),
        source: Some("switchwright".to_owned()),
        message,
        ..Diagnostic::default()
    }
}

/// A span in lines and UTF-16 units.
fn range(map: &SourceMap, span: Span) -> Option<Range> {
    let file = map.file(span.file)?;
    let position = |offset: u32| {
        let line = file.line_index(offset);
        let start = file.line_start(line);
        let before = file
            .text
            .get(start as usize..offset as usize)
            .unwrap_or_default();
        Position::new(line, before.encode_utf16().count() as u32)
    };
    Some(Range::new(position(span.start), position(span.end)))
}

/// Where a position is in the text.
fn offset(map: &SourceMap, main: FileId, at: Position) -> Option<u32> {
    let file = map.file(main)?;
    let start = file.line_start(at.line);
    let mut units = 0;
    let mut offset = start;
    for c in file.line_text(at.line).chars() {
        if units >= at.character {
            break;
        }
        units += c.len_utf16() as u32;
        offset += c.len_utf8() as u32;
    }
    Some(offset)
}
