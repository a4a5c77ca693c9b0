//! Encoding a page.

use crate::codes::{codes, lengths_for};
use crate::lanes::{LANES, WORD_SIZE, Writer};
use crate::matches::{Effort, Finder, Token};
use crate::tables::{
    CODE_LENGTHS, DISTANCES, END, LENGTH_RANGES, LITERALS, MAX_BITS, MAX_LENGTH_BITS, ORDER, distance_range,
    distance_symbol, fixed_lengths, length_symbol,
};

/// The maximum number of bytes by which a stored page exceeds its decoded size: two words for each lane, which the
/// decoder reads ahead, and the headers of its blocks.
pub(crate) const MAX_OVERHEAD: usize = 2 * LANES * WORD_SIZE + 16;

/// The maximum number of bytes of a stored block.
const MAX_STORED: usize = (1 << 16) - 1;

/// Encodes the pages of a chunk.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// Finds repetitions; none at level 0, which stores all bytes.
    finder: Option<Finder>,
}

/// A symbol with the value and the number of its extra bits.
#[derive(Debug, Clone, Copy)]
struct Coded {
    symbol: usize,
    extra: u32,
    bits: u32,
}

/// The codes of a block.
struct BlockCodes {
    literals: Vec<(u32, u32)>,
    distances: Vec<(u32, u32)>,
}

impl Encoder {
    pub(crate) fn new(level: u8) -> Self {
        Self { finder: (level > 0).then(|| Finder::new(Effort::of(level))) }
    }

    /// Returns the encoded form of a page: the smallest of a block with its own codes, one without, and stored bytes.
    pub(crate) fn page(&mut self, page: &[u8]) -> Vec<u8> {
        let Some(finder) = &mut self.finder else { return stored(page) };
        let tokens = finder.tokens(page);
        let own = with_own_codes(&tokens);
        let fixed = with_fixed_codes(&tokens);
        let best = if fixed.len() <= own.len() { fixed } else { own };
        let stored = stored(page);
        if stored.len() <= best.len() { stored } else { best }
    }
}

fn stored(page: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    let blocks = page.chunks(MAX_STORED);
    let last = blocks.len().saturating_sub(1);
    for (number, block) in blocks.enumerate() {
        begin(&mut writer, number == last, 0);
        writer.put(u32::try_from(block.len()).unwrap_or(0), 16);
        for &byte in block {
            writer.put(byte.into(), 8);
            writer.advance();
        }
        (0..LANES).for_each(|_lane| writer.advance());
    }
    writer.finish()
}

fn begin(writer: &mut Writer, is_last: bool, kind: u32) {
    writer.reset();
    writer.put(is_last.into(), 1);
    writer.put(kind, 2);
    writer.fill();
}

fn with_fixed_codes(tokens: &[Token]) -> Vec<u8> {
    let (literals, distances) = fixed_lengths();
    let mut writer = Writer::new();
    begin(&mut writer, true, 1);
    write_tokens(
        &mut writer,
        tokens,
        &BlockCodes { literals: codes(&literals), distances: codes(&distances) },
    );
    writer.finish()
}

fn with_own_codes(tokens: &[Token]) -> Vec<u8> {
    let mut literal_counts = [0; LITERALS];
    let mut distance_counts = [0; DISTANCES];
    literal_counts[END] = 1;
    for token in tokens {
        match *token {
            Token::Literal(byte) => literal_counts[usize::from(byte)] += 1,
            Token::Repetition { length, distance } => {
                literal_counts[length_symbol(length).0] += 1;
                distance_counts[distance_symbol(distance).0] += 1;
            }
        }
    }
    let mut literals = lengths_for(&literal_counts, MAX_BITS);
    let mut distances = lengths_for(&distance_counts, MAX_BITS);
    let codes = BlockCodes { literals: codes(&literals), distances: codes(&distances) };
    truncate(&mut literals, END + 1);
    truncate(&mut distances, 1);
    let mut writer = Writer::new();
    begin(&mut writer, true, 2);
    write_codes(&mut writer, &literals, &distances);
    write_tokens(&mut writer, tokens, &codes);
    writer.finish()
}

