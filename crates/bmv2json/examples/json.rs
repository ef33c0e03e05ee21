//! Reads the BMv2 JSON files named on the command line and tells what becomes of each.

#![allow(clippy::print_stdout)]

fn main() {
    let (mut good, mut bad) = (0, 0);
    for path in std::env::args().skip(1) {
        let read = std::fs::read_to_string(&path).map_err(|e| e.to_string());
        match read.and_then(|text| bmv2json::read(&text).map_err(|e| e.to_string())) {
            Ok(_) => good += 1,
            Err(e) => {
                bad += 1;
                println!("FAIL {path}: {e}");
            }
        }
    }
    println!("{good} read, {bad} refused");
}
