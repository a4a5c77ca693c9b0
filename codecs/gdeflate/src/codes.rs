//! Canonical prefix codes: tables to decode them, and codes for the frequencies of symbols.

use zarr_spec::{CodecError, CodecResult};

use crate::tables::MAX_BITS;

/// Number of bits that the first table of a decoder resolves.
const DIRECT: usize = 10;

/// Decodes the symbols of one canonical code.
#[derive(Debug, Clone)]
pub(crate) struct Decoding {
    /// For each value of the next bits, the symbol and the length of its code; length 0 for longer codes.
    direct: Vec<(u16, u8)>,
    /// For each length, the first code, the number of codes, and the position of their first symbol.
    by_length: [(u32, u32, u32); MAX_BITS + 1],
    /// The symbols in the order of their codes.
    symbols: Vec<u16>,
    /// The only symbol, whose code is one bit of any value.
    only: Option<u16>,
}

impl Decoding {
    /// Creates the decoder for codes of the given lengths; 0 for symbols without a code.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`] if the lengths do not form a complete code, or one symbol has a code of several bits.
    pub(crate) fn new(lengths: &[u8]) -> CodecResult<Self> {
        let mut counts = [0_u32; MAX_BITS + 1];
        for &length in lengths {
            counts[usize::from(length)] += 1;
        }
        counts[0] = 0;
        let total: u32 = counts.iter().sum();
        let used: u32 = counts.iter().enumerate().map(|(length, count)| count << (MAX_BITS - length)).sum();
        let is_complete = used == 1 << MAX_BITS;
        let is_single = total == 1 && counts[1] == 1;
        if !is_complete && !is_single && total > 0 {
            return Err(CodecError::corrupt("the lengths of codes do not form a complete code"));
        }
        let mut by_length = [(0, 0, 0); MAX_BITS + 1];
        let mut code = 0;
        let mut position = 0;
        for length in 1..=MAX_BITS {
            code = (code + counts[length - 1]) << 1;
            by_length[length] = (code, counts[length], position);
            position += counts[length];
        }
        let mut ordered: Vec<(u8, u16)> = Vec::with_capacity(total as usize);
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            ordered.push((length, u16::try_from(symbol).unwrap_or(u16::MAX)));
        }
        ordered.sort_unstable();
        let symbols: Vec<u16> = ordered.iter().map(|(_, symbol)| *symbol).collect();
        let only = if is_single { symbols.first().copied() } else { None };
        let mut decoding = Self { direct: vec![(0, 0); 1 << DIRECT], by_length, symbols, only };
        decoding.fill_direct(&ordered);
        Ok(decoding)
    }

    fn fill_direct(&mut self, ordered: &[(u8, u16)]) {
        let mut positions = [0; MAX_BITS + 1];
        for &(length, symbol) in ordered {
            let bits = usize::from(length);
            let code = self.by_length[bits].0 + positions[bits];
            positions[bits] += 1;
            if bits <= DIRECT {
                let first = reversed(code, bits) as usize;
                self.direct
                    .iter_mut()
                    .skip(first)
                    .step_by(1 << bits)
                    .for_each(|entry| *entry = (symbol, length));
            }
        }
    }

    /// Returns the symbol whose code begins at the lowest of `bits`, and the length of its code.
    pub(crate) fn symbol(&self, bits: u64) -> CodecResult<(usize, u32)> {
        #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits are used")]
        let (symbol, length) = self.direct[bits as usize & ((1 << DIRECT) - 1)];
        if length > 0 {
            return Ok((usize::from(symbol), length.into()));
        }
        if let Some(only) = self.only {
            return Ok((usize::from(only), 1));
        }
        let mut code = 0;
        for length in 1..=MAX_BITS {
            code = (code << 1) | u32::from((bits >> (length - 1)) & 1 == 1);
            let (first, count, position) = self.by_length[length];
            if code >= first && code - first < count {
                let symbol = self.symbols[(position + code - first) as usize];
                #[expect(clippy::cast_possible_truncation, reason = "at most 15")]
                return Ok((usize::from(symbol), length as u32));
            }
        }
        Err(CodecError::corrupt("a symbol has no code"))
    }
}

