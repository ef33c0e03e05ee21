//! The formats in which a build for v1model writes the entries of its switches.

use std::collections::BTreeSet;

/// A format, or what is written for a tool that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// `entries.txtpb`: a `p4.v1.WriteRequest` as text, an update a line.
    Txtpb,
    /// `entries.binpb`: the same message in protobuf's binary format.
    Binpb,
    /// `commands.txt`: lines for `simple_switch_CLI`.
    Commands,
    /// What the exercise runner of p4lang/tutorials takes: `runtime.json`, `commands.txt`,
    /// `topology.json`, a `Makefile`.
    Tutorials,
    /// What p4-utils takes: `commands.txt` and `p4-utils/p4app.json`.
    P4Utils,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Txtpb,
        Self::Binpb,
        Self::Commands,
        Self::Tutorials,
        Self::P4Utils,
    ];

    /// Its name for `--formats`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Txtpb => "txtpb",
            Self::Binpb => "binpb",
            Self::Commands => "commands",
            Self::Tutorials => "tutorials",
            Self::P4Utils => "p4-utils",
        }
    }
}

/// The formats of a build. One of those that P4Runtime has is always among them: it is what
/// everything of ours reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats(BTreeSet<Format>);

impl Default for Formats {
    /// The text alone.
    fn default() -> Self {
        Self::new([])
    }
}

impl Formats {
    /// These, and the text if the binary format is not among them.
    #[must_use]
    pub fn new(formats: impl IntoIterator<Item = Format>) -> Self {
        let mut formats: BTreeSet<Format> = formats.into_iter().collect();
        if !formats.contains(&Format::Binpb) {
            formats.insert(Format::Txtpb);
        }
        Self(formats)
    }

    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::new(Format::ALL)
    }

    /// Whether it is among them.
    #[must_use]
    pub fn has(&self, format: Format) -> bool {
        self.0.contains(&format)
    }

    /// Whether some are written that have lines for `simple_switch_CLI`.
    #[must_use]
    pub(crate) fn has_commands(&self) -> bool {
        let with = [Format::Commands, Format::Tutorials, Format::P4Utils];
        with.into_iter().any(|format| self.has(format))
    }

    /// Their names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|format| format.name()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_p4runtimes_formats_is_always_there() {
        assert_eq!(Formats::default().names(), ["txtpb"]);
        let commands = Formats::new([Format::Commands]);
        assert_eq!(commands.names(), ["txtpb", "commands"]);
        assert_eq!(Formats::new([Format::Binpb]).names(), ["binpb"]);
        let both = Formats::new([Format::Binpb, Format::Txtpb, Format::Txtpb]);
        assert_eq!(both.names(), ["txtpb", "binpb"]);
    }
}
