//! Decoding the names of entries.

use std::borrow::Cow;

use rawzip::ZipFileHeaderRecord;
use rawzip::extra_fields::ExtraFieldId;

/// The characters 128 to 255 of code page 437.
const UPPER_HALF: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Returns the name of an entry: UTF-8 if a flag or a field of Info-ZIP declares it, else code page 437. `None`
/// if the name is declared as UTF-8 but is not valid.
pub(crate) fn name_of<'a>(record: &'a ZipFileHeaderRecord<'a>) -> Option<Cow<'a, str>> {
    let name = record.file_path().as_bytes();
    if name.is_ascii() || record.flags().is_utf8() {
        return str::from_utf8(name).ok().map(Cow::Borrowed);
    }
    let unicode = record.extra_fields().find(|(id, _)| *id == ExtraFieldId::new(0x7075));
    if let Some((_, [1, c0, c1, c2, c3, text @ ..])) = unicode
        && u32::from_le_bytes([*c0, *c1, *c2, *c3]) == crc32fast::hash(name)
    {
        return str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    Some(Cow::Owned(code_page_437(name)))
}

fn code_page_437(bytes: &[u8]) -> String {
    let character = |byte: &u8| match byte.checked_sub(128) {
        None => char::from(*byte),
        Some(place) => UPPER_HALF.chars().nth(place.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
    };
    bytes.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected text is what Python returns for `bytes(range(128, 256)).decode("cp437")`.
    #[test]
    fn code_page_437_has_256_characters() {
        assert_eq!(UPPER_HALF.chars().count(), 128);
        assert_eq!(code_page_437(b"a\x80\x84\x9b\xe1\xff"), "aÇä¢ß\u{a0}");
    }
}
