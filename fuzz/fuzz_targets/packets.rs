//! libFuzzer on the target `packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| p4test::fuzz::run("packets", input));
