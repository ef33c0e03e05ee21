//! libFuzzer on the target `compile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bmv2_tests::fuzz::run("compile", input));
