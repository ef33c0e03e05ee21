//! libFuzzer on the target `push`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bmv2_tests::fuzz::run("push", input));
