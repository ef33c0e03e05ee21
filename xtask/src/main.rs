//! `cargo xtask`: the chores of the repository.
fn main() {}
