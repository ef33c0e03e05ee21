//! The paths that Rust sources name, read by `syn`. Imports are spelled out; what only tests
//! compile is left out.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A path that a source file names.
#[derive(Debug, Clone)]
pub(crate) struct NamedPath {
    /// The modules inside the file, outermost first, in which the path stands.
    pub(crate) inline: Vec<String>,
    /// Its names, first to last.
    pub(crate) names: Vec<String>,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// Reads the paths of a source text. Arguments of macros and of attributes are read as tokens.
///
/// # Errors
///
/// What `syn` says of a text that is no Rust.
pub(crate) fn paths(text: &str) -> Result<Vec<NamedPath>, syn::Error> {
    let mut collector = Collector::default();
    collector.visit_file(&syn::parse_file(text)?);
    Ok(collector.found)
}

#[derive(Default)]
struct Collector {
    inline: Vec<String>,
    found: Vec<NamedPath>,
}

impl Collector {
    fn add(&mut self, names: Vec<String>, at: Span) {
        if names.len() > 1 {
            self.found.push(NamedPath {
                inline: self.inline.clone(),
                names,
                line: at.start().line,
            });
        }
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], at: Span) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), at),
            syn::UseTree::Name(name) => self.add(with(&name.ident), name.ident.span()),
            syn::UseTree::Rename(rename) => self.add(with(&rename.ident), rename.ident.span()),
            syn::UseTree::Glob(_) => self.add(before.to_vec(), at),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, at);
                }
            }
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let (mut names, mut colons, mut at) = (Vec::new(), 0, Span::call_site());
        for token in tokens {
            match &token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add(std::mem::take(&mut names), at);
                    }
                    names.push(name.to_string());
                    (colons, at) = (0, name.span());
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                // Derive macros take paths as text: `#[serde(with = "crate::text")]`.
                TokenTree::Literal(text) => {
                    if let Ok(path) = syn::parse_str::<syn::LitStr>(&text.to_string())
                        .and_then(|text| text.parse::<syn::Path>())
                    {
                        self.visit_path(&path);
                    }
                }
                TokenTree::Punct(_) => {}
            }
            self.add(std::mem::take(&mut names), at);
            colons = 0;
        }
        self.add(names, at);
    }
}

impl<'a> Visit<'a> for Collector {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !only_tests(&module.attrs) {
            self.inline.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.inline.pop();
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !only_tests(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, import: &'a syn::ItemUse) {
        if !only_tests(&import.attrs) {
            self.import(&import.tree, &[], import.use_token.span);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let Some(first) = path.segments.first() {
            self.add(names, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'a syn::MetaList) {
        self.tokens(list.tokens.clone());
    }
}

/// Whether attributes leave an item out of everything but tests.
fn only_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string();
        let mut words = condition.split(|c: char| !c.is_alphanumeric());
        list.path.is_ident("cfg")
            && words.clone().any(|word| word == "test")
            && !words.any(|word| word == "not")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        let found = paths(text).expect("Rust");
        found.iter().map(|path| path.names.join("::")).collect()
    }

    #[test]
    fn trees_of_imports_are_spelled_out() {
        let text = "use crate::{a::{self, B}, c as d, e::f::{g, h}, i::*};";
        let all = [
            "crate::a::self",
            "crate::a::B",
            "crate::c",
            "crate::e::f::g",
            "crate::e::f::h",
            "crate::i",
        ];
        assert_eq!(spelled(text), all);
    }

    #[test]
    fn macros_and_attributes_are_looked_into() {
        let text = "#[serde(with = \"crate::a::text\")]\nstruct S;\nfn f() { g!(x: crate::b, [super::c::d()]) }";
        assert_eq!(spelled(text), ["crate::a::text", "crate::b", "super::c::d"]);
    }

    #[test]
    fn tests_comments_and_strings_do_not_count() {
        let text = "//! [`crate::a::B`]\nconst S: &str = \"crate::b::C\";\n#[cfg(all(test, unix))]\nmod tests { use crate::a::A; }\n#[cfg(not(test))]\nuse c::d;";
        assert_eq!(spelled(text), ["c::d"]);
    }

    #[test]
    fn lines_and_modules_inside_a_file_are_known() {
        let found = paths("\nmod inner {\n    use super::a::b;\n}\n").expect("Rust");
        assert_eq!(
            (found[0].line, &found[0].inline[..]),
            (3, &["inner".to_owned()][..])
        );
    }
}
