//! The `switchwright` command.

fn main() {}
