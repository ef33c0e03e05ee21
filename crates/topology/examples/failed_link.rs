//! Generates a leaf-spine network, lets a link fail, and prints how far leaves are from each other
//! before and after.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use topology::generate::{Cables, Clos};
use topology::{Distances, Fabric, Topology};

fn main() -> Result<(), Box<dyn Error>> {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let before = clos.generate()?;
    let link = before.link_named("leaf1-spine1")?;
    let after = before.with_failed_links(&[link]);
    for (when, topology) in [("before", &before), ("after", &after)] {
        println!("{when}: leaf1 -> spine1 takes {} links", links(topology)?);
    }
    // The file says which links are down, and reads back as the same topology.
    let file = after.to_json();
    assert_eq!(Topology::from_json(&file)?.to_json(), file);
    Ok(())
}

/// How many links lie between `leaf1` and `spine1`.
fn links(topology: &Topology) -> Result<u16, Box<dyn Error>> {
    let (from, to) = (
        topology.switch_named("leaf1")?,
        topology.switch_named("spine1")?,
    );
    let distances = Distances::new(&Fabric::new(topology), &[to]);
    Ok(distances.row(0)[from.index()])
}
