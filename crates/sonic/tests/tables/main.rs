//! What is written is what the plan says: every (tag, ingress port, egress port) of every switch is looked up in the tables
//! that were read back.

mod written;
