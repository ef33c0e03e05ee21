//! libFuzzer on the target `compile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| p4test::fuzz::run("compile", input));
