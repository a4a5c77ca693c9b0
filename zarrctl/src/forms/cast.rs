//! Converts elements from one data type to another: `put --cast`.

use zarr_kit::spec::DataType;
use zarr_kit::spec::data_type::Kind;
use zarr_kit::{bf16, f16};

use super::cell;

/// The prefixes of names of texts of a fixed length: code points of 32 bits, and bytes.
const TEXTS: [&str; 2] = ["fixed_length_utf32[", "null_terminated_bytes["];

/// A conversion between two data types.
#[derive(Debug)]
pub(crate) struct Cast<'t> {
    from: Form,
    to: &'t dyn DataType,
    target: Target,
}

/// How elements are read.
#[derive(Debug, Clone, Copy)]
enum Form {
    Number {
        kind: Kind,
        size: usize,
    },
    /// Code points in native byte order.
    CodePoints,
    /// UTF-8 with zeros at its end.
    Bytes,
}

#[derive(Debug, Clone, Copy)]
enum Target {
    Number { kind: Kind, size: usize },
    Text,
}

/// A number of any type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
    Complex(f64, f64),
}

impl<'t> Cast<'t> {
    /// Returns the conversion; `None` if there is none.
    pub(crate) fn new(from: &dyn DataType, to: &'t dyn DataType) -> Option<Self> {
        let form = form(from)?;
        let target = match (form, number_form(to)) {
            (Form::Number { .. }, Some((kind, size))) => Target::Number { kind, size },
            (Form::CodePoints | Form::Bytes, _) if is_text(to) => Target::Text,
            _ => return None,
        };
        Some(Self { from: form, to, target })
    }

    /// Returns whether all elements can be converted without a change: texts of a fixed length to strings.
    pub(crate) fn is_lossless(&self) -> bool {
        matches!(self.target, Target::Text) && self.to.name() == "string"
    }

    /// Converts an element in native byte order. Floats are rounded to the nearest; everything else that the data type
    /// cannot hold is an error.
    pub(crate) fn convert(&self, element: &[u8]) -> Result<Vec<u8>, String> {
        let converted = match self.from {
            Form::Number { kind, size } => read(kind, size, element).and_then(|number| match self.target {
                Target::Number { kind, size } => write(kind, size, number),
                Target::Text => None,
            }),
            Form::CodePoints => return cell::parse(self.to, &code_points(element)?),
            Form::Bytes => {
                let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                let text = std::str::from_utf8(&element[..end]).map_err(|error| error.to_string())?;
                return cell::parse(self.to, text);
            }
        };
        let converted = converted.filter(|element| self.to.check(element).is_ok());
        converted.ok_or_else(|| {
            let found = match self.from {
                Form::Number { kind, size } => read(kind, size, element).map_or_else(String::new, text),
                Form::CodePoints | Form::Bytes => String::new(),
            };
            format!("{found} is not an element of {}", self.to.name())
        })
    }
}

fn form(data_type: &dyn DataType) -> Option<Form> {
    let name = data_type.name();
    if name.starts_with(TEXTS[0]) {
        return Some(Form::CodePoints);
    }
    if name.starts_with(TEXTS[1]) {
        return Some(Form::Bytes);
    }
    number_form(data_type).map(|(kind, size)| Form::Number { kind, size })
}

fn is_text(data_type: &dyn DataType) -> bool {
    let name = data_type.name();
    name == "string" || TEXTS.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the kind and the size of numbers; `None` for other data types.
fn number_form(data_type: &dyn DataType) -> Option<(Kind, usize)> {
    let kind = data_type.kind()?;
    let size = data_type.elements().size()?;
    read(kind, size, &vec![0; size]).map(|_| (kind, size))
}

fn code_points(element: &[u8]) -> Result<String, String> {
    let units = element.as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes));
    let text: Option<String> = units.map(char::from_u32).collect();
    let text = text.ok_or("a code point is not a Unicode character")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

fn text(number: Number) -> String {
    match number {
        Number::Integer(number) => number.to_string(),
        Number::Float(number) => number.to_string(),
        Number::Complex(real, imaginary) => format!("{real}{imaginary:+}i"),
    }
}

fn read(kind: Kind, size: usize, element: &[u8]) -> Option<Number> {
    Some(match (kind, size) {
        (Kind::Bool, 1) => Number::Integer(i128::from(*element.first()?)),
        (Kind::Int, 1) => Number::Integer(i8::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::Int, 2) => Number::Integer(i16::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::Int, 4) => Number::Integer(i32::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::Int, 8) => Number::Integer(i64::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::UInt, 1) => Number::Integer(u8::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::UInt, 2) => Number::Integer(u16::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::UInt, 4) => Number::Integer(u32::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::UInt, 8) => Number::Integer(u64::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::Float, _) => Number::Float(read_float(element)?),
        (Kind::BFloat, 2) => Number::Float(bf16::from_ne_bytes(element.try_into().ok()?).into()),
        (Kind::Complex, _) => {
            let (real, imaginary) = element.split_at(element.len() / 2);
            Number::Complex(read_float(real)?, read_float(imaginary)?)
        }
        _ => return None,
    })
}

