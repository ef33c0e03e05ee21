//! libFuzzer on the target `lexer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| p4test::fuzz::run("lexer", input));
