//! The compact protocol of Thrift, which encodes the metadata of Parquet files.
//!
//! Source: "Thrift compact protocol encoding" of Apache Thrift.

/// The maximum nesting of structures and lists. Metadata of Parquet need less than 10 levels.
const MAX_DEPTH: usize = 32;

/// A value. Types that Parquet files need only for statistics and hints are [`Value::Other`].
#[derive(Debug)]
pub(super) enum Value<'b> {
    Integer(i64),
    Bytes(&'b [u8]),
    List(Vec<Value<'b>>),
    Structure(Vec<(i16, Value<'b>)>),
    Other,
}

impl<'b> Value<'b> {
    /// Returns the member of a structure with the number `id`.
    pub(super) fn member(&self, id: i16) -> Option<&Value<'b>> {
        let Self::Structure(members) = self else { return None };
        members.iter().find_map(|(number, value)| (*number == id).then_some(value))
    }

    pub(super) fn integer(&self, id: i16) -> Option<i64> {
        match self.member(id)? {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a member that is a count, a size or an offset.
    pub(super) fn count(&self, id: i16) -> Result<usize, String> {
        let number = self.integer(id).ok_or_else(|| format!("member {id} of its metadata is missing"))?;
        usize::try_from(number).map_err(|_| format!("member {id} of its metadata is {number}"))
    }

    pub(super) fn list(&self, id: i16) -> &[Value<'b>] {
        match self.member(id) {
            Some(Self::List(items)) => items,
            _ => &[],
        }
    }

    pub(super) fn bytes(&self, id: i16) -> Option<&'b [u8]> {
        self.member(id)?.as_bytes()
    }

    pub(super) fn as_bytes(&self) -> Option<&'b [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Reads a structure. Returns it with the bytes after it.
///
/// # Errors
///
/// If the bytes end within the structure or have an unknown type.
pub(super) fn structure(bytes: &[u8]) -> Result<(Value<'_>, &[u8]), String> {
    let mut reader = Reader { rest: bytes };
    let value = reader.structure(MAX_DEPTH)?;
    Ok((value, reader.rest))
}

/// Reads an unsigned integer of variable length. Returns it with the bytes after it.
///
/// # Errors
///
/// If the bytes end within it, or it has more than 64 bits.
pub(super) fn unsigned(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let mut reader = Reader { rest: bytes };
    let number = reader.unsigned()?;
    Ok((number, reader.rest))
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn structure(&mut self, depth: usize) -> Result<Value<'b>, String> {
        let depth = depth.checked_sub(1).ok_or("its metadata are nested too deeply")?;
        let mut members = Vec::new();
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(Value::Structure(members));
            }
            id = match i16::from(header >> 4) {
                0 => i16::try_from(self.signed()?)
                    .map_err(|_| "a member of its metadata has a wrong number")?,
                delta => id.wrapping_add(delta),
            };
            let value = match header & 15 {
                1 => Value::Integer(1),
                2 => Value::Integer(0),
                kind => self.value(kind, depth)?,
            };
            members.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value<'b>, String> {
        Ok(match kind {
            // In lists, a boolean is a byte.
            1..=3 => Value::Integer(i64::from(self.byte()?)),
            4..=6 => Value::Integer(self.signed()?),
            7 => self.skipped(8)?,
            8 => {
                let size = self.size()?;
                Value::Bytes(self.take(size)?)
            }
            9 | 10 => self.list(depth)?,
            11 => self.map(depth)?,
            12 => self.structure(depth)?,
            13 => self.skipped(16)?,
            kind => return Err(format!("a member of its metadata has the unknown type {kind}")),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Value<'b>, String> {
        let depth = depth.checked_sub(1).ok_or("its metadata are nested too deeply")?;
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => self.size()?,
            length => usize::from(length),
        };
        // Each item takes at least a byte, which bounds the list.
        (0..length).map(|_| self.value(header & 15, depth)).collect::<Result<_, _>>().map(Value::List)
    }

    fn map(&mut self, depth: usize) -> Result<Value<'b>, String> {
        let depth = depth.checked_sub(1).ok_or("its metadata are nested too deeply")?;
        let length = self.size()?;
        if length > 0 {
            let kinds = self.byte()?;
            for _ in 0..length {
                self.value(kinds >> 4, depth)?;
                self.value(kinds & 15, depth)?;
            }
        }
        Ok(Value::Other)
    }

    fn skipped(&mut self, size: usize) -> Result<Value<'b>, String> {
        self.take(size).map(|_| Value::Other)
    }

    fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.rest.split_first().ok_or_else(ends)?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, size: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or_else(ends)?;
        self.rest = rest;
        Ok(taken)
    }

    fn size(&mut self) -> Result<usize, String> {
        usize::try_from(self.unsigned()?).map_err(|_| ends())
    }

    /// Reads an integer in zigzag form: 0, -1, 1, -2.
    fn signed(&mut self) -> Result<i64, String> {
        let number = self.unsigned()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 127);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err("an integer of its metadata has more than 64 bits".to_owned())
    }
}

fn ends() -> String {
    "it ends within its metadata".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_variable_length_are_read() {
        for (bytes, number) in [
            (&[0][..], 0),
            (&[127], 127),
            (&[128, 1], 128),
            (&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1], u64::MAX),
        ] {
            assert_eq!(unsigned(bytes), Ok((number, &[][..])));
        }
        assert!(unsigned(&[128]).is_err());
        assert!(unsigned(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]).is_err());
        assert!(unsigned(&[128; 20]).is_err());
    }

    /// The bytes are those that the protocol prescribes: members 1 (integer), 2 (true), 20 (bytes), 21 (list).
    #[test]
    fn members_are_found_by_number() {
        let bytes = [0x15, 3, 0x11, 0x08, 40, 2, b'h', b'i', 0x19, 0x25, 2, 4, 0, 9];
        let (value, rest) = structure(&bytes).unwrap();
        assert_eq!(
            (value.integer(1), value.integer(2), value.bytes(20)),
            (Some(-2), Some(1), Some(&b"hi"[..]))
        );
        assert_eq!(value.list(21).len(), 2);
        assert_eq!((value.integer(3), value.count(1).is_err(), rest), (None, true, &[9][..]));
    }

    #[test]
    fn damaged_structures_are_refused() {
        let whole = [0x15, 3, 0x11, 0x08, 40, 2, b'h', b'i', 0x19, 0x25, 2, 4, 0];
        for size in 0..whole.len() {
            assert!(structure(&whole[..size]).is_err(), "{size}");
        }
        assert!(structure(&[0x1c; 1000]).unwrap_err().contains("nested too deeply"));
        assert!(structure(&[0x19; 1000]).is_err());
        assert!(structure(&[0x1e, 0]).unwrap_err().contains("unknown type"));
    }
}
