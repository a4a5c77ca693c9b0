//! Text in memory, of variable and of fixed length.

use std::borrow::Cow;

use zarr_plugin_kit::items::Items;
use zarr_spec::{ArrayRepresentation, CodecError, DataType, Elements, Output};

/// The representation of text in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// UTF-8 of variable length.
    Variable,
    /// Characters of four bytes each, padded with zeros.
    Fixed {
        /// Bytes of an element.
        size: usize,
    },
}

/// Bytes of a character of fixed-length text.
const CHARACTER: usize = 4;
/// Bytes of an offset of variable-length text.
const OFFSET: usize = 8;

impl Text {
    pub(crate) fn of(data_type: &dyn DataType) -> Result<Self, CodecError> {
        let name = data_type.name();
        match data_type.elements() {
            Elements::Variable if name == "string" => Ok(Self::Variable),
            Elements::Fixed { size, .. } if size > 0 && name.starts_with("fixed_length_utf32") => {
                Ok(Self::Fixed { size })
            }
            _ => Err(CodecError::Unsupported(format!("expected text, found data type `{name}`"))),
        }
    }

    /// Decodes an element; `None` if it is not valid text.
    pub(crate) fn read(self, element: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Variable => std::str::from_utf8(element).ok().map(Cow::Borrowed),
            Self::Fixed { .. } => {
                let (characters, _) = element.as_chunks::<CHARACTER>();
                let used = characters.iter().rposition(|character| *character != [0; CHARACTER]);
                let used = &characters[..used.map_or(0, |last| last + 1)];
                used.iter().map(|&character| char::from_u32(u32::from_ne_bytes(character))).collect()
            }
        }
    }

    /// Calls `with` for each element of a chunk, with `None` for invalid text.
    pub(crate) fn each(
        self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        mut with: impl FnMut(Option<&str>),
    ) -> Result<(), CodecError> {
        match self {
            Self::Variable => {
                Items::new(array, decoded)?.iter().for_each(|element| with(self.read(element).as_deref()));
            }
            Self::Fixed { size } => {
                let count = count(array)?;
                if count.checked_mul(size) != Some(decoded.len()) {
                    return Err(CodecError::encode(format!(
                        "{} bytes do not hold {count} elements",
                        decoded.len()
                    )));
                }
                decoded.chunks_exact(size).for_each(|element| with(self.read(element).as_deref()));
            }
        }
        Ok(())
    }

    /// Appends elements.
    pub(crate) fn put<'l>(
        self,
        labels: impl Iterator<Item = &'l str> + Clone,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        match self {
            Self::Variable => {
                let (count, payload) = labels.clone().fold((1_usize, 0_usize), |(count, payload), label| {
                    (count.saturating_add(1), payload.saturating_add(label.len()))
                });
                let table = count.saturating_mul(OFFSET);
                let size = table.saturating_add(payload);
                let (offsets, mut rest) = decoded.spare(size)?[..size].split_at_mut(table);
                let (first, offsets) = offsets.split_at_mut(OFFSET);
                first.fill(0);
                let mut end = 0_u64;
                for (offset, label) in offsets.chunks_exact_mut(OFFSET).zip(labels) {
                    let (text, after) = rest.split_at_mut(label.len());
                    text.copy_from_slice(label.as_bytes());
                    rest = after;
                    end += label.len() as u64;
                    offset.copy_from_slice(&end.to_ne_bytes());
                }
                decoded.advance(size);
            }
            Self::Fixed { size } => {
                for label in labels {
                    let element = &mut decoded.spare(size)?[..size];
                    element.fill(0);
                    for (character, to) in label.chars().zip(element.chunks_exact_mut(CHARACTER)) {
                        to.copy_from_slice(&u32::from(character).to_ne_bytes());
                    }
                    decoded.advance(size);
                }
            }
        }
        Ok(())
    }
}

/// Returns the number of elements.
pub(crate) fn count(array: &ArrayRepresentation) -> Result<usize, CodecError> {
    let count = array.element_count().filter(|&count| count < usize::MAX / OFFSET);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}
