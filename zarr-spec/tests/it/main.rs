//! Contracts that need only the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod creation;
mod duplicates;
mod paths;
