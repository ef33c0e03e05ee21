//! Case files: our own on every executor and on BMv2, and p4c's, from source and from what p4c made
//! of it; the solutions of p4lang/tutorials; and what plans ask of switches.

mod bmv2;
mod bmv2_json;
mod json_says;
mod ours;
mod p4c_samples;
mod plans;
mod refusals;
mod tutorials;
