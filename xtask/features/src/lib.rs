//! No code: this crate is selected for its dependencies.
