//! Reads a request, computes the tables that it asks for and proves them; then one whose options
//! contradict each other.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use plan::check::{Options, check};
use spec::Request;

const REQUEST: &str = "
topology:
  clos: { leaves: 4, spines: 4 }
plan:
  scheme: edst
  trees: 2
";

fn main() -> Result<(), Box<dyn Error>> {
    let request: Request = serde_saphyr::from_str(REQUEST)?;
    let plan = check(request.tables()?, &Options::default())?;
    println!("{} is proven", plan.tables().provenance.scheme);

    let contradiction: Request =
        serde_saphyr::from_str(&REQUEST.replace("trees: 2", "trees: 1\n  resilience: 1"))?;
    match contradiction.tables() {
        Ok(_) => Err("one tree survives no failure".into()),
        Err(refused) => {
            println!("{refused}");
            Ok(())
        }
    }
}