/// Returns the lowest `length` bits of a code in the opposite order.
pub(crate) fn reversed(code: u32, length: usize) -> u32 {
    if length == 0 { 0 } else { code.reverse_bits() >> (32 - length) }
}

/// The codes of an alphabet: for each symbol, the bits in the order of the stream, and their number.
pub(crate) fn codes(lengths: &[u8]) -> Vec<(u32, u32)> {
    let mut counts = [0_u32; MAX_BITS + 1];
    for &length in lengths.iter().filter(|length| **length > 0) {
        counts[usize::from(length)] += 1;
    }
    let mut next = [0_u32; MAX_BITS + 1];
    for length in 1..=MAX_BITS {
        next[length] = (next[length - 1] + counts[length - 1]) << 1;
    }
    let code = |&length: &u8| {
        let length = usize::from(length);
        if length == 0 {
            return (0, 0);
        }
        let code = next[length];
        next[length] += 1;
        #[expect(clippy::cast_possible_truncation, reason = "at most 15")]
        (reversed(code, length), length as u32)
    };
    lengths.iter().map(code).collect()
}

/// Returns the lengths of codes for the frequencies of symbols, at most `limit` bits. A single symbol gets one bit, and
/// so does a second one that does not occur, because a code has to be complete.
pub(crate) fn lengths_for(frequencies: &[u32], limit: usize) -> Vec<u8> {
    let mut lengths = vec![0_u8; frequencies.len()];
    let mut symbols: Vec<usize> = (0..frequencies.len()).filter(|&symbol| frequencies[symbol] > 0).collect();
    if symbols.len() < 2 {
        let only = symbols.first().copied().unwrap_or(0);
        lengths[only] = 1;
        lengths[usize::from(only == 0)] = 1;
        return lengths;
    }
    symbols.sort_by_key(|&symbol| frequencies[symbol]);
    let mut counts =
        depth_counts(&symbols.iter().map(|&symbol| u64::from(frequencies[symbol])).collect::<Vec<_>>());
    limit_depths(&mut counts, limit);
    // The rarest symbols get the longest codes.
    let mut rarest = symbols.into_iter();
    for (length, count) in counts.iter().enumerate().rev() {
        for symbol in rarest.by_ref().take(*count) {
            lengths[symbol] = u8::try_from(length).unwrap_or(u8::MAX);
        }
    }
    lengths
}

/// Returns the number of leaves at each depth of a Huffman tree. The frequencies are sorted.
fn depth_counts(frequencies: &[u64]) -> Vec<usize> {
    let leaves = frequencies.len();
    let mut weights = frequencies.to_vec();
    let mut parents = vec![0_usize; 2 * leaves - 1];
    let mut leaf = 0;
    let mut inner = leaves;
    for node in leaves..2 * leaves - 1 {
        let mut weight = 0;
        for _child in 0..2 {
            let is_leaf = leaf < leaves && (inner == node || weights[leaf] <= weights[inner]);
            let child = if is_leaf { &mut leaf } else { &mut inner };
            weight += weights[*child];
            parents[*child] = node;
            *child += 1;
        }
        weights.push(weight);
    }
    let mut depths = vec![0_usize; 2 * leaves - 1];
    let mut counts = vec![0_usize; leaves.max(MAX_BITS) + 1];
    for node in (0..2 * leaves - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
        if node < leaves {
            counts[depths[node]] += 1;
        }
    }
    counts
}

/// Moves leaves that are deeper than `limit` up. The number of leaves does not change, and the tree stays complete.
fn limit_depths(counts: &mut [usize], limit: usize) {
    let deeper: usize = counts[limit + 1..].iter().sum();
    counts[limit + 1..].fill(0);
    counts[limit] += deeper;
    let unit = |length: usize| 1_u64 << (limit - length);
    let mut used: u64 = (1..=limit).map(|length| counts[length] as u64 * unit(length)).sum();
    // Each step replaces a leaf of depth `limit` and one of a smaller depth by two leaves below the latter.
    while used > unit(0) {
        counts[limit] -= 1;
        used -= 1;
        for length in (1..limit).rev() {
            if counts[length] > 0 {
                counts[length] -= 1;
                counts[length + 1] += 2;
                break;
            }
        }
    }
}
