//! Random programs of random statements: our executors do what the language says.
//!
//! `cargo xtask differ --statements N` runs more of them, and asks p4c and BMv2 where they are
//! installed.

#![allow(clippy::print_stdout, reason = "says what was compared")]

use p4test::statements::{Judges, Tally, one};
use stf::bmv2::missing_tool;

/// Programs of this test.
const PROGRAMS: u64 = 300;
/// Those that `simple_switch` runs too.
const JUDGED: u64 = 40;

#[test]
fn random_programs_do_what_the_language_says() {
    let mut all = Tally::default();
    for seed in 0..PROGRAMS {
        match one(seed, Judges::default()) {
            Ok(tally) => all += tally,
            Err(found) => panic!("seed {seed}:\n{found}"),
        }
    }
    println!("{all:?}");
    assert_eq!(all.programs, PROGRAMS);
    // Most of what is made means something.
    assert!(all.undefined * 3 < all.packets, "{all:?}");
    // What JSON does not say is refused, and most of it is said.
    assert!(all.ours.compiled * 10 > PROGRAMS * 9, "{all:?}");
}

#[test]
fn simple_switch_does_the_same_with_our_json() {
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    let judges = Judges {
        p4c: false,
        simple_switch: true,
    };
    let mut all = Tally::default();
    for seed in 0..JUDGED {
        match one(seed, judges) {
            Ok(tally) => all += tally,
            Err(found) => panic!("seed {seed}:\n{found}"),
        }
    }
    println!("{all:?}");
    assert!(all.ours.simple_switch * 2 > JUDGED, "{all:?}");
}
