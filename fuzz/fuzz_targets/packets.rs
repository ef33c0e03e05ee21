//! libFuzzer on the target `packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bmv2_tests::fuzz::run("packets", input));
