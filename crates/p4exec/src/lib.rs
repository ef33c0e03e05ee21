//! Executors of p4ir programs: the reference interpreter, tables, externs.
