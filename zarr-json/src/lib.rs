//! JSON for metadata documents: numbers keep their text and members their order.
//!
//! [`parse()`] reads strict JSON (RFC 8259) in UTF-8 and bounds the length, the nesting and the memory of a
//! document. Input that a caller may refuse or accept, such as a repeated member, becomes a [`Remark`].
//! [`to_vec`] and [`to_vec_pretty`] write. [`from_value`] and [`to_value`] convert to and from serde types.
//! [`schema`] derives JSON Schemas from serde types, [`printable()`] escapes foreign text in messages, and
//! [`similar()`] finds what a misspelt name may mean.
//!
//! Values of [`parse()`] and [`to_value`] nest at most [`MAX_DEPTH`] deep, so the recursion in this crate
//! needs little stack, also when a value is dropped.
//!
//! `zarr-spec` re-exports [`Value`], [`Object`], [`Number`] and [`json!`]. This crate does not depend on it.

mod counted;
mod de;
mod decimal;
mod member;
mod memory;
mod number;
mod object;
mod parse;
mod parse_error;
pub mod printable;
pub mod schema;
mod ser;
#[cfg(test)]
mod serde_tests;
mod similar;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use counted::counted;
pub use de::{DeError, DeFault, from_value};
pub use member::{Member, parse_member};
pub use memory::{TooMuchMemory, ValueMemory};
pub use number::Number;
pub use object::{IntoIter, Iter, Object};
pub use parse::{Limits, MAX_DEPTH, MAX_REMARKS, ParseOptions, Parsed, Remark, parse};
pub use parse_error::{ParseError, ParseErrorKind};
pub use printable::{printable, printable_path};
pub use ser::{SerError, to_value};
pub use similar::{did_you_mean, similar};
pub use write::{WriteError, to_item, to_printable_pretty, to_vec, to_vec_pretty};

