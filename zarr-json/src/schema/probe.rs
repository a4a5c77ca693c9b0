//! A deserializer that records which kind of value a type requests at one path, and then fails.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::de::{EXACT_NUMBER, EXACT_VALUE};
use crate::{DeError, DeFault, Value};

/// A type's request to a deserializer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Anything,
    Null,
    Bool,
    /// The smallest and the largest value of the type.
    Integer(i128, i128),
    Number,
    Char,
    String,
    Option,
    List,
    Tuple(usize),
    Map,
    Struct(&'static [&'static str]),
    Enum(&'static [&'static str]),
    /// A variant of an enum without content.
    Unit,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// The content of an option.
    Some,
    Item,
    Member(&'static str),
    Variant(&'static str),
}

/// Returns the request of `T` at `path`; `None` if `T` requests nothing there.
pub(super) fn ask<T: DeserializeOwned>(path: &[Step]) -> Option<Asked> {
    let mut asked = None;
    // The result is always an error. Only the request is used.
    let _ended: Result<T, DeError> = T::deserialize(Probe { path, end: End::Ask(&mut asked) });
    asked
}

/// Checks whether `T` accepts `value` at `path`; `None` if `T` requests nothing there.
pub(super) fn give<T: DeserializeOwned>(path: &[Step], value: &Value) -> Option<Result<(), DeFault>> {
    let mut taken = None;
    // The value exists only at `path`: unless the path is empty, other values are missing and the result is an error.
    let result: Result<T, DeError> = T::deserialize(Probe { path, end: End::Give(value, &mut taken) });
    if path.is_empty() {
        refused_afterwards(&mut taken, &result);
    }
    taken
}

enum End<'de, 'p> {
    Ask(&'p mut Option<Asked>),
    Give(&'de Value, &'p mut Option<Result<(), DeFault>>),
}

struct Probe<'de, 'p> {
    path: &'p [Step],
    end: End<'de, 'p>,
}

impl<'de, 'p> Probe<'de, 'p> {
    /// Records the request, or passes the value to `give`, at the end of the path.
    fn finish<V>(
        self,
        asked: Asked,
        give: impl FnOnce(&'de Value) -> Result<V, DeError>,
    ) -> Result<V, DeError> {
        match self.end {
            _ if !self.path.is_empty() => {}
            End::Ask(slot) => *slot = Some(asked),
            End::Give(value, slot) => {
                let result = give(value);
                // A fault inside a nested value, such as a missing member there, becomes `Other`.
                *slot = Some(match &result {
                    Ok(_) => Ok(()),
                    Err(error) if error.path.is_empty() => Err(error.fault.clone()),
                    Err(_) => Err(DeFault::Other),
                });
                return result;
            }
        }
        Err(ended())
    }

    /// Passes the deserializer for the next step of the path to `look`.
    fn step<V>(self, look: impl FnOnce(Probe<'de, '_>) -> Result<V, DeError>) -> Result<V, DeError> {
        let path = self.path.get(1..).unwrap_or_default();
        match self.end {
            End::Ask(slot) => look(Probe { path, end: End::Ask(slot) }),
            End::Give(value, slot) => {
                let result = look(Probe { path, end: End::Give(value, slot) });
                if path.is_empty() {
                    refused_afterwards(slot, &result);
                }
                result
            }
        }
    }
}

/// Records an error after the value was accepted, because a conversion from a serde type may refuse it.
fn refused_afterwards<V>(slot: &mut Option<Result<(), DeFault>>, result: &Result<V, DeError>) {
    if let (Some(taken @ Ok(())), Err(error)) = (slot, result) {
        *taken = Err(error.fault.clone());
    }
}

fn ended() -> DeError {
    DeError::custom("the requested place has been passed")
}

macro_rules! plain {
    ($($method:ident: $asked:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
            self.finish($asked, |value| value.$method(visitor))
        }
    )*};
}

macro_rules! integers {
    ($($method:ident: $type:ty;)*) => {
        plain! { $($method: Asked::Integer(<$type>::MIN as i128, <$type>::MAX as i128);)* }
    };
}

impl<'de> Deserializer<'de> for Probe<'de, '_> {
    type Error = DeError;

    plain! {
        deserialize_any: Asked::Anything;
        deserialize_ignored_any: Asked::Anything;
        deserialize_identifier: Asked::String;
        deserialize_unit: Asked::Null;
        deserialize_bool: Asked::Bool;
        deserialize_f32: Asked::Number;
        deserialize_f64: Asked::Number;
        deserialize_char: Asked::Char;
        deserialize_str: Asked::String;
        deserialize_string: Asked::String;
        deserialize_bytes: Asked::Anything;
        deserialize_byte_buf: Asked::Anything;
        deserialize_map: Asked::Map;
        // Integers of 128 bits have a wider range than the integers of other JSON programs.
        deserialize_i128: Asked::Anything;
        deserialize_u128: Asked::Anything;
    }

    integers! {
        deserialize_i8: i8;
        deserialize_i16: i16;
        deserialize_i32: i32;
        deserialize_i64: i64;
        deserialize_u8: u8;
        deserialize_u16: u16;
        deserialize_u32: u32;
        deserialize_u64: u64;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.path.first() {
            Some(Step::Some) => self.step(|probe| visitor.visit_some(probe)),
            _ => self.finish(Asked::Option, |value| value.deserialize_option(visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.finish(Asked::Null, |value| value.deserialize_unit_struct(name, visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        let asked = match name {
            EXACT_VALUE => Asked::Anything,
            EXACT_NUMBER => Asked::Number,
            _ => return visitor.visit_newtype_struct(self),
        };
        self.finish(asked, |value| value.deserialize_newtype_struct(name, visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.path.first() {
            Some(Step::Item) => visitor.visit_seq(One { name: None, probe: Some(self) }),
            _ => self.finish(Asked::List, |value| value.deserialize_seq(visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DeError> {
        self.finish(Asked::Tuple(len), |value| value.deserialize_tuple(len, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.finish(Asked::Tuple(len), |value| value.deserialize_tuple_struct(name, len, visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self.path.first() {
            Some(Step::Member(member)) => visitor.visit_map(One { name: Some(*member), probe: Some(self) }),
            _ => self.finish(Asked::Struct(fields), |value| value.deserialize_struct(name, fields, visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self.path.first() {
            Some(Step::Variant(variant)) => {
                visitor.visit_enum(One { name: Some(*variant), probe: Some(self) })
            }
            _ => self.finish(Asked::Enum(variants), |value| value.deserialize_enum(name, variants, visitor)),
        }
    }
}

/// The item, member or variant on the path.
struct One<'de, 'p> {
    name: Option<&'static str>,
    probe: Option<Probe<'de, 'p>>,
}

impl<'de, 'p> One<'de, 'p> {
    fn probe(&mut self) -> Result<Probe<'de, 'p>, DeError> {
        self.probe.take().ok_or_else(ended)
    }
}

impl<'de> SeqAccess<'de> for One<'de, '_> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DeError> {
        self.probe.take().map(|probe| probe.step(|probe| seed.deserialize(probe))).transpose()
    }
}

impl<'de> MapAccess<'de> for One<'de, '_> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DeError> {
        self.name.take().map(|name| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DeError> {
        self.probe()?.step(|probe| seed.deserialize(probe))
    }
}

impl<'de> EnumAccess<'de> for One<'de, '_> {
    type Error = DeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), DeError> {
        let name = self.name.take().unwrap_or_default();
        Ok((seed.deserialize(BorrowedStrDeserializer::new(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for One<'de, '_> {
    type Error = DeError;

    fn unit_variant(mut self) -> Result<(), DeError> {
        self.probe()?.step(|probe| probe.finish(Asked::Unit, |_| Err(ended())))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value, DeError> {
        self.probe()?.step(|probe| seed.deserialize(probe))
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, len: usize, visitor: V) -> Result<V::Value, DeError> {
        self.probe()?.step(|probe| probe.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.probe()?.step(|probe| probe.deserialize_struct("", fields, visitor))
    }
}
