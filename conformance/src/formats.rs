//! The format suite: stored hierarchies, and the required behavior of Zarr readers.
//!
//! An [`Example`] is a small hierarchy with one array, valid or invalid. A reader is any program that takes the
//! folder of the hierarchy, the path of the array and the name of a file. It either writes all elements to that file
//! and exits with status 0, or prints the reason to standard error and exits with another status.
//!
//! The file holds the elements in C order:
//!
//! - Numbers are little endian, booleans are one byte, and complex numbers have the real part first.
//! - Structures are packed field by field.
//! - Fixed strings are padded with zeros (`U` as UCS-4).
//! - Dates are `int64`.
//! - Items of variable length follow their size in bytes as `u32`.
//! - An element that may be missing is an item of variable length: nothing if it is missing, otherwise the byte 1 and the
//!   element.
//!
//! [`Generated`] examples are not stored; they follow from a seed.
//!
//! A reader passes only with the right bytes: status 0 does not suffice. See [`Outcome`].

mod examples;
mod expected;
mod generated;
mod reader;
mod scores;

pub use examples::{Example, Expectation, FormatName, all};
pub use expected::Known;
pub use generated::{Cell, Generated};
pub use reader::{Limits, Outcome, Reader, Reading, Stored, is_available};
pub use scores::{Scores, page};