/// Removes the zeros at the end, but not the first `least` lengths.
fn truncate(lengths: &mut Vec<u8>, least: usize) {
    let used = lengths.iter().rposition(|&length| length > 0).map_or(0, |last| last + 1);
    lengths.truncate(used.max(least));
}

/// Writes the lengths of the codes of a block.
fn write_codes(writer: &mut Writer, literals: &[u8], distances: &[u8]) {
    let coded = coded_lengths(&[literals, distances].concat());
    let mut counts = [0; CODE_LENGTHS];
    coded.iter().for_each(|coded| counts[coded.symbol] += 1);
    let lengths = lengths_for(&counts, MAX_LENGTH_BITS);
    let explicit = ORDER.iter().rposition(|&symbol| lengths[symbol] > 0).map_or(4, |last| (last + 1).max(4));
    let number = |number: usize| u32::try_from(number).unwrap_or(0);
    writer.put(number(literals.len() - 257), 5);
    writer.put(number(distances.len() - 1), 5);
    writer.put(number(explicit - 4), 4);
    writer.fill();
    for &symbol in &ORDER[..explicit] {
        writer.put(lengths[symbol].into(), 3);
        writer.advance();
    }
    writer.reset();
    let codes = codes(&lengths);
    for coded in coded {
        write(writer, coded, &codes);
        writer.advance();
    }
}

/// Returns the lengths of codes, with symbols for runs of equal lengths.
fn coded_lengths(lengths: &[u8]) -> Vec<Coded> {
    let mut coded = Vec::new();
    let mut push = |symbol, extra: usize, bits| {
        coded.push(Coded { symbol, extra: u32::try_from(extra).unwrap_or(0), bits });
    };
    for run in lengths.chunk_by(|one, other| one == other) {
        let length = usize::from(run[0]);
        let mut left = run.len();
        if length > 0 {
            push(length, 0, 0);
            left -= 1;
        }
        while left >= 3 {
            let (symbol, smallest, largest, bits) = match (length, left) {
                (0, 11..) => (18, 11, 138, 7),
                (0, _) => (17, 3, 10, 3),
                _ => (16, 3, 6, 2),
            };
            let count = left.min(largest);
            push(symbol, count - smallest, bits);
            left -= count;
        }
        (0..left).for_each(|_one| push(length, 0, 0));
    }
    coded
}

/// Writes the tokens and the end of a block. The distance of a repetition follows in its lane at the next visit.
fn write_tokens(writer: &mut Writer, tokens: &[Token], codes: &BlockCodes) {
    writer.reset();
    let mut pending: [Option<usize>; LANES] = [None; LANES];
    let mut tokens = tokens.iter();
    loop {
        let lane = writer.current();
        if let Some(distance) = pending[lane].take() {
            write(writer, coded_distance(distance), &codes.distances);
        } else {
            match tokens.next() {
                Some(&Token::Literal(byte)) => {
                    write(writer, Coded { symbol: byte.into(), extra: 0, bits: 0 }, &codes.literals);
                }
                Some(&Token::Repetition { length, distance }) => {
                    let (symbol, extra) = length_symbol(length);
                    let bits = LENGTH_RANGES[symbol - END - 1].1;
                    write(writer, Coded { symbol, extra, bits }, &codes.literals);
                    pending[lane] = Some(distance);
                }
                None => break,
            }
        }
        writer.advance();
    }
    write(writer, Coded { symbol: END, extra: 0, bits: 0 }, &codes.literals);
    for _lane in 0..LANES {
        if let Some(distance) = pending[writer.current()].take() {
            write(writer, coded_distance(distance), &codes.distances);
        }
        writer.advance();
    }
}

fn coded_distance(distance: usize) -> Coded {
    let (symbol, extra) = distance_symbol(distance);
    Coded { symbol, extra, bits: distance_range(symbol).1 }
}

fn write(writer: &mut Writer, coded: Coded, codes: &[(u32, u32)]) {
    let (code, length) = codes[coded.symbol];
    writer.put(code, length);
    writer.put(coded.extra, coded.bits);
}
