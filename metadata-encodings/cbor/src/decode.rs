//! Decoding values from CBOR items.

use zarr_json::{MAX_DEPTH, Number, TooMuchMemory, ValueMemory};
use zarr_spec::{Invalid, Object, Value};

use crate::{NUMBER_TEXT, major, tag};

/// Decodes `bytes` as exactly one item, within `memory`.
pub(crate) fn document(bytes: &[u8], memory: ValueMemory) -> Result<Value, Invalid> {
    let mut items = Items { bytes, position: 0, memory };
    let mut head = items.head()?;
    if (head.major, head.argument) == (major::TAG, Some(tag::SELF_DESCRIBED)) {
        head = items.head()?;
    }
    let value = items.value(head, MAX_DEPTH)?;
    match bytes.len() - items.position {
        0 => Ok(value),
        more => Err(Invalid::new(format!("{more} bytes follow the document"))),
    }
}

/// The head of an item.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// The position of the head.
    position: usize,
    major: u8,
    /// The five bits after the major type.
    detail: u8,
    /// `None` for an indefinite length and for a break.
    argument: Option<u64>,
}

#[derive(Debug)]
struct Items<'a> {
    bytes: &'a [u8],
    position: usize,
    memory: ValueMemory,
}

impl<'a> Items<'a> {
    /// Decodes an item with at most `depth` further levels.
    fn value(&mut self, head: Head, depth: usize) -> Result<Value, Invalid> {
        let wrong = |what: &str| Err(head.wrong(what));
        Ok(match (head.major, head.argument) {
            (major::POSITIVE, Some(argument)) => Number::from(argument).into(),
            (major::NEGATIVE, Some(argument)) => Number::from(-1 - i128::from(argument)).into(),
            (major::BYTES, _) => return wrong("bytes, which JSON does not have"),
            (major::TEXT, _) => {
                let text = self.text(head)?;
                self.memory.string(text).map_err(too_much)?
            }
            (major::ARRAY, count) => {
                let depth = depth.checked_sub(1).ok_or_else(|| head.too_deep())?;
                let mut elements = Vec::new();
                self.each(count, |items, head| {
                    let element = items.value(head, depth)?;
                    items.memory.push(&mut elements, element).map_err(too_much)
                })?;
                self.memory.array(elements).map_err(too_much)?
            }
            (major::MAP, count) => {
                let depth = depth.checked_sub(1).ok_or_else(|| head.too_deep())?;
                let mut members = Object::new();
                self.each(count, |items, head| {
                    let name = items.text(head)?;
                    let value = items.head()?;
                    let value = items.value(value, depth)?;
                    if members.contains(&name) {
                        return Err(head.wrong(&format!("a second member `{name}`")));
                    }
                    items.memory.append(&mut members, &name, value).map_err(too_much)
                })?;
                self.memory.object(members).map_err(too_much)?
            }
            (major::TAG, Some(tag)) => self.tagged(head, tag)?,
            (major::OTHER, Some(argument)) => self.other(head, argument)?,
            _ => return wrong("a break or a length, which is not valid here"),
        })
    }

    fn tagged(&mut self, head: Head, tag: u64) -> Result<Value, Invalid> {
        let inside = self.head()?;
        match (tag, inside.major) {
            (NUMBER_TEXT, major::TEXT) => {
                let text = self.text(inside)?;
                let number = Number::parse(&text);
                let number = number.ok_or_else(|| head.wrong("a number whose text is not a JSON number"))?;
                self.memory.number(number).map_err(too_much)
            }
            (tag::POSITIVE | tag::NEGATIVE, major::BYTES) => {
                let magnitude = self.magnitude(inside)?;
                if tag == tag::POSITIVE {
                    return Ok(Number::from(magnitude).into());
                }
                let below = magnitude.checked_add(1).ok_or_else(|| inside.too_large())?;
                let number = Number::parse(&format!("-{below}"));
                Ok(number.ok_or_else(|| inside.too_large())?.into())
            }
            _ => Err(head.wrong(&format!("tag {tag}, which is not supported"))),
        }
    }

