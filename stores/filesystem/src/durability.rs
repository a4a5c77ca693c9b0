//! The durability of a change: whether it waits for the disk.

use serde::Deserialize;
use zarr_spec::Invalid;

/// The query of a `file:` URL, before the name of a [`Durability`].
const QUERY: &str = "?durable=";

/// Whether each change of a store waits for the disk. This determines what a crash of the system or a power failure leaves.
///
/// This assumes a disk that does not report data as written too early.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Nothing. A value that was written in the last seconds may be empty, incomplete or missing, or have its old bytes.
    #[default]
    None,
    /// The bytes of a value, before it gets its name. Every value is complete: the changes of the last seconds may be
    /// undone, but no value is empty or incomplete.
    Data,
    /// The bytes and the names. A call that has returned is not undone. [`Store::set`](zarr_spec::store::Store::set)
    /// syncs the value, its folder and the folders above. Erasing syncs the folders that it removes values from.
    ///
    /// On systems other than Unix only values are synced, not names and removals.
    Full,
}

impl Durability {
    const ALL: [(&str, Self); 3] = [("none", Self::None), ("data", Self::Data), ("full", Self::Full)];
}

/// Separates the durability from a `file:` URL. A path has none.
///
/// # Errors
///
/// For an unknown durability.
pub(crate) fn of_url(text: &str) -> Result<(&str, Durability), Invalid> {
    let is_url = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let Some((location, name)) = text.split_once(QUERY).filter(|_| is_url) else {
        return Ok((text, Durability::None));
    };
    match Durability::ALL.iter().find(|(known, _)| *known == name) {
        Some((_, durability)) => Ok((location, *durability)),
        None => Err(Invalid::new(format!("`{text}`: expected `{QUERY}` with none, data or full"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_have_a_durability_and_a_path_may_not() {
        assert_eq!(of_url("file:///a%20b?durable=data").unwrap(), ("file:///a%20b", Durability::Data));
        assert_eq!(of_url("FILE:///a?durable=full").unwrap(), ("FILE:///a", Durability::Full));
        assert_eq!(of_url("file:///a?durable=none").unwrap(), ("file:///a", Durability::None));
        for whole in ["a?durable=full", "/a?durable=", "file:///a", "file:///a?b=c", "fil", "dé"] {
            assert_eq!(of_url(whole).unwrap(), (whole, Durability::None));
        }
        let error = of_url("file:///a?durable=true").unwrap_err().to_string();
        assert!(error.contains("with none, data or full"), "{error}");
    }
}
