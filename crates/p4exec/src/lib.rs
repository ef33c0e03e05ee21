//! Executors of `p4ir` programs and the state they run on: values, tables, externs, the reference
//! interpreter.

pub mod bitio;
pub mod externs;
pub mod tables;
pub mod value;