fn read_float(bytes: &[u8]) -> Option<f64> {
    Some(match bytes.len() {
        2 => f16::from_ne_bytes(bytes.try_into().ok()?).into(),
        4 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        8 => f64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

fn write(kind: Kind, size: usize, number: Number) -> Option<Vec<u8>> {
    let integer = || match number {
        Number::Integer(number) => Some(number),
        Number::Float(number) => whole(number),
        Number::Complex(..) => None,
    };
    let float = || match number {
        Number::Integer(number) => Some(rounded(number)),
        Number::Float(number) => Some(number),
        Number::Complex(..) => None,
    };
    Some(match (kind, size) {
        (Kind::Bool, 1) => vec![u8::try_from(integer()?).ok().filter(|truth| *truth <= 1)?],
        (Kind::Int, 1) => i8::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::Int, 2) => i16::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::Int, 4) => i32::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::Int, 8) => i64::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::UInt, 1) => u8::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::UInt, 2) => u16::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::UInt, 4) => u32::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::UInt, 8) => u64::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        (Kind::Float, size) => write_float(size, float()?)?,
        (Kind::BFloat, 2) => {
            let number = float()?;
            let short = bf16::from_f64(number);
            (short.is_finite() || !number.is_finite()).then(|| short.to_ne_bytes().to_vec())?
        }
        (Kind::Complex, size) => {
            let (real, imaginary) = match number {
                Number::Complex(real, imaginary) => (real, imaginary),
                Number::Integer(_) | Number::Float(_) => (float()?, 0.0),
            };
            [write_float(size / 2, real)?, write_float(size / 2, imaginary)?].concat()
        }
        _ => return None,
    })
}

/// Returns a float of `size` bytes; `None` if a finite number becomes infinite.
fn write_float(size: usize, number: f64) -> Option<Vec<u8>> {
    let stays = |rounded: f64| rounded.is_finite() || !number.is_finite();
    match size {
        2 => stays(f16::from_f64(number).into()).then(|| f16::from_f64(number).to_ne_bytes().to_vec()),
        4 => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "numbers are rounded, and overflows are found"
            )]
            let narrow = number as f32;
            stays(narrow.into()).then(|| narrow.to_ne_bytes().to_vec())
        }
        8 => Some(number.to_ne_bytes().to_vec()),
        _ => None,
    }
}

/// Returns a float as an integer; `None` if the float has a fraction or is too large.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(number: f64) -> Option<i128> {
    let is_whole = number.is_finite() && number.fract() == 0.0 && number.abs() < 2.0_f64.powi(100);
    is_whole.then_some(number as i128)
}

#[expect(clippy::cast_precision_loss, reason = "numbers are rounded to the nearest float")]
fn rounded(number: i128) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(number: Number, kind: Kind, size: usize) -> Option<Number> {
        read(kind, size, &write(kind, size, number)?)
    }

    #[test]
    fn numbers_are_converted_if_the_data_type_holds_them() {
        use Number::{Complex, Float, Integer};
        for (number, kind, size, expected) in [
            (Integer(255), Kind::UInt, 1, Some(Integer(255))),
            (Integer(256), Kind::UInt, 1, None),
            (Integer(-1), Kind::UInt, 8, None),
            (Float(3.0), Kind::Int, 2, Some(Integer(3))),
            (Float(3.5), Kind::Int, 2, None),
            (Float(f64::NAN), Kind::Int, 4, None),
            (Float(0.1), Kind::Float, 4, Some(Float(f64::from(0.1_f32)))),
            (Float(1e300), Kind::Float, 4, None),
            (Float(f64::INFINITY), Kind::Float, 2, Some(Float(f64::INFINITY))),
            (Float(70_000.0), Kind::Float, 2, None),
            (Integer(3), Kind::BFloat, 2, Some(Float(3.0))),
            (Float(1e39), Kind::BFloat, 2, None),
            (Integer(2), Kind::Bool, 1, None),
            (Integer(1), Kind::Bool, 1, Some(Integer(1))),
            (Integer(2), Kind::Complex, 8, Some(Complex(2.0, 0.0))),
            (Complex(1.0, 2.0), Kind::Float, 8, None),
            (Integer(i128::from(u64::MAX)), Kind::UInt, 8, Some(Integer(i128::from(u64::MAX)))),
        ] {
            assert_eq!(converted(number, kind, size), expected, "{number:?} {kind:?} {size}");
        }
    }

    #[test]
    fn code_points_become_text_without_padding() {
        let bytes: Vec<u8> = "é日\0\0".chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
        assert_eq!(code_points(&bytes).unwrap(), "é日");
        assert!(code_points(&0xd800_u32.to_ne_bytes()).is_err());
    }
}
