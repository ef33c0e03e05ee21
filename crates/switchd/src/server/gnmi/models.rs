//! The published models, and the nodes of the tree that they make.

/// A published model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Interfaces,
    Ethernet,
    P4rt,
}

impl Module {
    pub(super) const ALL: [Self; 3] = [Self::Interfaces, Self::Ethernet, Self::P4rt];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Interfaces => "openconfig-interfaces",
            Self::Ethernet => "openconfig-if-ethernet",
            Self::P4rt => "openconfig-p4rt",
        }
    }

    /// The version of the model (`oc-ext:openconfig-version`) that the leaves were taken from.
    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::Interfaces => "3.8.1",
            Self::Ethernet => "2.18.0",
            Self::P4rt => "1.0.0",
        }
    }

    /// As the statement `organization` of the model has it.
    pub(super) const fn organization(self) -> &'static str {
        match self {
            Self::Interfaces | Self::Ethernet => "OpenConfig working group",
            Self::P4rt => "OpenConfig Working Group",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|module| module.name() == name)
    }
}

/// A node on the way to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) module: Module,
}
