//! The format suite: stored hierarchies, and what any implementation of Zarr must make of them.
//!
//! An [`Example`] is a small hierarchy with one array that is valid, or is not. A reader is any program that is started
//! with the folder of the hierarchy, the path of the array and the name of a file, and then either writes all elements
//! to that file and ends with status 0, or says on standard error why it does not, and ends with another status.
//! Elements are in C order, numbers little endian, booleans one byte, complex numbers the real part first, structures
//! packed field by field, fixed strings padded with zeros (`U` as UCS-4), dates as `int64`; items of variable length
//! stand behind their size in bytes as `u32`.
//!
//! [`Generated`] ones are not stored: a seed stands for them.
//!
//! What counts is the bytes: a status of 0 alone says nothing. See [`Outcome`].

mod examples;
mod expected;
mod generated;
mod reader;
mod scores;

pub use examples::{Example, Expectation, FormatName, all};
pub use expected::Known;
pub use generated::{Cell, Generated};
pub use reader::{Limits, Outcome, Reader, Reading, is_available};
pub use scores::{Scores, page};
