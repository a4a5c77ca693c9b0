//! Serializes serde types to values.

use std::cell::Cell;
use std::fmt;

use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::de::EXACT_NUMBER;
use super::{MAX_DEPTH, Number, Object, Value, inside, write_place};
use crate::printable;

/// Serializes `value`, with exact integers and with the shortest texts that restore floats.
///
/// # Errors
///
/// [`SerError`] for NaN and infinities, for member names that are not strings, integers or booleans, and for
/// nesting deeper than [`MAX_DEPTH`].
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, SerError> {
    value.serialize(Serializer { depth: 0 })
}

/// Why a type cannot be serialized to a [`Value`], and which part of it is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SerError {
    /// The JSON pointer of the fault.
    pub path: String,
    /// The reason.
    pub message: String,
}

impl SerError {
    /// Prepends `step`, a member name or an index, to the path, so that the error is about the parent.
    fn inside(self, step: &str) -> Self {
        Self { path: inside(step, &self.path), ..self }
    }
}

impl fmt::Display for SerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.path)?;
        write!(f, "{}", printable(&self.message))
    }
}

impl std::error::Error for SerError {}

impl ser::Error for SerError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: String::new(), message: message.to_string() }
    }
}

/// A number whose first serialization yields an integer or a float, and whose second one yields the text. Other formats
/// serialize it once; [`to_value`] serializes it twice and uses the text.
struct ExactNumber<'a> {
    number: &'a Number,
    asked: Cell<bool>,
}

impl Serialize for ExactNumber<'_> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = self.number;
        if self.asked.replace(true) {
            return serializer.serialize_str(number.text());
        }
        if number.is_integer() {
            return serialize_integer(number, serializer);
        }
        match number.as_f64().filter(|value| value.is_finite()) {
            Some(value) => serializer.serialize_f64(value),
            None => Err(out_of_range(number)),
        }
    }
}

/// Serializes an integer without rounding it to a float. An integer beyond 128 bits is an error.
fn serialize_integer<S: ser::Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(value) = number.as_u64() {
        serializer.serialize_u64(value)
    } else if let Some(value) = number.as_i64() {
        serializer.serialize_i64(value)
    } else if let Some(value) = number.as_u128() {
        serializer.serialize_u128(value)
    } else if let Some(value) = number.as_i128() {
        serializer.serialize_i128(value)
    } else {
        Err(out_of_range(number))
    }
}

fn out_of_range<E: ser::Error>(number: &Number) -> E {
    E::custom(format_args!("number `{number}` is out of range"))
}

impl Serialize for Number {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let exact = ExactNumber { number: self, asked: Cell::new(false) };
        serializer.serialize_newtype_struct(EXACT_NUMBER, &exact)
    }
}