/// Makes a [`Value`](crate::Value) from JSON syntax.
///
/// Any expression that converts [`Into`] a value can be an element or the value of a member. The name of a
/// member is a literal or an expression in parentheses.
///
/// ```
/// let name = "level";
/// let shape = [2_u64, 3];
/// let value = zarr_json::json!({"id": "lz4", (name): -1, "rank": shape.len(), "list": [1 + 1, true, null]});
/// assert_eq!(value.to_string(), r#"{"id":"lz4","level":-1,"rank":2,"list":[2,true,null]}"#);
/// ```
#[macro_export]
macro_rules! json {
    (null) => { $crate::Value::Null };
    // Avoids recursion if every element is a single token, because macro recursion is limited.
    ([$($element:tt),* $(,)?]) => { $crate::Value::Array(vec![$($crate::json!($element)),*]) };
    ([$($elements:tt)+]) => { $crate::Value::Array($crate::json!(@elements [] $($elements)+)) };
    ({$($name:tt : $value:tt),* $(,)?}) => { $crate::json!(@object [$(($name, $crate::json!($value)),)*]) };
    ({$($members:tt)+}) => { $crate::json!(@members [] $($members)+) };

    (@elements [$($made:tt)*]) => { vec![$($made)*] };
    (@elements [$($made:tt)*] null $(, $($rest:tt)*)?) => {
        $crate::json!(@elements [$($made)* $crate::json!(null),] $($($rest)*)?)
    };
    (@elements [$($made:tt)*] [$($element:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json!(@elements [$($made)* $crate::json!([$($element)*]),] $($($rest)*)?)
    };
    (@elements [$($made:tt)*] {$($element:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json!(@elements [$($made)* $crate::json!({$($element)*}),] $($($rest)*)?)
    };
    (@elements [$($made:tt)*] $element:expr $(, $($rest:tt)*)?) => {
        $crate::json!(@elements [$($made)* $crate::Value::from($element),] $($($rest)*)?)
    };

    (@members [$($made:tt)*]) => { $crate::json!(@object [$($made)*]) };
    (@members [$($made:tt)*] $name:tt : null $(, $($rest:tt)*)?) => {
        $crate::json!(@members [$($made)* ($name, $crate::json!(null)),] $($($rest)*)?)
    };
    (@members [$($made:tt)*] $name:tt : [$($value:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json!(@members [$($made)* ($name, $crate::json!([$($value)*])),] $($($rest)*)?)
    };
    (@members [$($made:tt)*] $name:tt : {$($value:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json!(@members [$($made)* ($name, $crate::json!({$($value)*})),] $($($rest)*)?)
    };
    (@members [$($made:tt)*] $name:tt : $value:expr $(, $($rest:tt)*)?) => {
        $crate::json!(@members [$($made)* ($name, $crate::Value::from($value)),] $($($rest)*)?)
    };

    (@object [$(($name:tt, $value:expr),)*]) => {{
        #[allow(unused_mut, unused_parens, reason = "an object without members; a name in parentheses")]
        let object = {
            let mut object = $crate::Object::new();
            $(object.insert($name, $value);)*
            object
        };
        $crate::Value::Object(object)
    }};

    ($value:expr) => { $crate::Value::from($value) };
}

/// A JSON value. Numbers are stored as text, and members in document order.
///
/// Two values are equal if their texts are, except for white space, escapes and the order of members. So `1`
/// and `1.0` differ.
///
/// [`from_value`] and [`to_value`] preserve the text of numbers in values inside other types. Other serde formats, and
/// serde's `flatten` and untagged enums, pass numbers as integers or `f64`. An integer that a serializer cannot
/// represent is an error. Other deserializers may round an integer beyond 64 bits before this crate receives it;
/// [`parse()`] does not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no other values")]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Checks whether this is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the boolean, if this is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the number, if this is one.
    #[inline]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// Returns the number as [`Number::as_u64`] does.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// Returns the number as [`Number::as_i64`] does.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Returns the number as [`Number::as_f64`] does.
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Returns the string, if this is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(string) = self { Some(string) } else { None }
    }

    /// Returns the elements, if this is an array.
    #[inline]
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// Returns the object, if this is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the object, if this is one.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the kind of value for messages: "null", "a boolean", "a number", "a string", "an array" or "an
    /// object".
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    fn has_non_finite(&self) -> bool {
        match self {
            Self::Number(number) => !number.is_finite_token(),
            Self::Array(elements) => elements.iter().any(Self::has_non_finite),
            Self::Object(object) => object.values().any(Self::has_non_finite),
            _ => false,
        }
    }

    /// Returns the JSON pointer of the first bare `NaN`, `Infinity` or `-Infinity` in this value, if there is one.
    ///
    /// The parser accepts such tokens only with [`ParseOptions::bare_non_finite`].
    pub fn find_non_finite(&self) -> Option<String> {
        if !self.has_non_finite() {
            return None;
        }
        let at = |step: &str, value: &Self| Some(inside(step, &value.find_non_finite()?));
        match self {
            Self::Number(number) if !number.is_finite_token() => Some(String::new()),
            Self::Array(elements) => elements.iter().enumerate().find_map(|(i, v)| at(&i.to_string(), v)),
            Self::Object(object) => object.iter().find_map(|(name, value)| at(name, value)),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(string: &str) -> Self {
        Self::String(string.to_owned())
    }
}

/// Implements conversions of the types that one variant contains.
macro_rules! from_content {
    ($($variant:ident: $type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(content: $type) -> Self {
                Self::$variant(content)
            }
        }
    )*};
}
from_content!(Bool: bool, Number: Number, String: String, Array: Vec<Value>, Object: Object);

/// Implements conversions of integers.
macro_rules! from_integer {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(integer: $type) -> Self {
                Self::Number(Number::from(integer))
            }
        }
    )*};
}
from_integer!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// Implements conversions of floats.
macro_rules! from_float {
    ($($type:ty: $number:ident),*) => {$(
        /// Converts to the shortest text that parses to the same float. NaN and infinities become the strings "NaN",
        /// "Infinity" and "-Infinity", as in fill values. The payload of a NaN is lost.
        impl From<$type> for Value {
            fn from(float: $type) -> Self {
                match Number::$number(float) {
                    Some(number) => Self::Number(number),
                    None if float.is_nan() => Self::from("NaN"),
                    None if float > 0.0 => Self::from("Infinity"),
                    None => Self::from("-Infinity"),
                }
            }
        }
    )*};
}
from_float!(f32: from_f32, f64: from_f64);

/// Collects an array.
impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }
}

/// Creates an object. If a name occurs twice, the last value replaces the first.
impl<K: AsRef<str>, V: Into<Value>, const COUNT: usize> From<[(K, V); COUNT]> for Value {
    fn from(members: [(K, V); COUNT]) -> Self {
        Self::Object(members.into())
    }
}

/// Collects an object. If a name occurs twice, the last value replaces the first.
impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Returns the JSON pointer (RFC 6901) of the value at `path` in the member or element `step`.
///
/// Long names are truncated. Otherwise each remark could have a path as long as the document.
fn inside(step: &str, path: &str) -> String {
    let end = (0..=step.len().min(MAX_STEP)).rev().find(|end| step.is_char_boundary(*end));
    let (step, rest) = step.split_at(end.unwrap_or(0));
    let cut = if rest.is_empty() { "" } else { "…" };
    format!("/{}{cut}{path}", step.replace('~', "~0").replace('/', "~1"))
}

/// The maximum length of a name in a path, in bytes.
const MAX_STEP: usize = 200;

/// Writes a prefix such as "at /shape/0: ", or nothing for the whole document.
fn write_place(f: &mut std::fmt::Formatter<'_>, path: &str) -> std::fmt::Result {
    if path.is_empty() { Ok(()) } else { write!(f, "at {}: ", printable(path)) }
}
