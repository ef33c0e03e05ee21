//! The buffer, PFC and ports of a switch in virtual time.

mod ahead;
mod conservation;
mod net;
mod pfc;
mod ports;
mod sharing;
