//! Deserializes serde types from values.

use std::fmt;
use std::iter;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Number, Object, Value, inside, write_place};
use crate::{did_you_mean, printable, similar};

/// Deserializes a `T`.
///
/// An integer type accepts only integer texts: `1.0` and `1e3` are errors. A float type accepts every number in its
/// range. Structs are deserialized from objects, enums from a string or from an object with one member.
///
/// # Errors
///
/// [`DeError`] with the JSON pointer of the fault and the reason, if `value` is not a valid `T`.
pub fn from_value<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, DeError> {
    T::deserialize(value)
}

/// Why a value is not valid for a type, and which part of the value is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeError {
    /// The JSON pointer of the value at fault.
    pub path: String,
    /// The reason.
    pub message: String,
    /// The same fault in a form that programs can match.
    pub fault: DeFault,
}

/// Why serde rejects a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "errors of documents name every fault")]
pub enum DeFault {
    /// Only [`DeError::message`] describes the fault.
    Other,
    /// The value has the wrong type.
    Wrong {
        /// The expected type, in serde's words.
        expected: String,
    },
    /// The object lacks this member.
    Missing(&'static str),
    /// The object has an unknown member.
    Unknown {
        /// The name of the unknown member.
        name: String,
        /// The members that are known.
        known: &'static [&'static str],
    },
}

impl DeError {
    /// Prepends `step`, a member name or an index, to the path, so that the error is about the parent.
    fn inside(self, step: &str) -> Self {
        Self { path: inside(step, &self.path), ..self }
    }

    fn because(message: impl fmt::Display, fault: DeFault) -> Self {
        Self { path: String::new(), message: message.to_string(), fault }
    }

    fn wrong(message: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::because(message, DeFault::Wrong { expected: expected.to_string() })
    }
}

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.path)?;
        write!(f, "{}", printable(&self.message))
    }
}

impl std::error::Error for DeError {}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::because(message, DeFault::Other)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = if found == Unexpected::Unit { Unexpected::Other("null") } else { found };
        Self::wrong(format_args!("invalid type: {found}, expected {expected}"), expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wrong(format_args!("invalid value: {found}, expected {expected}"), expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::wrong(format_args!("invalid length {found}, expected {expected}"), expected)
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        let expected = format!("one of `{}`", known.join("`, `"));
        Self::wrong(format_args!("unknown value `{variant}`, expected {expected}"), &expected)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let message = match known {
            [] => format!("unknown member `{name}`, expected no members"),
            _ => {
                let hint = did_you_mean(&similar(name, known.iter().copied()));
                format!("unknown member `{name}`{hint}, expected one of `{}`", known.join("`, `"))
            }
        };
        Self::because(message, DeFault::Unknown { name: name.to_owned(), known })
    }

    fn missing_field(name: &'static str) -> Self {
        Self::because(format_args!("`{name}` is missing"), DeFault::Missing(name))
    }
}

/// The name of the newtype struct that [`Value`] requests from a deserializer. The deserializer of this crate
/// recognizes the name and passes the text of a number, as the content of an enum variant with this name. Other
/// deserializers ignore the name.
pub(crate) const EXACT_VALUE: &str = "zarr_json::Value";

/// The name of the newtype struct that [`Number`] requests from a deserializer, like [`EXACT_VALUE`].
pub(crate) const EXACT_NUMBER: &str = "zarr_json::Number";

impl<'de> Deserializer<'de> for &'de Value {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(string) => visitor.visit_borrowed_str(string),
            Value::Array(elements) => visit_array(elements, visitor),
            Value::Object(object) => visitor.visit_map(Members::new(object)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self {
            Value::Number(number) => match number.as_f32().filter(|value| value.is_finite()) {
                Some(value) => visitor.visit_f32(value),
                None => Err(out_of_range(number, &visitor)),
            },
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self {
            Value::Number(number) => visit_float(number, visitor),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        let is_exact = name == EXACT_VALUE || name == EXACT_NUMBER;
        match self {
            Value::Number(number) if is_exact => {
                let content = MapDeserializer::new(iter::once((EXACT_VALUE, number.text())));
                visitor.visit_enum(MapAccessDeserializer::new(content))
            }
            value if is_exact => value.deserialize_any(visitor),
            value => visitor.visit_newtype_struct(value),
        }
    }

    /// Deserializes only from an object, because an array has no names to check.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        let (variant, content) = match self {
            Value::String(variant) => (variant.as_str(), None),
            Value::Object(object) => match (object.iter().next(), object.len()) {
                (Some((variant, content)), 1) => (variant, Some(content)),
                _ => return Err(de::Error::invalid_value(Unexpected::Map, &"an object with one member")),
            },
            other => return Err(de::Error::invalid_type(unexpected(other), &"a string or an object")),
        };
        visitor.visit_enum(Variant { variant, content })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier
    }
}

/// Visits an integer of up to 128 bits as an integer, other numbers as floats.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, DeError> {
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else if let Some(value) = number.as_i128() {
        visitor.visit_i128(value)
    } else if let Some(value) = number.as_u128() {
        visitor.visit_u128(value)
    } else {
        visit_float(number, visitor)
    }
}

