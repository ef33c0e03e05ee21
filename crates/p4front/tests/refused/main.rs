//! Programs that the front end refuses: its findings, word for word.

mod errors;
mod hostile;
mod syntax_errors;
