//! Differences and sums of elements in native byte order.

use half::f16;
use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// How the codec calculates with a data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    number: Number,
    /// Numbers of one element: 2 if it is complex.
    lanes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Numbers {
    /// Times count as `int64`, so that "not a time" survives.
    pub(crate) fn of(data_type: &dyn DataType) -> Option<Self> {
        let size = data_type.elements().size()?;
        let name = data_type.name();
        let is_time = ["numpy.datetime64", "numpy.timedelta64"].iter().any(|time| name.starts_with(time));
        let (number, lanes) = match (data_type.kind(), size) {
            (Some(Kind::Bool), 1) => (Number::Bool, 1),
            (Some(Kind::Int), 1) => (Number::I8, 1),
            (Some(Kind::Int), 2) => (Number::I16, 1),
            (Some(Kind::Int), 4) => (Number::I32, 1),
            (Some(Kind::Int), 8) => (Number::I64, 1),
            (None, 8) if is_time => (Number::I64, 1),
            (Some(Kind::UInt), 1) => (Number::U8, 1),
            (Some(Kind::UInt), 2) => (Number::U16, 1),
            (Some(Kind::UInt), 4) => (Number::U32, 1),
            (Some(Kind::UInt), 8) => (Number::U64, 1),
            (Some(Kind::Float), 2) => (Number::F16, 1),
            (Some(Kind::Float), 4) => (Number::F32, 1),
            (Some(Kind::Float), 8) => (Number::F64, 1),
            (Some(Kind::Complex), 8) => (Number::F32, 2),
            (Some(Kind::Complex), 16) => (Number::F64, 2),
            _ => return None,
        };
        Some(Self { number, lanes })
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        let size = match self.number {
            Number::Bool | Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 | Number::F16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        };
        size * self.lanes
    }

    /// Whether differences of these can be written as `other`.
    pub(crate) fn casts_to(self, other: Self) -> bool {
        self.lanes == other.lanes && (self.number == Number::Bool) == (other.number == Number::Bool)
    }
}

/// Calls `$body` with the type that `$number` stands for.
macro_rules! with_type {
    ($number:expr, $T:ident => $body:expr) => {
        match $number {
            Number::Bool | Number::U8 => with_type!(@ u8, $T, $body),
            Number::I8 => with_type!(@ i8, $T, $body),
            Number::I16 => with_type!(@ i16, $T, $body),
            Number::I32 => with_type!(@ i32, $T, $body),
            Number::I64 => with_type!(@ i64, $T, $body),
            Number::U16 => with_type!(@ u16, $T, $body),
            Number::U32 => with_type!(@ u32, $T, $body),
            Number::U64 => with_type!(@ u64, $T, $body),
            Number::F16 => with_type!(@ f16, $T, $body),
            Number::F32 => with_type!(@ f32, $T, $body),
            Number::F64 => with_type!(@ f64, $T, $body),
        }
    };
    (@ $type:ty, $T:ident, $body:expr) => {{
        type $T = $type;
        $body
    }};
}

/// The first element of `decoded`, then the difference of each from the one before, as elements of `encoded`.
/// Both have the same number of elements.
pub(crate) fn encode(from: Numbers, to: Numbers, decoded: &[u8], encoded: &mut [u8]) {
    if from.number == Number::Bool {
        return differences::<Bit, Bit>(1, decoded, encoded);
    }
    with_type!(from.number, D => with_type!(to.number, E => differences::<D, E>(from.lanes, decoded, encoded)));
}

/// The sums of the elements of `encoded` up to each, as elements of `decoded`.
pub(crate) fn decode(from: Numbers, to: Numbers, encoded: &[u8], decoded: &mut [u8]) {
    for lane in 0..from.lanes {
        if from.number == Number::Bool {
            sums::<Bit, Bit>(lane, 1, encoded, decoded);
        } else {
            with_type!(from.number, D => {
                with_type!(to.number, E => sums::<D, E>(lane, from.lanes, encoded, decoded))
            });
        }
    }
}

