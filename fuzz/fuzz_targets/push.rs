//! libFuzzer on the target `push`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| p4test::fuzz::run("push", input));
