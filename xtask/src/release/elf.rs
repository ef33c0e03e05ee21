//! What a binary asks of the machine that it runs on.

use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, elf};

/// Checks that a binary is static and has no symbol table.
///
/// # Errors
/// What it needs or has.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let wrong = |error: object::read::Error| format!("it is no ELF file of 64 bits: {error}");
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(wrong)?;
    let (header, endian) = (file.elf_header(), file.endian());
    for segment in header.program_headers(endian, bytes).map_err(wrong)? {
        if segment.p_type(endian) == elf::PT_INTERP {
            return Err("it is not static: it names a dynamic loader (PT_INTERP)".to_owned());
        }
        let dynamic = segment.dynamic(endian, bytes).map_err(wrong)?;
        let mut dynamic = dynamic.unwrap_or_default().iter();
        if dynamic.any(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            return Err("it is not static: it needs a library (DT_NEEDED)".to_owned());
        }
    }
    let sections = header.section_headers(endian, bytes).map_err(wrong)?;
    let mut sections = sections.iter();
    if sections.any(|section| section.sh_type(endian) == elf::SHT_SYMTAB) {
        return Err("it is not stripped: it has a symbol table (SHT_SYMTAB)".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_binary_is_refused() {
        let own = std::fs::read(std::env::current_exe().expect("a test")).expect("readable");
        let refused = check(&own).expect_err("tests are linked dynamically");
        assert!(refused.contains("not static"), "{refused}");
    }

    #[test]
    fn what_is_no_binary_is_refused() {
        for bytes in [&b""[..], b"#!/bin/sh\n", &[0x7f, b'E', b'L', b'F']] {
            assert!(check(bytes).is_err(), "{bytes:?}");
        }
    }
}
