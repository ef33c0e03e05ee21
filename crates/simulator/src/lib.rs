//! The network of a build: embedded switches in one process, run packet by packet or in virtual
//! time.

pub mod embedded;
pub mod simulate;
