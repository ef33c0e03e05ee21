//! Case files (STF, scenarios) and the one runner that plays them on every executor.
