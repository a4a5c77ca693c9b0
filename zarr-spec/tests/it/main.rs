//! Tests of contracts that need only the public interface.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod creation;
mod duplicates;
mod keys;
mod output;
mod paths;
mod pool;
mod store_errors;
