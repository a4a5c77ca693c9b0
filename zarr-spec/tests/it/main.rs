//! Contracts that need only the public interface.

mod creation;
mod paths;
