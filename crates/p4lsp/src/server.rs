//! The conversation with an editor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument,
    DidOpenTextDocument, DidSaveTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::{
    CancelParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, InitializeParams, NumberOrString, PublishDiagnosticsParams,
};
use p4front::Options;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use crate::address::{path_of, uri_of};
use crate::analysis::{Analysis, Done, Job, start};
use crate::documents::Documents;
use crate::features::{self, Needs};
use crate::session::Session;
use crate::workspace::Workspace;

/// What an editor may say at the beginning, beside the protocol's own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Settings {
    include_paths: Vec<PathBuf>,
    /// `NAME=VALUE`
    defines: Vec<String>,
}

/// The state of the conversation.
struct Server {
    session: Session,
    /// Requests that wait for an analysis, by the main file.
    waiting: Vec<(PathBuf, Request)>,
    generation: u64,
    jobs: Sender<Job>,
    out: Sender<Message>,
}

/// Answers an editor until it says `exit`.
pub(crate) fn run(connection: &Connection, mut options: Options) -> Result<(), Error> {
    let capabilities = serde_json::to_value(features::capabilities())?;
    let said = match connection.initialize(capabilities) {
        Ok(said) => said,
        // Whoever started it has gone again.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let said: InitializeParams = serde_json::from_value(said).unwrap_or_default();
    let folders = folders(&said);
    let settings = said.initialization_options.unwrap_or_default();
    let settings: Settings = serde_json::from_value(settings).unwrap_or_default();
    let base = folders.first().cloned().unwrap_or_default();
    let included = settings.include_paths.into_iter().map(|p| base.join(p));
    options.include_paths.extend(included);
    options.defines.extend(settings.defines.iter().map(|d| {
        let (name, value) = d.split_once('=').unwrap_or((d, "1"));
        (name.to_owned(), value.to_owned())
    }));
    let (jobs, to_do) = unbounded();
    let (finished, done) = unbounded();
    let thread = start(options.clone(), to_do, finished)?;
    let mut server = Server {
        session: Session {
            workspace: Workspace::new(folders, options.include_paths.clone()),
            options,
            documents: Documents::default(),
            programs: BTreeMap::new(),
            roots: BTreeMap::new(),
        },
        waiting: Vec::new(),
        generation: 0,
        jobs,
        out: connection.sender.clone(),
    };
    let ended = server.converse(connection, &done);
    drop(server);
    let _ = thread.join();
    ended
}

fn folders(said: &InitializeParams) -> Vec<PathBuf> {
    let named = said.workspace_folders.iter().flatten();
    let mut folders: Vec<PathBuf> = named.map(|folder| path_of(&folder.uri)).collect();
    #[allow(deprecated)] // what older editors say
    if let (true, Some(root)) = (folders.is_empty(), &said.root_uri) {
        folders.push(path_of(root));
    }
    folders
}

impl Server {
    fn converse(&mut self, connection: &Connection, done: &Receiver<Done>) -> Result<(), Error> {
        loop {
            select! {
                recv(connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        if connection.handle_shutdown(&request)? {
                            return Ok(());
                        }
                        self.request(request)?;
                    }
                    Ok(Message::Notification(told)) => self.handle_notification(told)?,
                    Ok(Message::Response(_)) => {}
                    Err(_) => return Ok(()),
                },
                recv(done) -> finished => match finished {
                    Ok(finished) => self.take(finished)?,
                    Err(_) => return Err(Error::Gone),
                },
            }
        }
    }

    fn say(&self, message: impl Into<Message>) -> Result<(), Error> {
        self.out.send(message.into()).map_err(|_| Error::Gone)
    }

    // ---- notifications ----

    fn handle_notification(&mut self, told: Notification) -> Result<(), Error> {
        match told.method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(p) = params::<DidOpenTextDocumentParams>(told.params) {
                    let document = p.text_document;
                    let path = path_of(&document.uri);
                    self.session
                        .documents
                        .open(path.clone(), &document.text, document.version);
                    self.edited(&path);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(p) = params::<DidChangeTextDocumentParams>(told.params) {
                    let path = path_of(&p.text_document.uri);
                    let version = p.text_document.version;
                    self.session
                        .documents
                        .edit(&path, p.content_changes, version);
                    self.outdate(&path)?;
                    self.edited(&path);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(p) = params::<DidCloseTextDocumentParams>(told.params) {
                    self.close(&path_of(&p.text_document.uri))?;
                }
            }
            DidSaveTextDocument::METHOD | DidChangeWatchedFiles::METHOD => {
                self.session.workspace.forget();
                self.session.roots.clear();
                for path in self.session.documents.paths().cloned().collect::<Vec<_>>() {
                    self.edited(&path);
                }
            }
            Cancel::METHOD => {
                if let Some(p) = params::<CancelParams>(told.params) {
                    let id = match p.id {
                        NumberOrString::Number(n) => RequestId::from(n),
                        NumberOrString::String(s) => RequestId::from(s),
                    };
                    self.cancel(&id)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What waits for an answer about a text that is no more is not answered: the editor asks
    /// again.
    fn outdate(&mut self, path: &Path) -> Result<(), Error> {
        let Some(root) = self.session.roots.get(path).cloned() else {
            return Ok(());
        };
        for request in self.no_longer_waiting(&root) {
            let code = ErrorCode::ContentModified as i32;
            let message = "the text has changed since".to_owned();
            self.say(Response::new_err(request.id, code, message))?;
        }
        Ok(())
    }

    /// Requests that wait for the analysis of a program; they wait no longer.
    fn no_longer_waiting(&mut self, root: &Path) -> Vec<Request> {
        let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(of, _)| of == root);
        self.waiting = kept;
        gone.into_iter().map(|(_, request)| request).collect()
    }

    fn cancel(&mut self, id: &RequestId) -> Result<(), Error> {
        let Some(at) = self.waiting.iter().position(|(_, r)| r.id == *id) else {
            return Ok(());
        };
        let (_, request) = self.waiting.remove(at);
        let code = ErrorCode::RequestCanceled as i32;
        let message = "the request was cancelled".to_owned();
        self.say(Response::new_err(request.id, code, message))
    }

    fn close(&mut self, path: &Path) -> Result<(), Error> {
        self.session.documents.close(path);
        let root = self.session.roots.remove(path);
        let Some(root) = root else {
            return Ok(());
        };
        let used = self.session.roots.values().any(|other| *other == root);
        if used {
            self.touch(&root);
            return Ok(());
        }
        let program = self.session.programs.remove(&root).unwrap_or_default();
        for path in program.published {
            self.publish(&path, Vec::new())?;
        }
        for request in self.no_longer_waiting(&root) {
            self.say(Response::new_ok(request.id, Value::Null))?;
        }
        Ok(())
    }

    /// A text has changed: programs that it is in are analysed.
    fn edited(&mut self, path: &Path) {
        if self.session.documents.text(path).is_none() {
            return;
        }
        let root = self
            .session
            .workspace
            .root_of(path, &self.session.documents);
        self.session.roots.insert(path.to_path_buf(), root.clone());
        let mut touched = BTreeSet::from([root]);
        for (root, program) in &self.session.programs {
            let reading = program.analysis.as_ref().map(|(_, a)| &a.reading);
            if reading.is_some_and(|r| crate::analysis::file_of(r, path).is_some()) {
                touched.insert(root.clone());
            }
        }
        for root in touched {
            self.touch(&root);
        }
    }

    fn touch(&mut self, root: &Path) {
        self.generation += 1;
        let program = self.session.programs.entry(root.to_path_buf()).or_default();
        program.generation = self.generation;
        self.ask(root, false);
    }

    /// Has the thread analyse a program as it is now, unless it does so already.
    fn ask(&mut self, root: &Path, urgent: bool) {
        let Some(program) = self.session.programs.get_mut(root) else {
            return;
        };
        let generation = program.generation;
        let now = |at: u64| at == generation;
        if program.analysis.as_ref().is_some_and(|(at, _)| now(*at))
            || program
                .asked
                .is_some_and(|(at, said)| now(at) && (said || !urgent))
        {
            return;
        }
        program.asked = Some((generation, urgent));
        let reading = program.reading.as_ref().filter(|(at, _)| now(*at));
        let job = Job {
            root: root.to_path_buf(),
            texts: self.session.documents.snapshot(),
            generation,
            urgent,
            reading: reading.map(|(_, reading)| Arc::clone(reading)),
        };
        // If the thread is gone the loop ends too.
        let _ = self.jobs.send(job);
    }

    /// The thread has analysed a program.
    fn take(&mut self, done: Done) -> Result<(), Error> {
        let Some(program) = self.session.programs.get_mut(&done.root) else {
            return Ok(());
        };
        if program.generation != done.generation {
            // An older text; the thread knows the newer one.
            return Ok(());
        }
        if done.analysis.is_none() {
            program.asked = None;
        }
        if let Some(analysis) = &done.analysis {
            program.reading = Some((done.generation, Arc::clone(&analysis.reading)));
            program.analysis = Some((done.generation, Arc::clone(analysis)));
        }
        for request in self.no_longer_waiting(&done.root) {
            let answer = match &done.analysis {
                Some(analysis) => features::answer(&mut self.session, analysis, request),
                None => Response::new_ok(request.id, Value::Null),
            };
            self.say(answer)?;
        }
        match done.analysis {
            Some(analysis) => self.publish_all(&done.root, &analysis),
            None => Ok(()),
        }
    }

    // ---- findings ----

    fn publish_all(&mut self, root: &Path, analysis: &Analysis) -> Result<(), Error> {
        let orphan = !analysis.reading.has_main()
            && self
                .session
                .workspace
                .including(root, &self.session.documents)
                .is_empty();
        let mut found = features::diagnostics::of(analysis, root, orphan);
        // An editor hears of each of its texts that it was read.
        let mine = self.session.roots.iter().filter(|(_, of)| *of == root);
        for (path, _) in mine {
            found.entry(path.clone()).or_default();
        }
        let Some(program) = self.session.programs.get_mut(root) else {
            return Ok(());
        };
        let now: BTreeSet<PathBuf> = found.keys().cloned().collect();
        let mended: Vec<PathBuf> = program.published.difference(&now).cloned().collect();
        program.published = now;
        for path in mended {
            self.publish(&path, Vec::new())?;
        }
        for (path, found) in found {
            self.publish(&path, found)?;
        }
        Ok(())
    }

    fn publish(&self, path: &Path, found: Vec<lsp_types::Diagnostic>) -> Result<(), Error> {
        let Some(uri) = uri_of(path) else {
            return Ok(());
        };
        let version = self.session.documents.version(path);
        let params = PublishDiagnosticsParams::new(uri, found, version);
        self.say(Notification::new(
            PublishDiagnostics::METHOD.to_owned(),
            params,
        ))
    }

    // ---- requests ----

    fn request(&mut self, request: Request) -> Result<(), Error> {
        let path = features::document_of(&request).map(|uri| path_of(&uri));
        match (features::needs(&request.method), path) {
            (Needs::Unknown, _) => {
                let message = format!("`{}` is not known here", request.method);
                let code = ErrorCode::MethodNotFound as i32;
                self.say(Response::new_err(request.id, code, message))
            }
            (Needs::Server, _) => {
                let answer = features::answer_here(&mut self.session, request);
                self.say(answer)
            }
            (Needs::Analysis, Some(path)) => self.with_analysis(&path, request),
            (Needs::Reading, Some(path)) => {
                let answer = match self.session.reading(&path) {
                    Some(reading) => features::answer_typing(&reading, &path, request),
                    None => Response::new_ok(request.id, Value::Null),
                };
                self.say(answer)
            }
            (_, None) => {
                let code = ErrorCode::InvalidParams as i32;
                let message = "the request names no document".to_owned();
                self.say(Response::new_err(request.id, code, message))
            }
        }
    }

    fn with_analysis(&mut self, path: &Path, request: Request) -> Result<(), Error> {
        let Some(root) = self.session.roots.get(path).cloned() else {
            return self.say(Response::new_ok(request.id, Value::Null));
        };
        let program = self.session.programs.entry(root.clone()).or_default();
        let generation = program.generation;
        match &program.analysis {
            Some((at, analysis)) if *at == generation => {
                let analysis = Arc::clone(analysis);
                let answer = features::answer(&mut self.session, &analysis, request);
                self.say(answer)
            }
            _ => {
                self.waiting.push((root.clone(), request));
                self.ask(&root, true);
                Ok(())
            }
        }
    }
}

fn params<P: DeserializeOwned>(params: Value) -> Option<P> {
    serde_json::from_value(params).ok()
}