fn differences<D: Element + Cast<E>, E: Element>(lanes: usize, decoded: &[u8], encoded: &mut [u8]) {
    let (size, encoded_size) = (size_of::<D>(), size_of::<E>());
    let first = (lanes * size).min(decoded.len());
    let (first_encoded, rest_encoded) = encoded.split_at_mut((lanes * encoded_size).min(encoded.len()));
    for (now, to) in decoded[..first].chunks_exact(size).zip(first_encoded.chunks_exact_mut(encoded_size)) {
        D::read(now).cast().write(to);
    }
    let pairs = decoded[first..].chunks_exact(size).zip(decoded.chunks_exact(size));
    for ((now, before), to) in pairs.zip(rest_encoded.chunks_exact_mut(encoded_size)) {
        D::read(now).minus(D::read(before)).cast().write(to);
    }
}

fn sums<D: Element, E: Element + Cast<D>>(lane: usize, lanes: usize, encoded: &[u8], decoded: &mut [u8]) {
    let mut encoded = encoded.chunks_exact(size_of::<E>()).skip(lane).step_by(lanes);
    let mut decoded = decoded.chunks_exact_mut(size_of::<D>()).skip(lane).step_by(lanes);
    // The first one is not added to zero, which would lose the sign of -0.0.
    let (Some(first), Some(to)) = (encoded.next(), decoded.next()) else { return };
    let mut sum = E::read(first).cast();
    sum.write(to);
    for (difference, to) in encoded.zip(decoded) {
        sum = sum.plus(E::read(difference).cast());
        sum.write(to);
    }
}

/// A number. Integers wrap around.
trait Element: Copy {
    /// From its bytes, as many as it has.
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

/// A number as another type, as NumPy casts it.
trait Cast<T> {
    fn cast(self) -> T;
}

/// A boolean: the difference of two is whether they differ, and so is the sum.
#[derive(Clone, Copy)]
struct Bit(u8);

impl Element for Bit {
    fn read(bytes: &[u8]) -> Self {
        Self(bytes[0])
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.0;
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other)
    }
}

impl Cast<Bit> for Bit {
    fn cast(self) -> Bit {
        self
    }
}

macro_rules! element {
    ($type:ty, |$a:ident, $b:ident| $plus:expr, $minus:expr) => {
        impl Element for $type {
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }

            fn plus(self, $b: Self) -> Self {
                let $a = self;
                $plus
            }

            fn minus(self, $b: Self) -> Self {
                let $a = self;
                $minus
            }
        }
    };
}

macro_rules! casts {
    ($from:ty => $($to:ty)*: |$value:ident| $cast:expr) => {$(
        impl Cast<$to> for $from {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "casts wrap and round as those of NumPy do; not every pair of types does both"
            )]
            fn cast(self) -> $to {
                let $value = self;
                $cast as $to
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        element!($type, |a, b| a.wrapping_add(b), a.wrapping_sub(b));
        casts!($type => i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |value| value);
        impl Cast<f16> for $type {
            fn cast(self) -> f16 {
                f16::from_f64(self as f64)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty, |$value:ident| $as_f64:expr;)*) => {$(
        casts!($type => i8 i16 i64 u8 u16 u32: |$value| truncated($as_f64));
        casts!($type => f32 f64: |$value| $as_f64);
        impl Cast<i32> for $type {
            fn cast(self) -> i32 {
                let $value = self;
                i32::try_from(truncated($as_f64)).unwrap_or(i32::MIN)
            }
        }
        impl Cast<u64> for $type {
            fn cast(self) -> u64 {
                let $value = self;
                truncated_unsigned($as_f64)
            }
        }
        impl Cast<f16> for $type {
            fn cast(self) -> f16 {
                let $value = self;
                f16::from_f64($as_f64)
            }
        }
    )*};
}

element!(f16, |a, b| a + b, a - b);
element!(f32, |a, b| a + b, a - b);
element!(f64, |a, b| a + b, a - b);
integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats! {
    f16, |value| value.to_f64();
    f32, |value| f64::from(value);
    f64, |value| value;
}

/// Towards zero. What no `int64` can hold becomes the smallest one, as NumPy has it on most machines.
#[expect(clippy::cast_possible_truncation, reason = "it was checked that the value fits")]
fn truncated(value: f64) -> i64 {
    if value >= i64::MIN as f64 && value < -(i64::MIN as f64) { value as i64 } else { i64::MIN }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative values wrap around")]
fn truncated_unsigned(value: f64) -> u64 {
    if value >= -(i64::MIN as f64) { value as u64 } else { truncated(value) as u64 }
}
