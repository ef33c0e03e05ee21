//! `switchwright` as a command: what it takes, prints and refuses, and what clients that others
//! wrote see of its switch.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod bad_inputs;
mod cabling;
mod clients;
mod command_line;
mod conform;
mod documents;
mod edited;
mod entries;
mod examples;
mod figures;
mod help;
mod idle;
mod lab;
mod labs;
mod lsp;
mod output;
mod p4_tools;
mod p4c;
mod ports;
mod shards;
mod sonic;
mod submit;
mod tables;
mod verdicts;
