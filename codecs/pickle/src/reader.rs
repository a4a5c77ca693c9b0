//! The arguments of opcodes.

use zarr_spec::{CodecError, CodecResult};

/// Reads a pickle from its start.
#[derive(Debug)]
pub(crate) struct Reader<'e> {
    rest: &'e [u8],
}

impl<'e> Reader<'e> {
    pub(crate) fn new(encoded: &'e [u8]) -> Self {
        Self { rest: encoded }
    }

    /// Returns the next `size` bytes.
    pub(crate) fn bytes(&mut self, size: usize) -> CodecResult<&'e [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(size).ok_or_else(ends)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> CodecResult<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or_else(ends)?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(crate) fn u8(&mut self) -> CodecResult<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> CodecResult<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> CodecResult<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn big_endian_float(&mut self) -> CodecResult<f64> {
        self.array().map(f64::from_be_bytes)
    }

    /// Reads a size of 1 byte and the bytes after it.
    pub(crate) fn bytes_1(&mut self) -> CodecResult<&'e [u8]> {
        let size = self.u8()?;
        self.bytes(size.into())
    }

    /// Reads a size of 4 bytes and the bytes after it.
    pub(crate) fn bytes_4(&mut self) -> CodecResult<&'e [u8]> {
        let size = self.u32()?;
        self.bytes(size)
    }

    /// Reads a size of 8 bytes and the bytes after it.
    pub(crate) fn bytes_8(&mut self) -> CodecResult<&'e [u8]> {
        let size = self.array().map(u64::from_le_bytes)?;
        self.bytes(usize::try_from(size).unwrap_or(usize::MAX))
    }

    pub(crate) fn u32(&mut self) -> CodecResult<usize> {
        let number = self.array().map(u32::from_le_bytes)?;
        Ok(usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Returns the bytes up to the end of the line, and skips the line feed.
    pub(crate) fn line(&mut self) -> CodecResult<&'e [u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\n').ok_or_else(ends)?;
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(line)
    }

    /// Returns a line of ASCII characters.
    pub(crate) fn text_line(&mut self) -> CodecResult<&'e str> {
        let line = self.line()?;
        let text = std::str::from_utf8(line).ok().filter(|text| text.is_ascii());
        text.ok_or_else(|| CodecError::corrupt("a line of the pickle is not ASCII"))
    }
}

fn ends() -> CodecError {
    CodecError::corrupt("the pickle ends before the argument of an opcode")
}

/// Reads text in which characters may be escaped with `\u` and `\U`, and others are Latin-1.
pub(crate) fn unescaped(line: &[u8]) -> CodecResult<String> {
    let wrong = || CodecError::corrupt("a text of the pickle has an invalid escape");
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digits = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(byte));
                continue;
            }
        };
        let (hex, after) = after[1..].split_at_checked(digits).ok_or_else(wrong)?;
        let hex =
            std::str::from_utf8(hex).ok().filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).ok_or_else(wrong)?;
        text.push(char::from_u32(code).ok_or_else(wrong)?);
        rest = after;
    }
    Ok(text)
}

/// Reads the literal of a byte string of Python 2, with its quotes.
pub(crate) fn quoted(line: &str) -> CodecResult<Vec<u8>> {
    let wrong = || CodecError::corrupt("a byte string of the pickle is not a literal");
    let inner = ['\'', '"'].iter().find_map(|&quote| line.strip_prefix(quote)?.strip_suffix(quote));
    let mut rest = inner.ok_or_else(wrong)?.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&escape, after) = rest.split_first().ok_or_else(wrong)?;
        rest = after;
        bytes.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'\\' | b'\'' | b'"' => escape,
            b'x' => {
                let (hex, after) = rest.split_at_checked(2).ok_or_else(wrong)?;
                rest = after;
                let hex = std::str::from_utf8(hex).map_err(|_| wrong())?;
                u8::from_str_radix(hex, 16).map_err(|_| wrong())?
            }
            _ => return Err(wrong()),
        });
    }
    Ok(bytes)
}