impl Serialize for Object {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl Serialize for Value {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(string) => serializer.serialize_str(string),
            Self::Array(elements) => elements.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

/// Serializes a value that is inside `depth` arrays and objects.
#[derive(Clone, Copy)]
struct Serializer {
    depth: usize,
}

impl Serializer {
    /// Returns the serializer for the content of an array or object.
    fn deeper(self) -> Result<Self, SerError> {
        if self.depth == MAX_DEPTH {
            return Err(ser::Error::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }

    fn elements(self, variant: Option<&'static str>) -> Result<Elements, SerError> {
        Ok(Elements { inner: self.deeper()?, variant, elements: Vec::new() })
    }

    fn members(self, variant: Option<&'static str>) -> Result<Members, SerError> {
        Ok(Members { inner: self.deeper()?, variant, name: None, members: Object::new() })
    }
}

fn finite(number: Option<Number>) -> Result<Value, SerError> {
    number.map(Value::Number).ok_or_else(|| ser::Error::custom("JSON cannot represent NaN or infinities"))
}

/// Returns an object with one member for a variant of an enum, or only the content if there is no variant.
fn tagged(variant: Option<&str>, content: Value) -> Value {
    match variant {
        Some(variant) => Value::from_iter([(variant, content)]),
        None => content,
    }
}

/// Implements methods that serialize a value without elements.
macro_rules! scalars {
    ($($method:ident($value:ident: $type:ty) => $result:expr;)*) => {$(
        fn $method(self, $value: $type) -> Result<Value, SerError> {
            $result
        }
    )*};
}

impl ser::Serializer for Serializer {
    type Ok = Value;
    type Error = SerError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    scalars! {
        serialize_i8(value: i8) => Ok(Value::Number(value.into()));
        serialize_i16(value: i16) => Ok(Value::Number(value.into()));
        serialize_i32(value: i32) => Ok(Value::Number(value.into()));
        serialize_i64(value: i64) => Ok(Value::Number(value.into()));
        serialize_i128(value: i128) => Ok(Value::Number(value.into()));
        serialize_u8(value: u8) => Ok(Value::Number(value.into()));
        serialize_u16(value: u16) => Ok(Value::Number(value.into()));
        serialize_u32(value: u32) => Ok(Value::Number(value.into()));
        serialize_u64(value: u64) => Ok(Value::Number(value.into()));
        serialize_u128(value: u128) => Ok(Value::Number(value.into()));
        serialize_bool(value: bool) => Ok(Value::Bool(value));
        serialize_f32(value: f32) => finite(Number::from_f32(value));
        serialize_f64(value: f64) => finite(Number::from_f64(value));
        serialize_char(value: char) => Ok(Value::String(value.into()));
        serialize_str(value: &str) => Ok(value.into());
        serialize_bytes(value: &[u8]) => Ok(value.iter().map(|byte| Number::from(*byte)).collect());
    }

    fn serialize_none(self) -> Result<Value, SerError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, SerError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, SerError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, SerError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, SerError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, SerError> {
        if name != EXACT_NUMBER {
            return value.serialize(self);
        }
        // The first serialization yields a number, which may be rounded, or an error. The second one yields the text.
        let _ = value.serialize(self);
        match value.serialize(self)? {
            Value::String(text) => finite(Number::parse(&text)),
            other => Err(ser::Error::custom(format_args!("{} instead of a number", other.kind_name()))),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, SerError> {
        let content = value.serialize(self.deeper()?).map_err(|error| error.inside(variant))?;
        Ok(tagged(Some(variant), content))
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Elements, SerError> {
        self.elements(None)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Elements, SerError> {
        self.elements(None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Elements, SerError> {
        self.elements(None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Elements, SerError> {
        self.deeper()?.elements(Some(variant))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Members, SerError> {
        self.members(None)
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Members, SerError> {
        self.members(None)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Members, SerError> {
        self.deeper()?.members(Some(variant))
    }
}

/// The elements of an unfinished array. The array is the content of `variant`, if there is one.
struct Elements {
    inner: Serializer,
    variant: Option<&'static str>,
    elements: Vec<Value>,
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), SerError> {
        let position = self.elements.len();
        let result = element.serialize(self.inner).map_err(|error| error.inside(&position.to_string()));
        self.elements.push(result.map_err(|error| around(error, self.variant))?);
        Ok(())
    }

    fn finish(self) -> Value {
        tagged(self.variant, Value::Array(self.elements))
    }
}

/// The members of an unfinished object. The object is the content of `variant`, if there is one.
struct Members {
    inner: Serializer,
    variant: Option<&'static str>,
    /// The name of the member whose value is next.
    name: Option<String>,
    members: Object,
}

impl Members {
    fn push<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), SerError> {
        let result = value.serialize(self.inner).map_err(|error| error.inside(name));
        self.members.insert(name, result.map_err(|error| around(error, self.variant))?);
        Ok(())
    }

    fn finish(self) -> Value {
        tagged(self.variant, Value::Object(self.members))
    }
}

fn around(error: SerError, variant: Option<&str>) -> SerError {
    match variant {
        Some(variant) => error.inside(variant),
        None => error,
    }
}

impl SerializeMap for Members {
    type Ok = Value;
    type Error = SerError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerError> {
        self.name = Some(match key.serialize(self.inner)? {
            Value::String(name) => name,
            Value::Number(number) if number.is_integer() => number.text().to_owned(),
            Value::Bool(value) => value.to_string(),
            other => {
                let kind = other.kind_name();
                return Err(ser::Error::custom(format_args!("{kind} cannot be the name of a member")));
            }
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerError> {
        match self.name.take() {
            Some(name) => self.push(&name, value),
            None => Err(ser::Error::custom("the value of a member came before its name")),
        }
    }

    fn end(self) -> Result<Value, SerError> {
        Ok(self.finish())
    }
}

/// Implements the serde traits that collect elements or members, with `push` and `finish`.
macro_rules! collect {
    ($($trait:ident for $type:ty: $method:ident($($name:ident)?);)*) => {$(
        impl $trait for $type {
            type Ok = Value;
            type Error = SerError;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: &'static str,)?
                value: &T,
            ) -> Result<(), SerError> {
                self.push($($name,)? value)
            }

            fn end(self) -> Result<Value, SerError> {
                Ok(self.finish())
            }
        }
    )*};
}
collect! {
    SerializeSeq for Elements: serialize_element();
    SerializeTuple for Elements: serialize_element();
    SerializeTupleStruct for Elements: serialize_field();
    SerializeTupleVariant for Elements: serialize_field();
    SerializeStruct for Members: serialize_field(name);
    SerializeStructVariant for Members: serialize_field(name);
}
