//! Programs that the front end takes: what it makes of them, and p4c's samples where they are at
//! hand.

mod format;
mod lower;
mod newtype;
mod p4c_samples;
mod p4c_shares;
mod preprocess;
mod shared_names;
mod tna;
mod trees;
mod unused;
