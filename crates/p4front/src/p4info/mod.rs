//! P4Info of a program: the control plane's view of it.

mod facts;

pub(crate) use facts::Facts;
