//! A client of P4Runtime servers, for whoever talks to one: what pushes programs and entries, what
//! judges a server, what measures one.
//!
//! | what | type |
//! |---|---|
//! | where a server is, and the transport to it | [`Endpoint`], [`Tls`] |
//! | who a call claims to come from, and the messages of that client | [`Identity`], [`ElectionId`] |
//! | calls, each within a time | [`Connection`] |
//! | arbitration, packets, digests | [`Stream`] |
//!
//! Nothing here retries or decides: a status of the server is handed on as it came. The one status
//! made here is DEADLINE_EXCEEDED with a cause ([`NoAnswer`]), for a server that stays silent.

mod connection;
mod encoded;
mod endpoint;
mod identity;

pub use connection::{Connection, NoAnswer, Stream};
pub use endpoint::{ConnectError, Endpoint, Tls};
pub use identity::{ElectionId, Identity};
