//! Header views and representations, checksums, PFC frames.
