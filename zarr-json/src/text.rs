//! Short texts without an allocation.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The maximum length of a text without an allocation, in bytes. Names of members and numbers are rarely longer.
const MAX_INLINE: usize = 22;

/// An immutable text. A document has many short texts, and most do not need an allocation.
#[derive(Clone)]
pub(super) struct Text(Storage);

#[derive(Clone)]
enum Storage {
    /// The length, and the bytes followed by zeros.
    Inline(u8, [u8; MAX_INLINE]),
    Allocated(Box<str>),
}

impl Text {
    #[inline]
    pub(super) fn as_str(&self) -> &str {
        match &self.0 {
            // The bytes are always complete characters.
            Storage::Inline(..) => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Storage::Allocated(text) => text,
        }
    }

    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Storage::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Storage::Allocated(text) => text.as_bytes(),
        }
    }

    pub(super) fn heap_size(&self) -> usize {
        match &self.0 {
            Storage::Inline(..) => 0,
            Storage::Allocated(text) => text.len(),
        }
    }

    pub(super) fn heap_size_of(text: &str) -> usize {
        if text.len() <= MAX_INLINE { 0 } else { text.len() }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut bytes = [0; MAX_INLINE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self(Storage::Inline(length, bytes))
            }
            _ => Self(Storage::Allocated(text.into())),
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_with_and_without_an_allocation() {
        for length in [0, 1, MAX_INLINE - 1, MAX_INLINE, MAX_INLINE + 1, 300] {
            for character in ["a", "é", "\u{10ffff}"] {
                let text = character.repeat(length);
                assert_eq!(Text::from(text.as_str()).as_str(), text);
                assert_eq!(Text::from(text.as_str()), Text::from(text.as_str()).clone());
                assert_ne!(Text::from(text.as_str()), Text::from(format!("{text}b").as_str()));
            }
        }
        // A larger `Text` would make all JSON values larger.
        assert_eq!(size_of::<Text>(), size_of::<String>());
    }
}
