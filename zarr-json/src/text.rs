//! Short texts without memory of their own.

use std::fmt;
use std::hash::{Hash, Hasher};

/// Bytes that are kept in place: names of members and numbers are rarely longer.
const IN_PLACE: usize = 22;

/// A text that does not change. Documents are many small ones: most of them need no allocation.
#[derive(Clone)]
pub(super) struct Text(Kept);

#[derive(Clone)]
enum Kept {
    /// So many bytes of these; the rest are zero.
    Short(u8, [u8; IN_PLACE]),
    Long(Box<str>),
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        match &self.0 {
            // Never anything but a text that was cut nowhere.
            Kept::Short(..) => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Kept::Long(text) => text,
        }
    }

    /// Bytes that `text` takes outside of the value that holds it.
    pub(super) fn heap_size(text: &str) -> usize {
        if text.len() <= IN_PLACE { 0 } else { text.len() }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Short(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Kept::Long(text) => text.as_bytes(),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut bytes = [0; IN_PLACE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self(Kept::Short(length, bytes))
            }
            _ => Self(Kept::Long(text.into())),
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
    fn a_text_is_the_same_whether_it_is_kept_in_place_or_not() {
        for length in [0, 1, IN_PLACE - 1, IN_PLACE, IN_PLACE + 1, 300] {
            for character in ["a", "é", "\u{10ffff}"] {
                let text = character.repeat(length);
                assert_eq!(Text::from(text.as_str()).as_str(), text);
                assert_eq!(Text::from(text.as_str()), Text::from(text.as_str()).clone());
                assert_ne!(Text::from(text.as_str()), Text::from(format!("{text}b").as_str()));
            }
        }
        // No larger than a `String`, so that no value of JSON grows by it.
        assert_eq!(size_of::<Text>(), size_of::<String>());
    }
}
