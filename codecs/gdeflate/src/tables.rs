//! The alphabets of GDeflate, which are those of DEFLATE with three changes: length symbol 285 has 16 extra bits, and
//! distance symbols 30 and 31 exist.

/// Number of symbols for literals, the end of a block, and lengths.
pub(crate) const LITERALS: usize = 288;
/// Number of symbols for distances.
pub(crate) const DISTANCES: usize = 32;
/// Number of symbols for lengths of codes.
pub(crate) const CODE_LENGTHS: usize = 19;
/// The symbol at the end of a block.
pub(crate) const END: usize = 256;
/// Maximum length of a code in bits.
pub(crate) const MAX_BITS: usize = 15;
/// Maximum length in bits of a code for lengths of codes.
pub(crate) const MAX_LENGTH_BITS: usize = 7;
/// The minimum length of a repetition.
pub(crate) const MIN_MATCH: usize = 3;

/// The order in which a block stores the lengths of the codes for lengths.
pub(crate) const ORDER: [usize; CODE_LENGTHS] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The smallest value of a symbol and the number of extra bits.
pub(crate) type Range = (u32, u32);

/// The lengths of symbols 257 to 287.
pub(crate) const LENGTH_RANGES: [Range; 31] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (3, 16),
    (3, 16),
    (3, 16),
];

/// Returns the range of a distance symbol.
pub(crate) fn distance_range(symbol: usize) -> Range {
    let symbol = u32::try_from(symbol).unwrap_or(0);
    match symbol {
        0..4 => (symbol + 1, 0),
        _ => {
            let bits = symbol / 2 - 1;
            (((2 + symbol % 2) << bits) + 1, bits)
        }
    }
}

/// Returns the symbol of a length from 3 to 65538, with the value of its extra bits.
pub(crate) fn length_symbol(length: usize) -> (usize, u32) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let plain = &LENGTH_RANGES[..28];
    if length > 258 {
        return (285, length - 3);
    }
    let position = plain.partition_point(|(smallest, _)| *smallest <= length).saturating_sub(1);
    (257 + position, length - plain[position].0)
}

/// Returns the symbol of a distance from 1 to 65536, with the value of its extra bits.
pub(crate) fn distance_symbol(distance: usize) -> (usize, u32) {
    let rest = u32::try_from(distance).unwrap_or(u32::MAX) - 1;
    if rest < 4 {
        return (rest as usize, 0);
    }
    let bits = rest.ilog2() - 1;
    let symbol = 2 * (bits + 1) + ((rest >> bits) & 1);
    (symbol as usize, rest & ((1 << bits) - 1))
}

/// Returns the lengths of the codes of a block without its own.
pub(crate) fn fixed_lengths() -> ([u8; LITERALS], [u8; DISTANCES]) {
    let mut literals = [8; LITERALS];
    literals[144..256].fill(9);
    literals[256..280].fill(7);
    (literals, [5; DISTANCES])
}
