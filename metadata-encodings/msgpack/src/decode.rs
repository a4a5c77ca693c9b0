//! Decoding values from MessagePack objects.

use rmp::Marker;
use zarr_json::{MAX_DEPTH, Number, TooMuchMemory, ValueMemory};
use zarr_spec::{Invalid, Object, Value};

use crate::NUMBER_TEXT;

/// Decodes `bytes` as exactly one object, within `memory`.
pub(crate) fn document(bytes: &[u8], memory: ValueMemory) -> Result<Value, Invalid> {
    let mut objects = Objects { bytes, position: 0, memory };
    let value = objects.value(MAX_DEPTH)?;
    match bytes.len() - objects.position {
        0 => Ok(value),
        more => Err(Invalid::new(format!("{more} bytes follow the document"))),
    }
}

#[derive(Debug)]
struct Objects<'a> {
    bytes: &'a [u8],
    position: usize,
    memory: ValueMemory,
}

impl<'a> Objects<'a> {
    /// Decodes an object with at most `depth` further levels.
    fn value(&mut self, depth: usize) -> Result<Value, Invalid> {
        let position = self.position;
        let marker = self.marker()?;
        if let Some(length) = self.text_length(marker)? {
            let text = self.text(position, length)?;
            return self.memory.string(text).map_err(too_much);
        }
        if let Some(length) = self.extension_length(marker)? {
            return self.extension(position, length);
        }
        Ok(match marker {
            Marker::Null => Value::Null,
            Marker::False => Value::Bool(false),
            Marker::True => Value::Bool(true),
            Marker::FixPos(value) => Number::from(value).into(),
            Marker::FixNeg(value) => Number::from(value).into(),
            Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => {
                Number::from(self.unsigned(width(marker))?).into()
            }
            Marker::I8 => Number::from(i8::from_be_bytes(self.array()?)).into(),
            Marker::I16 => Number::from(i16::from_be_bytes(self.array()?)).into(),
            Marker::I32 => Number::from(i32::from_be_bytes(self.array()?)).into(),
            Marker::I64 => Number::from(i64::from_be_bytes(self.array()?)).into(),
            Marker::F32 => float(position, f32::from_be_bytes(self.array()?).into())?,
            Marker::F64 => float(position, f64::from_be_bytes(self.array()?))?,
            Marker::FixArray(count) => self.elements(position, count.into(), depth)?,
            Marker::Array16 => {
                let count = self.unsigned(2)?;
                self.elements(position, count, depth)?
            }
            Marker::Array32 => {
                let count = self.unsigned(4)?;
                self.elements(position, count, depth)?
            }
            Marker::FixMap(count) => self.members(position, count.into(), depth)?,
            Marker::Map16 => {
                let count = self.unsigned(2)?;
                self.members(position, count, depth)?
            }
            Marker::Map32 => {
                let count = self.unsigned(4)?;
                self.members(position, count, depth)?
            }
            _ => return Err(wrong(position, "bytes, or an object that MessagePack does not define")),
        })
    }

    fn elements(&mut self, position: usize, count: u64, depth: usize) -> Result<Value, Invalid> {
        let depth = deeper(position, depth)?;
        let mut elements = Vec::new();
        for _ in 0..count {
            let element = self.value(depth)?;
            self.memory.push(&mut elements, element).map_err(too_much)?;
        }
        self.memory.array(elements).map_err(too_much)
    }

    fn members(&mut self, position: usize, count: u64, depth: usize) -> Result<Value, Invalid> {
        let depth = deeper(position, depth)?;
        let mut members = Object::new();
        for _ in 0..count {
            let position = self.position;
            let marker = self.marker()?;
            let Some(length) = self.text_length(marker)? else {
                return Err(wrong(position, "the name of a member, which must be a string"));
            };
            let name = self.text(position, length)?;
            if members.contains(name) {
                return Err(wrong(position, &format!("a second member `{name}`")));
            }
            let value = self.value(depth)?;
            self.memory.append(&mut members, name, value).map_err(too_much)?;
        }
        self.memory.object(members).map_err(too_much)
    }

    /// Returns the length of a string; `None` for other objects.
    fn text_length(&mut self, marker: Marker) -> Result<Option<u64>, Invalid> {
        Ok(Some(match marker {
            Marker::FixStr(length) => length.into(),
            Marker::Str8 => self.unsigned(1)?,
            Marker::Str16 => self.unsigned(2)?,
            Marker::Str32 => self.unsigned(4)?,
            _ => return Ok(None),
        }))
    }

    /// Returns the length of an extension; `None` for other objects.
    fn extension_length(&mut self, marker: Marker) -> Result<Option<u64>, Invalid> {
        Ok(Some(match marker {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => self.unsigned(1)?,
            Marker::Ext16 => self.unsigned(2)?,
            Marker::Ext32 => self.unsigned(4)?,
            _ => return Ok(None),
        }))
    }

    fn extension(&mut self, position: usize, length: u64) -> Result<Value, Invalid> {
        let kind = i8::from_be_bytes(self.array()?);
        if kind != NUMBER_TEXT {
            return Err(wrong(position, &format!("an extension of type {kind}, which is not supported")));
        }
        let number = Number::parse(self.text(position, length)?);
        let number = number.ok_or_else(|| wrong(position, "a number whose text is not a JSON number"))?;
        self.memory.number(number).map_err(too_much)
    }

    fn text(&mut self, position: usize, length: u64) -> Result<&'a str, Invalid> {
        std::str::from_utf8(self.take(length)?).map_err(|_| wrong(position, "text that is not UTF-8"))
    }

    fn marker(&mut self) -> Result<Marker, Invalid> {
        let [byte] = self.array()?;
        Ok(Marker::from_u8(byte))
    }

    fn unsigned(&mut self, width: u64) -> Result<u64, Invalid> {
        Ok(self.take(width)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Invalid> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Invalid> {
        let rest = &self.bytes[self.position..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| {
            Invalid::new(format!("the document ends within the object at byte {}", self.position))
        })?;
        self.position += taken.len();
        Ok(taken)
    }
}

fn too_much(error: TooMuchMemory) -> Invalid {
    Invalid::new(error.to_string())
}

fn width(marker: Marker) -> u64 {
    match marker {
        Marker::U8 => 1,
        Marker::U16 => 2,
        Marker::U32 => 4,
        _ => 8,
    }
}

fn float(position: usize, value: f64) -> Result<Value, Invalid> {
    let number = Number::from_f64(value);
    Ok(number.ok_or_else(|| wrong(position, &format!("{value}, which JSON cannot represent")))?.into())
}

fn deeper(position: usize, depth: usize) -> Result<usize, Invalid> {
    let what = || format!("an object nested deeper than {MAX_DEPTH} levels");
    depth.checked_sub(1).ok_or_else(|| wrong(position, &what()))
}

fn wrong(position: usize, what: &str) -> Invalid {
    Invalid::new(format!("byte {position} begins {what}"))
}
