//! Elements as numbers, for differences and tolerances.

use zarr_engine::{ElementArray, bf16, f16};
use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// A number of any type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// An integer of at most 64 bits.
    Integer(i128),
    /// A float of at most 64 bits.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
}

/// Reads elements of one data type as numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    kind: Kind,
    size: usize,
}

impl Numbers {
    /// Returns the reader for a data type; `None` if its elements are not numbers.
    pub(crate) fn of(data_type: &dyn DataType) -> Option<Self> {
        let numbers = Self { kind: data_type.kind()?, size: data_type.elements().size()? };
        numbers.read(&vec![0; numbers.size])?;
        Some(numbers)
    }

    /// Reads an element in native byte order.
    pub(crate) fn read(self, element: &[u8]) -> Option<Number> {
        Some(match self.kind {
            Kind::Bool => Number::Integer(i128::from(*element.first()?)),
            Kind::Int => Number::Integer(signed(element)?),
            Kind::UInt => Number::Integer(unsigned(element)?),
            Kind::Float => Number::Float(float(element)?),
            Kind::BFloat => Number::Float(bf16::from_ne_bytes(element.try_into().ok()?).into()),
            Kind::Complex => {
                let (real, imaginary) = element.split_at(element.len() / 2);
                Number::Complex(float(real)?, float(imaginary)?)
            }
            _ => return None,
        })
    }
}

/// The number that stands for NumPy's missing time, `NaT`.
const NOT_A_TIME: i64 = i64::MIN;

/// Returns elements as floats: integers are rounded, and times and time spans of NumPy are counts of their unit, with
/// NaN for `NaT`. `None` if the elements are not numbers, or are complex.
#[must_use]
pub fn numbers(elements: &ElementArray) -> Option<Vec<f64>> {
    let data_type = elements.data_type();
    if is_numpy_time(data_type) {
        return elements.iter().map(time).collect();
    }
    let numbers = Numbers::of(data_type)?;
    elements.iter().map(|element| real(numbers, element)).collect()
}

/// Returns an element in native byte order as a float, as [`numbers`] does.
#[must_use]
pub fn element_as_number(data_type: &dyn DataType, element: &[u8]) -> Option<f64> {
    if is_numpy_time(data_type) { time(element) } else { real(Numbers::of(data_type)?, element) }
}

fn is_numpy_time(data_type: &dyn DataType) -> bool {
    let name = data_type.name();
    name.starts_with("numpy.datetime64[") || name.starts_with("numpy.timedelta64[")
}

fn time(element: &[u8]) -> Option<f64> {
    match i64::from_ne_bytes(element.try_into().ok()?) {
        NOT_A_TIME => Some(f64::NAN),
        count => Some(Number::Integer(count.into()).parts()[0]),
    }
}

fn real(numbers: Numbers, element: &[u8]) -> Option<f64> {
    match numbers.read(element)? {
        Number::Complex(..) => None,
        number => Some(number.parts()[0]),
    }
}

fn signed(element: &[u8]) -> Option<i128> {
    Some(match element.len() {
        1 => i8::from_ne_bytes(element.try_into().ok()?).into(),
        2 => i16::from_ne_bytes(element.try_into().ok()?).into(),
        4 => i32::from_ne_bytes(element.try_into().ok()?).into(),
        8 => i64::from_ne_bytes(element.try_into().ok()?).into(),
        _ => return None,
    })
}

fn unsigned(element: &[u8]) -> Option<i128> {
    Some(match element.len() {
        1 => (*element.first()?).into(),
        2 => u16::from_ne_bytes(element.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(element.try_into().ok()?).into(),
        8 => u64::from_ne_bytes(element.try_into().ok()?).into(),
        _ => return None,
    })
}

fn float(element: &[u8]) -> Option<f64> {
    Some(match element.len() {
        2 => f16::from_ne_bytes(element.try_into().ok()?).into(),
        4 => f32::from_ne_bytes(element.try_into().ok()?).into(),
        8 => f64::from_ne_bytes(element.try_into().ok()?),
        _ => return None,
    })
}

impl Number {
    /// Returns whether both are the same number. NaN equals NaN.
    pub(crate) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one == other,
            _ => {
                let mut pairs = self.parts().into_iter().zip(other.parts());
                pairs.all(|(one, other)| one == other || (one.is_nan() && other.is_nan()))
            }
        }
    }

    /// Returns the magnitude of the difference; NaN if either number is NaN.
    pub(crate) fn distance(self, other: Self) -> f64 {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => magnitude(one - other),
            _ => {
                let one = self.parts();
                let other = other.parts();
                (one[0] - other[0]).hypot(one[1] - other[1])
            }
        }
    }

    /// Returns the magnitude.
    pub(crate) fn magnitude(self) -> f64 {
        match self {
            Self::Integer(integer) => magnitude(integer),
            _ => self.parts()[0].hypot(self.parts()[1]),
        }
    }

    fn parts(self) -> [f64; 2] {
        match self {
            Self::Integer(integer) => {
                [magnitude(integer).copysign(if integer < 0 { -1.0 } else { 1.0 }), 0.0]
            }
            Self::Float(float) => [float, 0.0],
            Self::Complex(real, imaginary) => [real, imaginary],
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a report of differences has 16 digits")]
fn magnitude(integer: i128) -> f64 {
    integer.unsigned_abs() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_are_subtracted_exactly() {
        let one = Number::Integer(i128::from(u64::MAX));
        let other = Number::Integer(i128::from(u64::MAX - 1));
        assert_eq!(one.distance(other), 1.0);
        assert!(!one.is_same(other));
    }

    #[test]
    fn nan_is_the_same_as_nan_and_minus_zero_as_zero() {
        assert!(Number::Float(f64::NAN).is_same(Number::Float(-f64::NAN)));
        assert!(Number::Float(-0.0).is_same(Number::Float(0.0)));
        assert!(Number::Complex(1.0, f64::NAN).is_same(Number::Complex(1.0, f64::NAN)));
        assert!(!Number::Float(f64::NAN).is_same(Number::Float(0.0)));
        assert!(Number::Float(f64::INFINITY).is_same(Number::Float(f64::INFINITY)));
    }
}
