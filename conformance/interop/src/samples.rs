//! Sample elements, shapes and names for arrays that other programs read, identical in every run.

use crate::random::Random;

/// Shapes and chunk shapes: rank 0 to 4, empty, smaller than a chunk, whole chunks, partial chunks at the
/// edge.
pub const GEOMETRIES: &[(&[u64], &[u64])] = &[
    (&[], &[]),
    (&[0], &[2]),
    (&[0, 5], &[1, 2]),
    (&[1], &[1]),
    (&[3], &[10]),
    (&[8], &[4]),
    (&[10], &[3]),
    (&[5, 7], &[2, 3]),
    (&[2, 2], &[5, 3]),
    (&[3, 4, 5], &[2, 2, 2]),
    (&[2, 3, 4, 3], &[1, 2, 3, 2]),
];

/// The numeric core types and their NumPy descriptors.
pub const NUMBERS: &[(&str, &str)] = &[
    ("int8", "|i1"),
    ("uint8", "|u1"),
    ("int16", "<i2"),
    ("uint16", "<u2"),
    ("int32", "<i4"),
    ("uint32", "<u4"),
    ("int64", "<i8"),
    ("uint64", "<u8"),
    ("bool", "|b1"),
    ("float16", "<f2"),
    ("float32", "<f4"),
    ("float64", "<f8"),
    ("complex64", "<c8"),
    ("complex128", "<c16"),
];

/// Node names in several scripts, one of them with a decomposed accent.
pub const NAMES: &[&str] =
    &["plain", "Été", "日本語", "emoji 😀", "Ελληνικά", "עברית", "e\u{301}", "a.b-c_d"];

/// Attributes in several scripts, with numbers that readers often get wrong.
pub const ATTRIBUTES: &str = r#"{
    "text": "é 日本 😀 \u202b\n\t\"\\", "ключ": {"nested": [1, null, true, {"深い": []}]}, "": "empty name",
    "numbers": [0, -1, 9007199254740993, 0.1, 1e300, -0.0, 1.0], "empty": {}
}"#;

/// Returns `count` elements in raw form of the type with this NumPy descriptor (`string` and `bytes` for
/// items of variable length): special values first, then random ones.
///
/// # Panics
///
/// For an unknown descriptor.
#[must_use]
pub fn items(descriptor: &str, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    (0..count).map(|number| item(descriptor, number, &mut random)).collect()
}

fn item(descriptor: &str, number: usize, random: &mut Random) -> Vec<u8> {
    let texts = ["", "a", "é", "日本", "😀", "word word word", "nul\0inside", "e\u{301}"];
    if descriptor == "string" {
        return sized(texts[number % texts.len()].as_bytes());
    }
    if descriptor == "bytes" {
        let more: Vec<u8> = (0..number % 5).map(|_| random.number().to_le_bytes()[0]).collect();
        return sized(&more);
    }
    let text = descriptor.trim_start_matches(['<', '>', '|']);
    let (kind, size) = text.split_at(1);
    let size: usize = size.split('[').next().and_then(|size| size.parse().ok()).unwrap_or(1);
    let bytes = |random: &mut Random, size: usize| -> Vec<u8> {
        (0..size).map(|_| random.number().to_le_bytes()[0]).collect()
    };
    match (kind, number) {
        ("b", _) => vec![u8::from(number.is_multiple_of(3))],
        ("S", _) => {
            let mut item: Vec<u8> =
                bytes(random, number % (size + 1)).into_iter().map(|byte| byte | 1).collect();
            item.resize(size, 0);
            item
        }
        ("U", _) => {
            let letters = ['a', 'é', '日', '😀', '\u{301}', 'ж'];
            let text = (0..number % (size + 1)).map(|_| u32::from(*random.one(&letters)));
            let mut item: Vec<u8> = text.flat_map(u32::to_le_bytes).collect();
            item.resize(4 * size, 0);
            item
        }
        ("f", 0) => float(size, -0.0),
        ("f", 1) => float(size, f64::INFINITY),
        ("f", 2) => float(size, f64::NAN),
        ("c", 0) => [float(size / 2, -0.0), float(size / 2, 1.0)].concat(),
        ("c", 1) => [float(size / 2, f64::NAN), float(size / 2, f64::NEG_INFINITY)].concat(),
        ("i" | "M" | "m", 0) => {
            let mut least = vec![0; size];
            least[size - 1] = 0x80;
            least
        }
        ("i" | "u", 1) => vec![0xFF; size],
        ("i" | "u" | "f" | "c" | "V" | "M" | "m", _) => bytes(random, size),
        _ => panic!("no samples of {descriptor}"),
    }
}

fn sized(item: &[u8]) -> Vec<u8> {
    let size = u32::try_from(item.len()).unwrap_or(u32::MAX);
    [&size.to_le_bytes(), item].concat()
}

/// Returns a simple number as a float of 2, 4 or 8 bytes.
fn float(size: usize, number: f64) -> Vec<u8> {
    match size {
        2 => {
            // Only NaN, infinities, 0 and 1 occur, with either sign.
            let bits: u16 = match number {
                number if number.is_nan() => 0x7E00,
                number if number.is_infinite() => 0x7C00,
                0.0 => 0,
                _ => 0x3C00,
            };
            (bits | if number.is_sign_negative() { 0x8000 } else { 0 }).to_le_bytes().to_vec()
        }
        #[expect(clippy::cast_possible_truncation, reason = "the numbers here are exact in both")]
        4 => (number as f32).to_le_bytes().to_vec(),
        _ => number.to_le_bytes().to_vec(),
    }
}
