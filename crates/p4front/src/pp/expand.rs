//! Macro expansion: which names are replaced, by what, and when not.
//!
//! The rules are C's: arguments are expanded by themselves before they are put in (unless `#` or
//! `##` takes them), the result is read again together with what follows it, and a macro is not
//! expanded inside its own expansion, nor is such a name ever after ("painted").

use std::rc::Rc;

use super::macros::{Argument, Macro, substitute};
use super::{Context, MAX_EXPANSION_DEPTH, MAX_TOKENS, Preprocessor};
use crate::ast::Symbol;
use crate::lex::{Punct, RawKind, RawToken};
use crate::source::{Expansion, Span};

impl Preprocessor<'_> {
    /// The next token after expansion.
    pub(super) fn next_expanded(&mut self) -> RawToken {
        loop {
            let mut t = self.next_raw();
            if t.kind != RawKind::Word || t.painted {
                return t;
            }
            let Some(m) = self.macros.get(&t.text).cloned() else {
                return self.predefined(t);
            };
            if self.is_expanding(&t.text) {
                t.painted = true;
                return t;
            }
            if m.params.is_none() {
                self.push_expansion(&t, &m, &[], t.span);
                continue;
            }
            let next = self.next_raw();
            if next.is(Punct::LParen) {
                self.expand_call(&t, &m);
                continue;
            }
            if next.kind != RawKind::End {
                self.contexts.push(Context {
                    tokens: vec![next].into_iter(),
                    of: None,
                });
            }
            return t;
        }
    }

    /// `__LINE__` and `__FILE__`; any other token as it is.
    fn predefined(&mut self, mut t: RawToken) -> RawToken {
        match &*t.text {
            "__LINE__" => {
                t.text = self.names.get(&self.map.location(t.span).line.to_string());
                t.kind = RawKind::Number;
            }
            "__FILE__" => {
                let file = self.map.location(t.span).file;
                let text = format!("\"{}\"", file.replace('\\', "\\\\").replace('"', "\\\""));
                t.text = self.names.get(&text);
                t.kind = RawKind::String;
            }
            _ => {}
        }
        t
    }

    /// True if `#ifdef name` holds.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__LINE__" | "__FILE__")
    }

    fn is_expanding(&self, name: &Symbol) -> bool {
        self.contexts.iter().any(|c| c.of.as_ref() == Some(name))
            || self.outer_macros.contains(name)
    }

    fn push_expansion(&mut self, name: &RawToken, m: &Rc<Macro>, args: &[Argument], at: Span) {
        self.map.mark_expansion(
            at,
            Expansion {
                name: name.text.clone(),
                defined_at: m.defined_at,
            },
        );
        let mut tokens = substitute(m, args, at, &mut self.names);
        if let Some(first) = tokens.first_mut() {
            first.bol = name.bol;
        }
        self.expanded_tokens += tokens.len() + 1;
        if self.expanded_tokens > MAX_TOKENS {
            self.stop(
                at,
                format!("macros expand to more than {MAX_TOKENS} tokens"),
            );
        } else if self.contexts.len() >= MAX_EXPANSION_DEPTH {
            self.stop(
                at,
                format!("macros are nested more than {MAX_EXPANSION_DEPTH} deep"),
            );
        } else {
            self.contexts.push(Context {
                tokens: tokens.into_iter(),
                of: Some(name.text.clone()),
            });
        }
    }

    /// Expands a call; its opening parenthesis has been read.
    fn expand_call(&mut self, name: &RawToken, m: &Rc<Macro>) {
        let Some(params) = &m.params else { return };
        let Some((mut raw, close)) = self.collect_arguments(name, m) else {
            return;
        };
        if params.names.is_empty() && raw.len() == 1 && raw.first().is_some_and(Vec::is_empty) {
            raw.clear();
        }
        if params.variadic && raw.len() + 1 == params.names.len() {
            raw.push(Vec::new());
        }
        let (want, got) = (params.names.len(), raw.len());
        let at = name.span.to(close);
        if want != got {
            let s = if want == 1 { "" } else { "s" };
            self.error(
                at,
                format!("macro `{}` takes {want} argument{s}, not {got}", name.text),
            );
            return;
        }
        let mut args = Vec::with_capacity(raw.len());
        for tokens in raw {
            let expanded = self.expand_list(tokens.clone(), at);
            args.push(Argument {
                raw: tokens,
                expanded,
            });
        }
        self.push_expansion(name, m, &args, at);
    }

    /// Reads arguments up to the closing parenthesis, whose place is returned with them.
    fn collect_arguments(
        &mut self,
        name: &RawToken,
        m: &Macro,
    ) -> Option<(Vec<Vec<RawToken>>, Span)> {
        let most = match &m.params {
            Some(p) if p.variadic => p.names.len(),
            _ => usize::MAX,
        };
        let files = self.frames.len();
        let mut args: Vec<Vec<RawToken>> = Vec::new();
        let mut arg = Vec::new();
        let mut depth = 0usize;
        loop {
            let mut t = self.next_raw();
            if t.kind == RawKind::End || self.frames.len() < files {
                let message = format!("the arguments of macro `{}` are never closed", name.text);
                self.error(name.span, message);
                if t.kind != RawKind::End {
                    self.contexts.push(Context {
                        tokens: vec![t].into_iter(),
                        of: None,
                    });
                }
                return None;
            }
            match t.kind {
                RawKind::Punct(Punct::LParen) => depth += 1,
                RawKind::Punct(Punct::RParen) if depth == 0 => {
                    args.push(arg);
                    return Some((args, t.span));
                }
                RawKind::Punct(Punct::RParen) => depth -= 1,
                RawKind::Punct(Punct::Comma) if depth == 0 && args.len() + 1 < most => {
                    args.push(std::mem::take(&mut arg));
                    continue;
                }
                RawKind::Word if self.is_expanding(&t.text) => t.painted = true,
                _ => {}
            }
            arg.push(t);
        }
    }

    /// Expands `tokens` by themselves, as if nothing followed them.
    pub(super) fn expand_list(&mut self, tokens: Vec<RawToken>, at: Span) -> Vec<RawToken> {
        if self.isolation >= MAX_EXPANSION_DEPTH {
            self.stop(
                at,
                format!("macro calls are nested more than {MAX_EXPANSION_DEPTH} deep"),
            );
            return Vec::new();
        }
        let outer = std::mem::take(&mut self.contexts);
        let known = self.outer_macros.len();
        self.outer_macros
            .extend(outer.iter().filter_map(|c| c.of.clone()));
        self.isolation += 1;
        self.contexts.push(Context {
            tokens: tokens.into_iter(),
            of: None,
        });
        let mut out = Vec::new();
        loop {
            let t = self.next_expanded();
            if t.kind == RawKind::End {
                break;
            }
            out.push(t);
        }
        self.isolation -= 1;
        self.outer_macros.truncate(known);
        self.contexts = outer;
        if self.frames.is_empty() {
            self.contexts.clear(); // stopped meanwhile
        }
        self.expanded_tokens += out.len();
        out
    }
}
