//! What an editor can ask.

mod actions;
mod completion;
pub(crate) mod diagnostics;
mod folding;
mod format;
mod hover;
mod kinds;
mod navigate;
mod outline;
mod rename;
mod tokens;

use std::path::Path;

use lsp_server::{ErrorCode, Request, Response};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest,
    FoldingRangeRequest, Formatting, GotoDeclaration, GotoDefinition, HoverRequest,
    PrepareRenameRequest, References, Rename, Request as _, SemanticTokensFullRequest,
    SignatureHelpRequest, WorkspaceSymbolRequest,
};
use lsp_types::{
    CompletionOptions, DeclarationCapability, FoldingRangeProviderCapability,
    HoverProviderCapability, OneOf, Position, RenameOptions, SemanticTokensFullOptions,
    SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
    WorkDoneProgressOptions,
};
use p4front::index::{Meant, Reading};
use p4front::source::{FileId, Span};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::address::path_of;
use crate::analysis::{Analysis, file_of};
use crate::position::offset_in;
use crate::session::Session;

/// What an answer is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The parsed program: what is typed.
    Reading,
    /// The checked program.
    Analysis,
    /// The server's own state.
    Server,
    /// The request is not known.
    Unknown,
}

/// What the server can do.
pub(crate) fn capabilities() -> ServerCapabilities {
    let strings = |all: &[&str]| Some(all.iter().map(|s| (*s).to_owned()).collect());
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::Supported(true)),
        ..TextDocumentSyncOptions::default()
    };
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        declaration_provider: Some(DeclarationCapability::Simple(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        code_action_provider: Some(true.into()),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: strings(&[".", "@"]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: strings(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: tokens::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

pub(crate) fn needs(method: &str) -> Needs {
    match method {
        Completion::METHOD
        | SignatureHelpRequest::METHOD
        | DocumentSymbolRequest::METHOD
        | FoldingRangeRequest::METHOD => Needs::Reading,
        HoverRequest::METHOD
        | GotoDefinition::METHOD
        | GotoDeclaration::METHOD
        | References::METHOD
        | DocumentHighlightRequest::METHOD
        | PrepareRenameRequest::METHOD
        | Rename::METHOD
        | SemanticTokensFullRequest::METHOD
        | CodeActionRequest::METHOD => Needs::Analysis,
        Formatting::METHOD | WorkspaceSymbolRequest::METHOD => Needs::Server,
        _ => Needs::Unknown,
    }
}

/// The document that a request is about.
pub(crate) fn document_of(request: &Request) -> Option<Uri> {
    let uri = request.params.get("textDocument")?.get("uri")?;
    uri.as_str()?.parse().ok()
}

/// A place that is asked about, in an analysed program.
pub(crate) struct View<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) reading: &'a Reading,
    pub(crate) file: FileId,
}

impl<'a> View<'a> {
    fn of(analysis: &'a Analysis, path: &Path) -> Option<Self> {
        let reading = &*analysis.reading;
        Some(Self {
            analysis,
            reading,
            file: file_of(reading, path)?,
        })
    }

    /// The name at a position, and what it means.
    fn meant(&self, at: Position) -> Option<(Span, Meant<'a>)> {
        let offset = offset_in(&self.reading.map, self.file, at);
        self.analysis.index.at(self.reading, self.file, offset)
    }
}

/// Answers a request that needs the checked program.
pub(crate) fn answer(session: &mut Session, analysis: &Analysis, request: Request) -> Response {
    let Request { id, method, params } = request;
    let path = params
        .get("textDocument")
        .and_then(|d| d.get("uri"))
        .and_then(Value::as_str)
        .and_then(|uri| uri.parse().ok())
        .map(|uri| path_of(&uri));
    let Some(view) = path.as_deref().and_then(|path| View::of(analysis, path)) else {
        return Response::new_ok(id, Value::Null);
    };
    let made = match method.as_str() {
        HoverRequest::METHOD => with(params, |p| hover::hover(&view, &p)),
        GotoDefinition::METHOD | GotoDeclaration::METHOD => {
            with(params, |p| navigate::definition(&view, &p))
        }
        References::METHOD => with(params, |p| navigate::references(&view, &p)),
        DocumentHighlightRequest::METHOD => with(params, |p| navigate::highlight(&view, &p)),
        PrepareRenameRequest::METHOD => with_reason(params, |p| rename::prepare(&view, &p)),
        Rename::METHOD => with_reason(params, |p| rename::rename(session, &view, &p)),
        SemanticTokensFullRequest::METHOD => with(params, |_: Value| Some(tokens::tokens(&view))),
        CodeActionRequest::METHOD => with(params, |p| Some(actions::actions(&view, &p))),
        _ => Ok(Value::Null),
    };
    respond(id, made)
}

/// Answers a request about a text that is being typed.
pub(crate) fn answer_typing(reading: &Reading, path: &Path, request: Request) -> Response {
    let Request { id, method, params } = request;
    let Some(file) = file_of(reading, path) else {
        return Response::new_ok(id, Value::Null);
    };
    let made = match method.as_str() {
        Completion::METHOD => with(params, |p| Some(completion::complete(reading, file, &p))),
        SignatureHelpRequest::METHOD => with(params, |p| completion::signatures(reading, file, &p)),
        DocumentSymbolRequest::METHOD => {
            with(params, |_: Value| Some(outline::outline(reading, file)))
        }
        FoldingRangeRequest::METHOD => with(params, |_: Value| Some(folding::folds(reading, file))),
        _ => Ok(Value::Null),
    };
    respond(id, made)
}

/// Answers a request that needs no program.
pub(crate) fn answer_here(session: &mut Session, request: Request) -> Response {
    let Request { id, method, params } = request;
    let made = match method.as_str() {
        Formatting::METHOD => with(params, |p| format::format(session, &p)),
        WorkspaceSymbolRequest::METHOD => with(params, |p| Some(outline::search(session, &p))),
        _ => Ok(Value::Null),
    };
    respond(id, made)
}

fn respond(id: lsp_server::RequestId, made: Result<Value, (ErrorCode, String)>) -> Response {
    match made {
        Ok(value) => Response::new_ok(id, value),
        Err((code, message)) => Response::new_err(id, code as i32, message),
    }
}

/// Answers a request with these parameters.
fn with<P: DeserializeOwned, T: Serialize>(
    params: Value,
    answer: impl FnOnce(P) -> Option<T>,
) -> Result<Value, (ErrorCode, String)> {
    with_reason(params, |p| Ok(answer(p)))
}

/// Answers a request with these parameters, or says why not.
fn with_reason<P: DeserializeOwned, T: Serialize>(
    params: Value,
    answer: impl FnOnce(P) -> Result<T, String>,
) -> Result<Value, (ErrorCode, String)> {
    let params =
        serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))?;
    let made = answer(params).map_err(|why| (ErrorCode::RequestFailed, why))?;
    serde_json::to_value(made).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}
