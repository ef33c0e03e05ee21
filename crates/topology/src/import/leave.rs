//! What the user of an import leaves out or keeps, and what was left out.

use std::collections::BTreeSet;

use super::super::listed::{LISTED, first_names};
use super::super::ports::natural_order;
use super::ImportOptions;

/// A glob of a device, or of a device and an interface: `oob-*`, `leaf?:Ethernet1/*`.
#[derive(Debug)]
struct Pattern {
    text: String,
    matched: bool,
}

impl Pattern {
    fn matches(&mut self, device: &str, interface: Option<&str>) -> bool {
        let found = match self.text.split_once(':') {
            None => glob(&self.text, device),
            Some((node, port)) => {
                glob(node, device) && interface.is_some_and(|name| glob(port, name))
            }
        };
        self.matched |= found;
        found
    }
}

/// Whether a text is of a pattern in which `*` stands for any characters and `?` for one.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where the last star stands, and how much of the text it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                None => return false,
                Some((place, covered)) => {
                    *covered += 1;
                    (at, from) = (*place + 1, *covered);
                }
            },
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}

/// Decides what is left out, and remembers it for the notes.
#[derive(Debug, Default)]
pub(super) struct Leave {
    ignore: Vec<Pattern>,
    keep: Vec<Pattern>,
    management: BTreeSet<String>,
    pub(super) ignored: BTreeSet<String>,
    /// Nodes that a link was taken from.
    pub(super) touched: BTreeSet<String>,
}

impl Leave {
    pub(super) fn new(options: &ImportOptions) -> Self {
        let patterns = |texts: &[String]| {
            let pattern = |text: &String| Pattern {
                text: text.clone(),
                matched: false,
            };
            texts.iter().map(pattern).collect()
        };
        Self {
            ignore: patterns(&options.ignore),
            keep: patterns(&options.keep),
            ..Self::default()
        }
    }

    /// What the user leaves out by this end: the device or one interface of it. All patterns are
    /// tried, so that each is known to match something.
    pub(super) fn ignores(&mut self, device: &str, interface: Option<&str>) -> Option<String> {
        let mut found = None;
        for pattern in &mut self.ignore {
            if !pattern.matches(device, interface) {
                continue;
            }
            match interface {
                Some(name) if pattern.text.contains(':') => {
                    found.get_or_insert_with(|| format!("{device}:{name}"));
                }
                _ => found = Some(device.to_owned()),
            }
        }
        found
    }

    /// Whether the user keeps this end although it is a management interface.
    pub(super) fn keeps(&mut self, device: &str, interface: &str) -> bool {
        let mut kept = false;
        for pattern in &mut self.keep {
            kept |= pattern.matches(device, Some(interface));
        }
        kept
    }

    /// Notes a link that is left out because of a management interface at its end.
    pub(super) fn management(&mut self, device: &str, interface: &str, far: &str) {
        self.management.insert(format!("{device}:{interface}"));
        self.touch([device, far]);
    }

    /// Notes a link that the user leaves out; `what` is what [`Leave::ignores`] answered.
    pub(super) fn ignored(&mut self, what: String, ends: [&str; 2]) {
        self.ignored.insert(what);
        self.touch(ends);
    }

    fn touch(&mut self, nodes: [&str; 2]) {
        self.touched.extend(nodes.map(str::to_owned));
    }

    /// A pattern that matches nothing.
    pub(super) fn idle(&self) -> Option<&str> {
        let all = self.ignore.iter().chain(&self.keep);
        let mut idle = all.filter(|pattern| !pattern.matched);
        idle.next().map(|pattern| pattern.text.as_str())
    }

    /// What was left out, a sentence each.
    pub(super) fn notes(&self, lost: &[&str]) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.management.is_empty() {
            let ports = self.management.iter().map(String::as_str);
            notes.push(format!(
                "management interfaces are left out: {}",
                list(ports)
            ));
        }
        if !self.ignored.is_empty() {
            let ends = self.ignored.iter().map(String::as_str);
            notes.push(format!("left out as asked: {}", list(ends)));
        }
        if !lost.is_empty() {
            let lost = list(lost.iter().copied());
            notes.push(format!("no other link leads to, so left out too: {lost}"));
        }
        notes
    }
}

/// The first few names in natural order, and how many more there are.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_by(|a, b| natural_order(a, b));
    first_names(&names, LISTED)
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text, matches) in [
            ("oob-*", "oob-sw1", true),
            ("oob-*", "leaf1", false),
            ("*", "", true),
            ("leaf?", "leaf1", true),
            ("leaf?", "leaf12", false),
            ("*1/*/1", "Ethernet1/49/1", true),
            ("*1/*/1", "Ethernet1/49/2", false),
            ("a*b*c", "aXbYbZc", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }
}
