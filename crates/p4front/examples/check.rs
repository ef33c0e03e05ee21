//! Compiles the programs named on the command line and tells what becomes of each: a line per program, or
//! its findings (`-v`), or its IR (`-i`).

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

use p4front::source::SourceMap;
use p4front::{Options, compile};

fn main() {
    let mut verbose = false;
    let mut ir = false;
    let mut options = Options::on_disk();
    let (mut good, mut bad) = (0, 0);
    for arg in std::env::args().skip(1) {
        match arg.as_str() {
            "-v" => verbose = true,
            "-i" => ir = true,
            _ => match arg.strip_prefix("-I") {
                Some(dir) => options.include_paths.push(PathBuf::from(dir)),
                None => {
                    if one(&arg, &options, verbose, ir) {
                        good += 1;
                    } else {
                        bad += 1;
                    }
                }
            },
        }
    }
    println!("{good} accepted, {bad} refused");
}

fn one(path: &str, options: &Options, verbose: bool, ir: bool) -> bool {
    let mut map = SourceMap::new();
    let main = match map.load(Path::new(path)) {
        Ok(main) => main,
        Err(e) => {
            println!("FAIL {path}: {e}");
            return false;
        }
    };
    match compile(&mut map, main, options) {
        Ok(compiled) => {
            if ir {
                print!("{}", *compiled.ir);
            }
            true
        }
        Err(diags) => {
            let first = diags.iter().find(|d| d.is_error());
            let text = first.map_or(String::new(), |d| format!("[{}] {}", d.code, d.message));
            println!("FAIL {path}: {text}");
            if verbose {
                print!("{}", diags.render(&map));
            }
            false
        }
    }
}
