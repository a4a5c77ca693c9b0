//! The benches are in `benches/`; this crate does not have other code.
