//! The data types of generated examples: names, fill values, and a formula for the elements.

use half::f16;
use zarr_spec::{Number, Value};

use super::FormatName;

/// A data type: the name in v3 and the draft, kind and size in v2, and fill values with their little-endian bytes.
pub(super) struct Type {
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// The size of an element in bytes.
    pub(super) size: usize,
    /// The number of bytes that the byte order reverses together.
    pub(super) unit: usize,
    kind: Kind,
    pub(super) fills: &'static [(Fill, [u8; 16])],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

/// The fill value in a metadata document.
#[derive(Clone, Copy)]
pub(super) enum Fill {
    Bool(bool),
    Integer(i128),
    Text(&'static str),
    Float(f64),
    Pair(&'static str, f64),
}

impl Fill {
    pub(super) fn json(self) -> Value {
        let float = |value| Number::from_f64(value).map_or(Value::Null, Value::from);
        match self {
            Self::Bool(value) => value.into(),
            Self::Integer(value) => Value::from(Number::from(value)),
            Self::Text(text) => text.into(),
            Self::Float(value) => float(value),
            Self::Pair(text, value) => [Value::from(text), float(value)].into_iter().collect(),
        }
    }
}

/// Pads the bytes with zeros.
const fn bytes<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
    let mut padded = [0; 16];
    let mut place = 0;
    while place < N {
        padded[place] = bytes[place];
        place += 1;
    }
    padded
}

/// Returns the bytes of two 8-byte numbers.
const fn pair(first: u64, second: u64) -> [u8; 16] {
    ((first as u128) | ((second as u128) << 64)).to_le_bytes()
}

macro_rules! integers {
    ($($name:literal $id:literal $number:ty;)*) => {
        [$(Type {
            name: $name,
            id: $id,
            size: size_of::<$number>(),
            unit: size_of::<$number>(),
            kind: Kind::Integer,
            fills: &[
                (Fill::Integer(0), [0; 16]),
                (Fill::Integer(<$number>::MAX as i128), bytes(<$number>::MAX.to_le_bytes())),
                (Fill::Integer(<$number>::MIN as i128), bytes(<$number>::MIN.to_le_bytes())),
            ],
        }),*]
    };
}

const INTEGERS: [Type; 8] = integers! {
    "int8" "i1" i8;
    "int16" "i2" i16;
    "int32" "i4" i32;
    "int64" "i8" i64;
    "uint8" "u1" u8;
    "uint16" "u2" u16;
    "uint32" "u4" u32;
    "uint64" "u8" u64;
};

const OTHERS: [Type; 6] = [
    Type {
        name: "bool",
        id: "b1",
        size: 1,
        unit: 1,
        kind: Kind::Bool,
        fills: &[(Fill::Bool(false), [0; 16]), (Fill::Bool(true), bytes([1]))],
    },
    Type {
        name: "float16",
        id: "f2",
        size: 2,
        unit: 2,
        kind: Kind::Float,
        fills: &[
            (Fill::Float(0.0), [0; 16]),
            (Fill::Text("NaN"), bytes(0x7e00_u16.to_le_bytes())),
            (Fill::Float(1.5), bytes(0x3e00_u16.to_le_bytes())),
        ],
    },
    Type {
        name: "float32",
        id: "f4",
        size: 4,
        unit: 4,
        kind: Kind::Float,
        fills: &[
            (Fill::Float(0.0), [0; 16]),
            (Fill::Text("NaN"), bytes(0x7fc0_0000_u32.to_le_bytes())),
            (Fill::Text("-Infinity"), bytes(0xff80_0000_u32.to_le_bytes())),
            (Fill::Float(1.5), bytes(1.5_f32.to_le_bytes())),
        ],
    },
    Type {
        name: "float64",
        id: "f8",
        size: 8,
        unit: 8,
        kind: Kind::Float,
        fills: &[
            (Fill::Float(0.0), [0; 16]),
            (Fill::Text("NaN"), bytes(0x7ff8_0000_0000_0000_u64.to_le_bytes())),
            (Fill::Text("Infinity"), bytes(f64::INFINITY.to_le_bytes())),
            (Fill::Float(-1.5), bytes((-1.5_f64).to_le_bytes())),
        ],
    },
    Type {
        name: "complex64",
        id: "c8",
        size: 8,
        unit: 4,
        kind: Kind::Complex,
        fills: &[(Fill::Pair("NaN", 1.5), bytes(0x3fc0_0000_7fc0_0000_u64.to_le_bytes()))],
    },
    Type {
        name: "complex128",
        id: "c16",
        size: 16,
        unit: 8,
        kind: Kind::Complex,
        fills: &[(Fill::Pair("Infinity", -0.5), pair(0x7ff0_0000_0000_0000, 0xbfe0_0000_0000_0000))],
    },
];

impl Type {
    /// Returns the types that the format itself specifies and writes in exactly one way.
    pub(super) fn of(format: FormatName) -> Vec<&'static Self> {
        let is_there = |it: &&Self| format == FormatName::V3 || it.kind != Kind::Complex;
        INTEGERS.iter().chain(&OTHERS).filter(is_there).collect()
    }

    /// Returns the element with this number, little endian.
    pub(super) fn element(&self, number: u64) -> Vec<u8> {
        match self.kind {
            Kind::Bool => vec![u8::from(number % 3 == 1)],
            Kind::Integer => {
                let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                mixed.to_le_bytes()[8 - self.size..].to_vec()
            }
            Kind::Float => float(number, self.size),
            Kind::Complex => [float(number, self.size / 2), float(number + 7, self.size / 2)].concat(),
        }
    }

    /// Converts elements from little endian to native byte order.
    pub(super) fn native(&self, mut elements: Vec<u8>) -> Vec<u8> {
        if cfg!(target_endian = "big") {
            elements.chunks_mut(self.unit).for_each(<[u8]>::reverse);
        }
        elements
    }
}

/// Returns the bytes of a multiple of 1/8, which every float size represents exactly.
fn float(number: u64, size: usize) -> Vec<u8> {
    let eighths = u16::try_from(number % 2001).unwrap_or_default();
    let value = (f32::from(eighths) - 1000.0) / 8.0;
    match size {
        2 => f16::from_f32(value).to_le_bytes().to_vec(),
        4 => value.to_le_bytes().to_vec(),
        _ => f64::from(value).to_le_bytes().to_vec(),
    }
}
