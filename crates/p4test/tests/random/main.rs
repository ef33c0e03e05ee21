//! Random runs and programs, and the kept inputs of the fuzz targets.

mod differential;
mod fuzz_corpus;
mod statements;
