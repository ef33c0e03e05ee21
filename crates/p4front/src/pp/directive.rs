//! The directives, apart from `#include`.

use std::rc::Rc;

use super::macros::{Macro, Params};
use super::{Condition, Preprocessor};
use crate::ast::Symbol;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::lex::{Punct, RawKind, RawToken, Scanner};
use crate::source::{FileId, Span};

/// Whether a `#` with this word behind it is a directive inside a string too. Others are its text.
pub(super) fn is_carried_out(word: &str) -> bool {
    DIRECTIVES.contains(&word) || matches!(word, "ident" | "sccs" | "include_next" | "import")
}

/// The directives that are carried out.
const DIRECTIVES: [&str; 13] = [
    "define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "include", "line",
    "pragma", "undef", "warning",
];

impl Preprocessor<'_> {
    /// Carries out the directive behind the `#` at `hash`.
    pub(super) fn directive(&mut self, hash: Span) {
        let name = self.next_in_line();
        match (name.kind, &*name.text) {
            (RawKind::End, _) => {}
            (RawKind::Number, _) => self.line_marker(hash, vec![name]),
            (_, "line") => self.line_marker(hash, Vec::new()),
            (_, "include") => self.include(hash),
            (_, "define") => self.define(),
            (_, "undef") => self.undefine(),
            (_, "if") => self.open_condition(name.span, |pp| pp.condition(name.span)),
            (_, "ifdef") => self.open_condition(name.span, |pp| pp.name_is_defined(name.span)),
            (_, "ifndef") => {
                self.open_condition(name.span, |pp| pp.name_is_defined(name.span).map(|d| !d));
            }
            (_, "elif" | "else") => self.other_branch(&name),
            (_, "endif") => {
                if self
                    .frames
                    .last_mut()
                    .and_then(|f| f.conditions.pop())
                    .is_none()
                {
                    self.error(name.span, "`#endif` without `#if`");
                }
                self.skip_line();
            }
            (_, "error") => self.user_message(Severity::Error, name.span),
            (_, "warning") => self.user_message(Severity::Warning, name.span),
            (_, "pragma") => self.pragma(),
            (_, "ident" | "sccs") => self.skip_line(),
            (_, "include_next" | "import") => {
                self.complete = false;
                let message = format!("`#{}` is not carried out", name.text);
                self.diags.push(
                    Diagnostic::error("preprocessor", name.span, message)
                        .with_help("write `#include`"),
                );
                self.skip_line();
            }
            _ => {
                let message = format!("unknown directive `#{}` is ignored", name.text);
                self.diags.push(
                    Diagnostic::warning("preprocessor", name.span, message)
                        .with_nearest(&name.text, DIRECTIVES),
                );
                self.skip_line();
            }
        }
    }

    pub(super) fn next_in_line(&mut self) -> RawToken {
        match self.frames.last_mut() {
            Some(f) => f.scanner.next_in_line(&mut self.names, self.diags),
            None => self.end_token(Span::default()),
        }
    }

    /// All further tokens of the directive's line.
    pub(super) fn rest_of_line(&mut self) -> Vec<RawToken> {
        let mut out = Vec::new();
        loop {
            let t = self.next_in_line();
            if t.kind == RawKind::End {
                return out;
            }
            out.push(t);
        }
    }

    fn skip_line(&mut self) {
        if let Some(f) = self.frames.last_mut() {
            f.scanner.skip_line(&mut self.names, self.diags);
        }
    }

    fn user_message(&mut self, severity: Severity, name: Span) {
        let tokens = self.rest_of_line();
        let text = match (tokens.first(), tokens.last()) {
            (Some(a), Some(b)) => self.map.text(a.span.to(b.span)).to_string(),
            _ => "no message".into(),
        };
        self.diags
            .push(Diagnostic::new(severity, "preprocessor", name, text));
    }

    fn pragma(&mut self) {
        let tokens = self.rest_of_line();
        if tokens.first().is_some_and(|t| &*t.text == "once")
            && let Some(f) = self.frames.last()
            && let Some(file) = self.map.file(f.scanner.file())
        {
            self.once.insert(std::path::PathBuf::from(&*file.name));
        }
    }

    /// `#line N "file"`, or `# N "file"` with `N` in `given`.
    fn line_marker(&mut self, hash: Span, given: Vec<RawToken>) {
        let mut tokens = given;
        let rest = self.rest_of_line();
        tokens.extend(self.expand_list(rest, hash));
        let line = tokens.first().filter(|t| t.kind == RawKind::Number);
        let Some(line) = line.and_then(|t| t.text.parse().ok()) else {
            self.error(
                tokens.first().map_or(hash, |t| t.span),
                "`#line` needs a line number",
            );
            return;
        };
        let name = tokens.get(1).filter(|t| t.kind == RawKind::String);
        let name = name
            .and_then(|t| t.text.get(1..t.text.len() - 1))
            .map(Symbol::from);
        // A directive may take several lines.
        let end = self.frames.last().map_or(hash, |f| f.scanner.here());
        self.map.mark_line(end, line, name);
    }

    /// Defines the macros given as options.
    pub(super) fn define_options(&mut self) {
        for (name, value) in &self.options.defines {
            let mut scanner = Scanner::new(FileId::default(), value.as_str().into());
            let mut tokens = Vec::new();
            let mut ignored = Diagnostics::new();
            loop {
                let mut t = scanner.next(&mut self.names, &mut ignored);
                if t.kind == RawKind::End {
                    break;
                }
                t.span = Span::default();
                tokens.push(t);
            }
            match Macro::new(None, None, tokens) {
                Ok(m) => {
                    self.macros.insert(self.names.get(name), Rc::new(m));
                }
                Err(_) => {
                    let text = format!("`##` at an end of the value of macro `{name}`");
                    self.diags
                        .push(Diagnostic::error("preprocessor", None, text));
                }
            }
        }
    }

    /// The name a directive is about; reports if there is none.
    fn macro_name(&mut self) -> Option<RawToken> {
        let t = self.next_in_line();
        if t.kind == RawKind::Word && &*t.text != "defined" {
            return Some(t);
        }
        self.error(t.span, "expected the name of a macro");
        None
    }

    fn define(&mut self) {
        let Some(name) = self.macro_name() else {
            return self.skip_line();
        };
        let mut first = self.next_in_line();
        let params = if first.is(Punct::LParen) && !first.space {
            let Some(p) = self.parameters() else {
                return self.skip_line();
            };
            first = self.next_in_line();
            Some(p)
        } else {
            None
        };
        let mut tokens = Vec::new();
        if first.kind != RawKind::End {
            tokens.push(first);
            tokens.extend(self.rest_of_line());
        }
        match Macro::new(Some(name.span), params, tokens) {
            Ok(m) => self.install(&name, m),
            Err(at) => self.error(at, "`##` needs a token on both sides"),
        }
    }

    fn install(&mut self, name: &RawToken, m: Macro) {
        if let Some(old) = self.macros.get(&name.text)
            && !old.same(&m)
        {
            let text = format!("macro `{}` is defined again, differently", name.text);
            let mut d = Diagnostic::warning("preprocessor", name.span, text);
            if let Some(at) = old.defined_at {
                d = d.with_related(at, "first defined here");
            }
            self.diags.push(d);
        }
        self.macros.insert(name.text.clone(), Rc::new(m));
    }

    /// Parameters of a macro up to and including `)`.
    fn parameters(&mut self) -> Option<Params> {
        let mut p = Params {
            names: Vec::new(),
            variadic: false,
        };
        let mut t = self.next_in_line();
        if t.is(Punct::RParen) {
            return Some(p);
        }
        loop {
            if t.kind == RawKind::Word && !p.names.contains(&t.text) {
                p.names.push(t.text);
                t = self.next_in_line();
                if t.is(Punct::Dots) {
                    p.variadic = true;
                    t = self.next_in_line();
                }
            } else if t.is(Punct::Dots) {
                p.names.push(self.names.get("__VA_ARGS__"));
                p.variadic = true;
                t = self.next_in_line();
            } else {
                self.error(t.span, "expected a new parameter name");
                return None;
            }
            if t.is(Punct::RParen) {
                return Some(p);
            }
            if p.variadic || !t.is(Punct::Comma) {
                let want = if p.variadic { "`)`" } else { "`,` or `)`" };
                self.error(
                    t.span,
                    format!("expected {want} in the parameters of this macro"),
                );
                return None;
            }
            t = self.next_in_line();
        }
    }

    fn undefine(&mut self) {
        if let Some(name) = self.macro_name() {
            self.macros.remove(&name.text);
        }
        self.skip_line();
    }

    fn name_is_defined(&mut self, directive: Span) -> Option<bool> {
        let t = self.next_in_line();
        self.skip_line();
        if t.kind == RawKind::Word {
            return Some(self.is_defined(&t.text));
        }
        self.error(directive, "expected the name of a macro");
        None
    }

    /// Opens a condition. One that cannot be evaluated has been reported; no branch is skipped
    /// silently for it: its first branch is read.
    fn open_condition(&mut self, span: Span, holds: impl FnOnce(&mut Self) -> Option<bool>) {
        let taken = holds(self).unwrap_or(true);
        let Some(f) = self.frames.last_mut() else {
            return;
        };
        f.conditions.push(Condition {
            span,
            taken,
            seen_else: false,
        });
        if !taken {
            self.skip_excluded();
        }
    }

    /// `#elif` or `#else` met while reading: the branch before it was taken, this one is not.
    fn other_branch(&mut self, name: &RawToken) {
        self.skip_line();
        let Some(c) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) else {
            self.error(name.span, format!("`#{}` without `#if`", name.text));
            return;
        };
        c.taken = true;
        self.check_else(name);
        self.skip_excluded();
    }

    /// Keeps track of `#else`; nothing but `#endif` may follow it.
    fn check_else(&mut self, name: &RawToken) {
        let Some(c) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) else {
            return;
        };
        let wrong = c.seen_else;
        let opened = c.span;
        c.seen_else |= &*name.text == "else";
        if wrong {
            self.diags.push(
                Diagnostic::error(
                    "preprocessor",
                    name.span,
                    format!("`#{}` after `#else`", name.text),
                )
                .with_related(opened, "the condition begins here"),
            );
        }
    }

    /// Skips to the branch of the innermost condition that is to be read, or past its end.
    fn skip_excluded(&mut self) {
        let mut nested = 0usize;
        loop {
            let Some(f) = self.frames.last_mut() else {
                return;
            };
            if !f.scanner.skip_to_directive(self.diags) {
                return;
            }
            let name = self.next_in_line();
            let taken = |pp: &mut Self| {
                pp.frames
                    .last()
                    .and_then(|f| f.conditions.last())
                    .is_none_or(|c| c.taken)
            };
            match &*name.text {
                "if" | "ifdef" | "ifndef" => nested += 1,
                "endif" if nested > 0 => nested -= 1,
                "endif" => {
                    self.frames.last_mut().and_then(|f| f.conditions.pop());
                    return self.skip_line();
                }
                "else" if nested == 0 => {
                    let take = !taken(self);
                    self.check_else(&name);
                    if take {
                        self.skip_line();
                        return self.take_branch();
                    }
                }
                "elif" if nested == 0 => {
                    let open = !taken(self);
                    self.check_else(&name);
                    if open && self.condition(name.span).unwrap_or(false) {
                        return self.take_branch();
                    }
                }
                _ => {}
            }
            self.skip_line();
        }
    }

    fn take_branch(&mut self) {
        if let Some(c) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) {
            c.taken = true;
        }
    }
}
