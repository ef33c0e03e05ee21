//! Compiles a program and prints its tables with their keys; an error in the program is printed
//! with its place.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use p4front::diag::Diagnostics;
use p4front::source::SourceMap;
use p4front::{Compiled, Options};

const PROGRAM: &str = include_str!("bridge.p4");

fn main() -> Result<(), Box<dyn Error>> {
    let (_, bridge) = compile(PROGRAM)?;
    for table in bridge
        .map_err(|_| "the program has errors")?
        .ir
        .tables
        .values()
    {
        let keys = table
            .keys
            .iter()
            .map(|key| format!("{} ({})", key.name, key.kind.name()));
        println!("{}: {}", table.name, keys.collect::<Vec<_>>().join(", "));
    }

    let (map, wrong) =
        compile(&PROGRAM.replace("hdr.ethernet.dst: exact", "hdr.ethernet.src: exact"))?;
    let errors = wrong.err().ok_or("a wrong program was accepted")?;
    print!("{}", errors.render(&map));
    Ok(())
}

/// Compiles a text as the file `bridge.p4`.
fn compile(text: &str) -> Result<(SourceMap, Result<Compiled, Diagnostics>), Box<dyn Error>> {
    let mut map = SourceMap::new();
    let main = map.add("bridge.p4", text)?;
    let compiled = p4front::compile(&mut map, main, &Options::default());
    Ok((map, compiled))
}