/// Visits a finite value. A number beyond the range of `f64` is an error.
fn visit_float<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, DeError> {
    match number.as_f64().filter(|value| value.is_finite()) {
        Some(value) => visitor.visit_f64(value),
        None => Err(out_of_range(number, &visitor)),
    }
}

fn out_of_range(number: &Number, expected: &dyn Expected) -> DeError {
    de::Error::custom(format_args!("invalid value: number `{number}` is out of range, expected {expected}"))
}

fn visit_array<'de, V: Visitor<'de>>(elements: &'de [Value], visitor: V) -> Result<V::Value, DeError> {
    let mut access = Elements { elements: elements.iter(), position: 0 };
    let value = visitor.visit_seq(&mut access)?;
    if access.elements.len() > 0 {
        let expected = format!("an array of {}", access.position);
        return Err(de::Error::invalid_length(elements.len(), &expected.as_str()));
    }
    Ok(value)
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(_) => Unexpected::Other("number"),
        Value::String(string) => Unexpected::Str(string),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

struct Elements<'de> {
    elements: std::slice::Iter<'de, Value>,
    position: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DeError> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        self.position += 1;
        let value = seed.deserialize(element).map_err(|e| e.inside(&(self.position - 1).to_string()))?;
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

struct Members<'de> {
    members: super::Iter<'de>,
    member: Option<(&'de str, &'de Value)>,
}

impl<'de> Members<'de> {
    fn new(object: &'de Object) -> Self {
        Self { members: object.iter(), member: None }
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DeError> {
        self.member = self.members.next();
        self.member.map(|(name, _)| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DeError> {
        let Some((name, value)) = self.member.take() else {
            return Err(de::Error::custom("the value of a member was requested before its name"));
        };
        seed.deserialize(value).map_err(|error| error.inside(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// A variant of an enum: its name, or an object of its name and its content.
struct Variant<'de> {
    variant: &'de str,
    content: Option<&'de Value>,
}

impl<'de> Variant<'de> {
    /// Passes the content to `read`. Adds the name of the variant to the path of an error.
    fn read<T>(
        self,
        expected: &str,
        read: impl FnOnce(&'de Value) -> Result<T, DeError>,
    ) -> Result<T, DeError> {
        match self.content {
            Some(content) => read(content).map_err(|error| error.inside(self.variant)),
            None => Err(de::Error::invalid_type(Unexpected::Str(self.variant), &expected)),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), DeError> {
        Ok((seed.deserialize(BorrowedStrDeserializer::new(self.variant))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = DeError;

    fn unit_variant(self) -> Result<(), DeError> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(de::Error::invalid_type(Unexpected::Map, &"a string")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DeError> {
        self.read("an object with one member", |content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, DeError> {
        self.read("an object with one member", |content| content.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.read("an object with one member", |content| content.deserialize_struct("", fields, visitor))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(EXACT_VALUE, ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_map(ValueVisitor)? {
            Value::Object(object) => Ok(object),
            other => Err(de::Error::invalid_type(unexpected(&other), &"an object")),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_newtype_struct(EXACT_NUMBER, ValueVisitor)? {
            Value::Number(number) => Ok(number),
            other => Err(de::Error::invalid_type(unexpected(&other), &"a number")),
        }
    }
}

struct ValueVisitor;

/// Implements methods that convert a value without elements.
macro_rules! scalars {
    ($($method:ident($value:ident: $type:ty) => $result:expr;)*) => {$(
        fn $method<E: de::Error>(self, $value: $type) -> Result<Value, E> {
            $result
        }
    )*};
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    scalars! {
        visit_bool(value: bool) => Ok(Value::Bool(value));
        visit_i64(value: i64) => Ok(Value::Number(value.into()));
        visit_u64(value: u64) => Ok(Value::Number(value.into()));
        visit_i128(value: i128) => Ok(Value::Number(value.into()));
        visit_u128(value: u128) => Ok(Value::Number(value.into()));
        visit_f32(value: f32) => finite(Number::from_f32(value), value.into());
        visit_f64(value: f64) => finite(Number::from_f64(value), value);
        visit_str(value: &str) => Ok(value.into());
        visit_string(value: String) => Ok(Value::String(value));
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some((name, value)) = access.next_entry::<String, Value>()? {
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        let (variant, content) = access.variant::<String>()?;
        if variant != EXACT_VALUE {
            return Err(de::Error::invalid_type(Unexpected::Enum, &self));
        }
        let text = content.newtype_variant::<String>()?;
        match Number::from_token(&text) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(de::Error::invalid_value(Unexpected::Str(&text), &"a number")),
        }
    }
}

fn finite<E: de::Error>(number: Option<Number>, value: f64) -> Result<Value, E> {
    match number {
        Some(number) => Ok(Value::Number(number)),
        None => Err(de::Error::invalid_value(Unexpected::Float(value), &"a finite number")),
    }
}
