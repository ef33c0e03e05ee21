//! Plans: the tables that a scheme computed, and the independent proof of them.
