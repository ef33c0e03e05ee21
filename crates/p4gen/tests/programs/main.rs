//! Generated programs: goldens, their P4Info, and what the vendor's compilers make of them where
//! they are installed.

mod goldens;
mod p4info;
mod tofino;
