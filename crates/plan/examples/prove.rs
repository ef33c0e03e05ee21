//! Plans tags for a leaf-spine network, proves the tables, then has bounced packets keep their tag
//! and prints why the proof refuses that.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use plan::NewTag;
use plan::check::{Options, check};
use schemes::{TaggerOptions, tagger};
use topology::generate::{Cables, Clos};

fn main() -> Result<(), Box<dyn Error>> {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let tables = tagger(&clos.generate()?, &TaggerOptions::default())?;
    let mut broken = tables.clone();

    let proven = check(tables, &Options::default())?;
    let report = proven.report();
    let priorities = report.lossless_priorities;
    println!("proven: no cyclic buffer dependency, {priorities} lossless priorities");

    // A packet that bounces keeps its tag: now buffers may wait on each other in a circle.
    for rule in broken.tagging.rules.iter_mut().flatten() {
        rule.new_tag = NewTag::Lossless(rule.tag);
    }
    match check(broken, &Options::default()) {
        Ok(_) => Err("tables with a cyclic buffer dependency were proven".into()),
        Err(refused) => {
            println!("refused: {}", refused.errors[0]);
            Ok(())
        }
    }
}
