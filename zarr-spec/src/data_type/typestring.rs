//! The typestrings of v2: byte order, kind, size, and the unit of a time.
//!
//! Source: "Data type encoding" in the Zarr version 2 specification, which adopts NumPy's array protocol.

use crate::format::{Invalid, Reading};
use crate::representation::ByteOrder;

/// A simple data type of v2: `<f8`, `|S12`, `>M8[10us]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Typestring {
    /// The declared byte order; `None` for `|`, which means that the order does not matter.
    pub order: Option<ByteOrder>,
    /// One of `b`, `i`, `u`, `f`, `c`, `m`, `M`, `S`, `U`, `V` and `O`.
    pub kind: char,
    /// Bytes of an element; the number of code points for `U`, and 0 for `O`.
    pub size: usize,
    /// For a time, the multiplier and the unit that elements count; `None` without a unit.
    pub unit: Option<(u32, &'static str)>,
}

/// The units of time, longest first.
pub const TIME_UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

/// The unit of times whose elements are counts without a particular unit. NumPy uses this name.
pub const GENERIC_UNIT: &str = "generic";

impl Typestring {
    /// Reads a typestring.
    ///
    /// Deviating forms of some writers are errors in strict mode and warnings otherwise: a missing byte order,
    /// `=`, and `|` for numbers of more than one byte, which all mean little endian; a time without a unit;
    /// `μs` (V2-DT-03, V2-DT-14, V2-DT-15).
    ///
    /// # Errors
    ///
    /// For every other text. Types that exist only on some machines, `f12`, `f16`, `c24` and `c32`, are well formed.
    pub fn parse(text: &str, reading: &Reading) -> Result<Self, Invalid> {
        let malformed = || Invalid::new(format!("`{text}` is not a typestring, such as `<i4`"));
        let (order, rest) = match text.split_at_checked(1).ok_or_else(malformed)? {
            (order @ ("<" | ">" | "|" | "="), rest) => (Some(order), rest),
            _ => (None, text),
        };
        let mut characters = rest.chars();
        let kind = characters.next().ok_or_else(malformed)?;
        let (digits, unit) = match characters.as_str().split_once('[') {
            Some((digits, unit)) => (digits, Some(unit.strip_suffix(']').ok_or_else(malformed)?)),
            None => (characters.as_str(), None),
        };
        let size = size_of(kind, digits).ok_or_else(malformed)?;
        let unit = match (kind, unit) {
            ('m' | 'M', Some(unit)) => Some(parse_unit(text, unit, reading)?),
            ('m' | 'M', None) => {
                reading.tolerate(no_unit(text))?;
                None
            }
            (_, None) => None,
            (_, Some(_)) => return Err(malformed()),
        };
        let has_order = match kind {
            'b' | 'S' | 'V' | 'O' => false,
            'U' => size > 0,
            _ => size > 1,
        };
        let little = format!("`{text}` lacks a byte order, `<` or `>`; little endian is assumed");
        let order = match (order, has_order) {
            (Some(">"), true) => Some(ByteOrder::Big),
            (Some("<"), true) => Some(ByteOrder::Little),
            (None | Some("=" | "|"), true) => {
                reading.tolerate(little)?;
                Some(ByteOrder::Little)
            }
            (None | Some("="), false) => {
                reading.tolerate(format!("`{text}` does not start with `<`, `>` or `|`"))?;
                None
            }
            _ => None,
        };
        Ok(Self { order, kind, size, unit })
    }

    /// Returns the identifier for the registry: kind and size, or only the kind of `S`, `U` and `V`.
    #[must_use]
    pub fn identifier(&self) -> String {
        match self.kind {
            'S' | 'U' | 'V' | 'O' => self.kind.to_string(),
            kind => format!("{kind}{}", self.size),
        }
    }

    /// Returns whether the declared order is big endian.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.order == Some(ByteOrder::Big)
    }
}

/// Returns the size, if types of this kind and size exist.
fn size_of(kind: char, digits: &str) -> Option<usize> {
    let plain =
        digits.bytes().all(|digit| digit.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let size = || plain.then(|| digits.parse::<usize>().ok()).flatten();
    let allowed: &[usize] = match kind {
        'b' => &[1],
        'i' | 'u' => &[1, 2, 4, 8],
        'f' => &[2, 4, 8, 12, 16],
        'c' => &[8, 16, 24, 32],
        'm' | 'M' => &[8],
        'S' | 'U' | 'V' => return size(),
        'O' if digits.is_empty() => return Some(0),
        _ => &[],
    };
    size().filter(|size| allowed.contains(size))
}

fn no_unit(text: &str) -> String {
    format!("`{text}` does not have a unit of time; its counts are not converted")
}

/// Parses a unit with its multiplier, such as `10us`.
fn parse_unit(text: &str, unit: &str, reading: &Reading) -> Result<(u32, &'static str), Invalid> {
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, symbol) = unit.split_at(digits);
    let multiplier = match digits {
        "" => Some(1),
        digits => {
            digits.parse().ok().filter(|&multiplier| (1..=i32::MAX.unsigned_abs()).contains(&multiplier))
        }
    };
    let multiplier = multiplier.ok_or_else(|| {
        Invalid::new(format!("the multiplier in `{text}` is {digits}; expected 1 to {}", i32::MAX))
    })?;
    let micro = matches!(symbol, "\u{3bc}s" | "\u{b5}s");
    if micro {
        reading.tolerate(format!("`{text}` has another spelling of the unit `us`"))?;
    }
    if symbol == GENERIC_UNIT {
        reading.tolerate(no_unit(text))?;
    }
    let symbol = if micro { "us" } else { symbol };
    let known = TIME_UNITS.into_iter().chain([GENERIC_UNIT]).find(|&known| known == symbol);
    let known = known.ok_or_else(|| {
        Invalid::new(format!(
            "unknown unit `{symbol}` in `{text}`; expected one of {}",
            TIME_UNITS.join(", ")
        ))
    })?;
    Ok((multiplier, known))
}
