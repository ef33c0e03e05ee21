//! The extension module `switchwright._engine` of the wheel: the engine that pages ask (crate
//! `engine`), what it leaves to others, and the command. What people use is Python around it,
//! in `python/switchwright/`.
//!
//! The crate is empty without its feature `extension`; see `Cargo.toml`.

#[cfg(feature = "extension")]
mod engine;
#[cfg(feature = "extension")]
mod module;
