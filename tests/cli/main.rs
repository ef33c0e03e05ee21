//! `switchwright` as a command: what it takes, prints and refuses, and what clients that others wrote see of its switch.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod clients;
mod command_line;
mod conform;
mod p4_tools;
