//! Generated entries: against the plan, and in BMv2 where it is installed.

mod on_bmv2;
mod restrictions;
mod tagger;
