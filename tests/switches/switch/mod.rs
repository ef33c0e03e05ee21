//! `switchwright switch` and `switchwright cli` as processes: alone, with few rights, with real
//! hosts, as a network; Mininet and the exercises of p4lang/tutorials where they are installed.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod builds;
mod hosts;
mod mininet;
mod network;
mod process;
mod rights;
mod support;
mod threads;
