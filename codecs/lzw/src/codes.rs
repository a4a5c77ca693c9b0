//! The codes of LZW in TIFF files.
//!
//! A code below 256 is a byte. Code 256 empties the table, and code 257 ends the stream. The others stand for strings:
//! after each code, the table gets the string of the previous code, followed by the first byte of this one.

/// The code that empties the table.
pub(crate) const CLEAR: u32 = 256;

/// The code that ends the stream.
pub(crate) const END: u32 = 257;

/// The first code of the table.
pub(crate) const FIRST: u32 = 258;

/// The number of bits of a code after the table was emptied, and the maximum.
pub(crate) const MIN_BITS: u32 = 9;
pub(crate) const MAX_BITS: u32 = 12;

/// The number of codes.
pub(crate) const CODES: u32 = 1 << MAX_BITS;
