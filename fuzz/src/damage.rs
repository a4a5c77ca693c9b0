//! Changes to the files of a hierarchy.

use std::ops::Range;

use crate::formats::Files;

/// A file, a kind of change, a position of two bytes, and a value.
pub(crate) type Change = [u8; 5];

/// Numbers that replace numbers in documents.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65536",
    "2147483647",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "0.5",
    "null",
    "[1]",
];

/// Texts that replace strings in documents.
const TEXTS: [&str; 32] = [
    "",
    "/",
    ".",
    "|b1",
    "<i8",
    ">c16",
    "|O",
    "<M8[ns]",
    "C",
    "F",
    "bool",
    "int8",
    "float64",
    "r24",
    "string",
    "bytes",
    "NaN",
    "AAAA",
    "gzip",
    "zstd",
    "blosc",
    "crc32c",
    "transpose",
    "sharding_indexed",
    "vlen-utf8",
    "packbits",
    "end",
    "start",
    "big",
    "regular",
    "v2",
    "group",
];

/// 64-bit words that replace words in chunks.
const WORDS: [u64; 8] =
    [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x1_0000_0000, 0x4000_0000_0000_0000, i64::MAX as u64, u64::MAX];

/// The size up to which changes may grow a file, in bytes.
const LARGEST: usize = 1 << 16;

/// Changes one or two files.
pub(crate) fn damage(files: &mut Files, change: &Change) {
    let &[file, what, low, high, value] = change;
    if files.is_empty() {
        return;
    }
    let file = usize::from(file) % files.len();
    let other = usize::from(value) % files.len();
    let place = usize::from(u16::from_le_bytes([low, high])) % files[file].1.len().max(1);
    match what % 16 {
        8 => swap(files, file, other),
        9 => drop(files.remove(file)),
        10 => repeat(files, file, value),
        11 => splice(files, file, place, other),
        12 => files[file].1 = files[other].1.clone(),
        13 => replace_word(&mut files[file].1, place, value),
        14 => replace_number(&mut files[file].1, place, value),
        15 => replace_text(&mut files[file].1, place, value),
        what => change_bytes(&mut files[file].1, what, place, value),
    }
}

/// Changes a byte, four bytes, or the length.
fn change_bytes(bytes: &mut Vec<u8>, what: u8, place: usize, value: u8) {
    match what {
        0 => bytes.truncate(place),
        1 => bytes.insert(place, value),
        2 if !bytes.is_empty() => drop(bytes.remove(place)),
        3 if bytes.len() < LARGEST => {
            let end = bytes.len().min(place + usize::from(value));
            bytes.extend_from_within(place..end);
        }
        4 => {
            let end = bytes.len().min(place + 4);
            bytes[place..end].fill(value);
        }
        5 if !bytes.is_empty() => bytes[place] ^= 1 << (value % 8),
        // Inserts a digit, which changes numbers in documents.
        6 => bytes.insert(place, b'0' + value % 10),
        _ if !bytes.is_empty() => bytes[place] = value,
        _ => bytes.push(value),
    }
}

/// Swaps the values of two keys.
fn swap(files: &mut Files, one: usize, other: usize) {
    if let Ok([(_, one), (_, other)]) = files.get_disjoint_mut([one, other]) {
        std::mem::swap(one, other);
    }
}

/// Copies a value to a key that differs only in its last number, which may be the key of another chunk.
fn repeat(files: &mut Files, file: usize, value: u8) {
    let (key, bytes) = &files[file];
    let Some(end) = key.rfind(|c: char| c.is_ascii_digit()).map(|end| end + 1) else { return };
    let start = key[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |before| before + 1);
    let key = format!("{}{}{}", &key[..start], value % 8, &key[end..]);
    if !files.iter().any(|(there, _)| *there == key) {
        let bytes = bytes.clone();
        files.push((key, bytes));
    }
}

