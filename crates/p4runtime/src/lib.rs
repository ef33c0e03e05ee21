//! P4Runtime protos, canonical byte strings, text format.
