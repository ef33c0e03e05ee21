//! libFuzzer on the target `parser`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| p4test::fuzz::run("parser", input));