/// Joins the beginning of one value and the end of another.
fn splice(files: &mut Files, file: usize, place: usize, other: usize) {
    let end = &files[other].1;
    let end = end[place.min(end.len())..].to_vec();
    files[file].1.truncate(place);
    files[file].1.extend(end);
}

/// Replaces a word of 32 or 64 bits, in either byte order.
fn replace_word(bytes: &mut [u8], place: usize, value: u8) {
    let word = WORDS[usize::from(value) % WORDS.len()];
    let word = if value & 0x40 == 0 { word.to_le_bytes() } else { word.to_be_bytes() };
    let word = if value & 0x80 == 0 { &word[..] } else { &word[..4] };
    let end = bytes.len().min(place + word.len());
    bytes[place..end].copy_from_slice(&word[..end - place]);
}

/// Replaces the first number at or after `place`.
fn replace_number(bytes: &mut Vec<u8>, place: usize, value: u8) {
    let Some(start) = position(bytes, place, |byte| byte.is_ascii_digit()) else { return };
    let end = position(bytes, start, |byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    put(bytes, start..end, NUMBERS[usize::from(value) % NUMBERS.len()]);
}

/// Replaces the first string at or after `place`.
fn replace_text(bytes: &mut Vec<u8>, place: usize, value: u8) {
    let Some(start) = position(bytes, place, |byte| byte == b'"').map(|quote| quote + 1) else { return };
    let Some(end) = position(bytes, start, |byte| byte == b'"') else { return };
    put(bytes, start..end, TEXTS[usize::from(value) % TEXTS.len()]);
}

fn position(bytes: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> Option<usize> {
    bytes[from..].iter().position(|&byte| is_it(byte)).map(|place| from + place)
}

fn put(bytes: &mut Vec<u8>, range: Range<usize>, text: &str) {
    bytes.splice(range, text.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        vec![("zarr.json".to_owned(), b"{\"a\": 12}".to_vec()), ("c/0".to_owned(), b"chunk".to_vec())]
    }

    fn damaged(changes: &[Change]) -> Files {
        let mut files = files();
        changes.iter().for_each(|change| damage(&mut files, change));
        files
    }

    #[test]
    fn files_are_swapped_removed_repeated_and_spliced() {
        assert_eq!(damaged(&[[0, 8, 0, 0, 1]])[0].1, b"chunk");
        assert_eq!(damaged(&[[0, 8, 0, 0, 0]]), files());
        assert_eq!(damaged(&[[0, 9, 0, 0, 0]]), files()[1..]);
        assert_eq!(damaged(&[[1, 10, 0, 0, 7]])[2], ("c/7".to_owned(), b"chunk".to_vec()));
        assert_eq!(damaged(&[[0, 10, 0, 0, 7], [1, 10, 0, 0, 0]]), files());
        assert_eq!(damaged(&[[0, 11, 3, 0, 1]])[0].1, b"{\"ank");
        assert_eq!(damaged(&[[1, 12, 0, 0, 0]])[1].1, files()[0].1);
        assert!(damaged(&[[0, 9, 0, 0, 0], [0, 9, 0, 0, 0], [0, 9, 0, 0, 0]]).is_empty());
    }

    #[test]
    fn numbers_strings_and_words_are_replaced() {
        assert_eq!(damaged(&[[0, 14, 0, 0, 2]])[0].1, b"{\"a\": -1}");
        assert_eq!(damaged(&[[0, 15, 0, 0, 9]])[0].1, b"{\"F\": 12}");
        assert_eq!(damaged(&[[1, 13, 1, 0, 0x83]])[1].1, b"c\xff\xff\xff\xff");
        assert_eq!(damaged(&[[1, 14, 0, 0, 0], [1, 15, 0, 0, 0]]), files());
    }

    #[test]
    fn changed_files_can_be_changed_again() {
        for what in 0..=255 {
            for value in 0..=255 {
                let change = [value, what, value, 0, value];
                assert!(damaged(&[change, change, change]).len() <= 4, "{change:?}");
            }
        }
    }
}
