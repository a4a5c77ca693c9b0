//! Fill values of data types of fixed length.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_spec::data_type::FillContext;
use zarr_spec::{Format, Invalid, Value};

use crate::Content;

/// Parses an element of `size` bytes, in native byte order.
pub(crate) fn parse(
    json: &Value,
    content: Content,
    size: usize,
    context: &FillContext<'_>,
) -> Result<Vec<u8>, String> {
    let tolerate = |what: String| context.reading.tolerate(what).map_err(|invalid| invalid.to_string());
    let bytes = match (json, content) {
        (Value::Number(number), _) if context.format == Format::V2 && number.as_u64() == Some(0) => {
            tolerate("fill value 0 is read as zero bytes".to_owned())?;
            Vec::new()
        }
        (Value::String(text), Content::Text) => from_text(text),
        (Value::String(digits), Content::Raw)
            if context.format == Format::V3Draft && digits.starts_with("0x") =>
        {
            from_hex(&digits[2..]).ok_or_else(|| format!("{json} is not a bit pattern"))?
        }
        (Value::String(text), Content::Bytes | Content::Raw) => {
            STANDARD.decode(text).map_err(|error| format!("{json} is not Base64: {error}"))?
        }
        (Value::Array(list), Content::Raw) if context.format == Format::V3 => {
            tolerate(format!("fill value {json} is a list of bytes; expected Base64"))?;
            list.iter().map(byte).collect::<Result<_, _>>()?
        }
        _ => return Err(format!("{json} is not a valid form of it")),
    };
    let fits = match content {
        Content::Bytes | Content::Text => bytes.len() <= size,
        Content::Raw => bytes.len() == size || (bytes.is_empty() && context.format == Format::V2),
    };
    if !fits {
        // Readers of v2 agree on truncating and on padding with zeros. In other formats, a wrong size is an error.
        let what = format!("fill value {json} has {} bytes; expected {size}", bytes.len());
        match context.format {
            Format::V2 => tolerate(what)?,
            Format::V3 | Format::V3Draft => return Err(what),
        }
    }
    let mut element = bytes;
    element.resize(size, 0);
    Ok(element)
}

/// Writes a form that is read as the same bytes.
pub(crate) fn to_json(element: &[u8], content: Content, format: Format) -> Result<Value, Invalid> {
    Ok(match (content, format) {
        (Content::Text, _) => Value::from(text(element)?),
        (Content::Bytes, _) => Value::from(STANDARD.encode(value(element))),
        (Content::Raw, Format::V3Draft) => {
            let digits: String = element.iter().map(|byte| format!("{byte:02x}")).collect();
            Value::from(format!("0x{digits}"))
        }
        (Content::Raw, _) => Value::from(STANDARD.encode(element)),
    })
}

/// Removes trailing zeros.
pub(crate) fn value(element: &[u8]) -> &[u8] {
    let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &element[..end]
}

/// Decodes the text of an element, without trailing zeros.
pub(crate) fn text(element: &[u8]) -> Result<String, Invalid> {
    let text: String = characters(element)?.collect::<Result<_, _>>()?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Checks that the elements consist of code points.
pub(crate) fn check_text(elements: &[u8]) -> Result<(), Invalid> {
    characters(elements)?.try_for_each(|character| character.map(drop))
}

fn characters(bytes: &[u8]) -> Result<impl Iterator<Item = Result<char, Invalid>>, Invalid> {
    let (units, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Invalid::new(format!(
            "{} bytes are not a multiple of 4, the size of a code point",
            bytes.len()
        )));
    }
    Ok(units.iter().map(|&unit| {
        let unit = u32::from_ne_bytes(unit);
        char::from_u32(unit).ok_or_else(|| Invalid::new(format!("0x{unit:x} is not a Unicode code point")))
    }))
}

fn from_text(text: &str) -> Vec<u8> {
    text.trim_end_matches('\0').chars().flat_map(|character| u32::from(character).to_ne_bytes()).collect()
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let byte = |pair: &[u8]| match pair {
        &[high, low] => Some((value(high)? << 4) | value(low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

fn byte(json: &Value) -> Result<u8, String> {
    let byte = json.as_u64().and_then(|byte| u8::try_from(byte).ok());
    byte.ok_or_else(|| format!("{json} is not an integer from 0 to 255"))
}