    /// Decodes an integer of up to 128 bits, ignoring leading zeros.
    fn magnitude(&mut self, head: Head) -> Result<u128, Invalid> {
        let Some(length) = head.argument else {
            return Err(head.wrong("a bignum in pieces"));
        };
        let digits = self.take(head, length)?;
        let leading = digits.iter().take_while(|&&digit| digit == 0).count();
        let digits = &digits[leading..];
        if digits.len() > 16 {
            return Err(head.too_large());
        }
        Ok(digits.iter().fold(0, |magnitude, &digit| magnitude << 8 | u128::from(digit)))
    }

    /// Decodes booleans, null and floating-point numbers.
    fn other(&mut self, head: Head, argument: u64) -> Result<Value, Invalid> {
        let bits = argument.to_be_bytes();
        let value = match (head.detail, argument) {
            (20, _) => return Ok(Value::Bool(false)),
            (21, _) => return Ok(Value::Bool(true)),
            (22, _) => return Ok(Value::Null),
            (25, _) => half::f16::from_be_bytes([bits[6], bits[7]]).to_f64(),
            (26, _) => f32::from_be_bytes([bits[4], bits[5], bits[6], bits[7]]).into(),
            (27, _) => f64::from_be_bytes(bits),
            _ => return Err(head.wrong("a simple value other than true, false and null")),
        };
        let number = Number::from_f64(value);
        Ok(number.ok_or_else(|| head.wrong(&format!("{value}, which JSON cannot represent")))?.into())
    }

    fn text(&mut self, head: Head) -> Result<String, Invalid> {
        if head.major != major::TEXT {
            return Err(head.wrong("the name of a member, which must be text"));
        }
        if let Some(length) = head.argument {
            return self.piece(head, length).map(ToOwned::to_owned);
        }
        let mut text = String::new();
        self.each(None, |items, head| match (head.major, head.argument) {
            (major::TEXT, Some(length)) => {
                text.push_str(items.piece(head, length)?);
                Ok(())
            }
            _ => Err(head.wrong("an item inside of a text, which must be text")),
        })?;
        Ok(text)
    }

    fn piece(&mut self, head: Head, length: u64) -> Result<&'a str, Invalid> {
        std::str::from_utf8(self.take(head, length)?).map_err(|_| head.wrong("text that is not UTF-8"))
    }

    /// Calls `then` for each of `count` items, or for all items up to the break.
    fn each(
        &mut self,
        count: Option<u64>,
        mut then: impl FnMut(&mut Self, Head) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let mut done = 0;
        while count != Some(done) {
            let head = self.head()?;
            if count.is_none() && head.is_break() {
                break;
            }
            then(self, head)?;
            done += 1;
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, Invalid> {
        let position = self.position;
        let Some(&first) = self.bytes.get(position) else {
            return Err(Invalid::new(format!("the document ends at byte {position}, within an item")));
        };
        self.position += 1;
        let major = first >> 5;
        let detail = first & 31;
        let mut head = Head { position, major, detail, argument: None };
        head.argument = match detail {
            0..24 => Some(detail.into()),
            24..28 => {
                let bytes = self.take(head, 1 << (detail - 24))?;
                Some(bytes.iter().fold(0, |argument, &byte| argument << 8 | u64::from(byte)))
            }
            31 => None,
            _ => return Err(head.wrong("an item that RFC 8949 does not define")),
        };
        Ok(head)
    }

    fn take(&mut self, head: Head, length: u64) -> Result<&'a [u8], Invalid> {
        let rest = &self.bytes[self.position..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| head.wrong("more bytes than the document has"))?;
        self.position += taken.len();
        Ok(taken)
    }
}

fn too_much(error: TooMuchMemory) -> Invalid {
    Invalid::new(error.to_string())
}

impl Head {
    fn is_break(&self) -> bool {
        self.major == major::OTHER && self.argument.is_none()
    }

    fn wrong(&self, what: &str) -> Invalid {
        Invalid::new(format!("byte {} begins {what}", self.position))
    }

    fn too_deep(&self) -> Invalid {
        self.wrong(&format!("an item nested deeper than {MAX_DEPTH} levels"))
    }

    fn too_large(&self) -> Invalid {
        self.wrong("an integer of more than 128 bits")
    }
}
