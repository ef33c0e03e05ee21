//! Typed IR of a P4_16 program.
