//! Random runs and programs, and the kept inputs of the fuzz targets.

mod ahead;
mod answers;
mod both;
mod by_json;
mod checksums;
mod differential;
mod fuzz_corpus;
mod headers;
mod independent;
mod lanes;
mod picks;
mod statements;
