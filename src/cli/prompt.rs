//! A prompt on a terminal: lines are edited, remembered and completed. Ctrl-C at the prompt clears
//! the line, Ctrl-D ends; Ctrl-C while a command runs is for that command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context as LineContext, Editor, Helper};

use super::fault::{Context, Fault};

/// What can stand in the place of the last of these words, of which some letters may be there.
type Words = dyn Fn(&[&str]) -> Vec<String>;

/// See the module's documentation.
pub(super) struct Prompt {
    editor: Editor<Completion, MemHistory>,
    text: &'static str,
}

/// Completes words by a function.
struct Completion(Box<Words>);

impl Prompt {
    /// A prompt on standard input and output, which are a terminal. `words` tells what can stand in
    /// the place of the last word.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub(super) fn open(
        text: &'static str,
        words: impl Fn(&[&str]) -> Vec<String> + 'static,
    ) -> Result<Self, Fault> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .build();
        let editor = Editor::with_history(config, MemHistory::new());
        let mut editor = editor.input("the terminal")?;
        editor.set_helper(Some(Completion(Box::new(words))));
        Ok(Self { editor, text })
    }

    /// The next line; `None` at the end of input (Ctrl-D).
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn line(&mut self) -> Result<Option<String>, Fault> {
        loop {
            match self.editor.readline(self.text) {
                Ok(line) => {
                    if !line.trim().is_empty() {
                        // A line that is not remembered is no reason to stop.
                        let _ = self.editor.add_history_entry(line.as_str());
                    }
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(Fault::input(format!("standard input: {error}"))),
            }
        }
    }
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Validator for Completion {}

impl Hinter for Completion {
    type Hint = String;
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &LineContext<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let line = line.get(..at).unwrap_or(line);
        let start = line.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let words: Vec<&str> = line[..start].split_whitespace().collect();
        let begun = &line[start..];
        let words = [&words[..], &[begun]].concat();
        let mut found = (self.0)(&words);
        found.retain(|word| word.starts_with(begun));
        found.sort_unstable();
        found.dedup();
        Ok((start, found.into_iter().map(|word| word + " ").collect()))
    }
}

/// Ctrl-C and Ctrl-\ no longer end this process: they are for the command in the foreground. A
/// handler is set, and not ignoring, for a command inherits what is ignored and would not end
/// either.
pub(super) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// Takes the signals, for the rest of this process.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn take() -> Result<Self, Fault> {
        use tokio::signal::unix::{SignalKind, signal};
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.input("signals")?;
        let (mut interrupt, mut quit) = {
            let _inside = runtime.enter();
            let interrupt = signal(SignalKind::interrupt()).input("signals")?;
            (interrupt, signal(SignalKind::quit()).input("signals")?)
        };
        let seen = Arc::<AtomicBool>::default();
        let told = Arc::clone(&seen);
        let wait = move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = quit.recv() => {}
                    }
                    told.store(true, Ordering::Relaxed);
                }
            });
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(wait)
            .input("signals")?;
        Ok(Self(seen))
    }

    /// Forgets signals that came before.
    pub(super) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether one came since.
    pub(super) fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
