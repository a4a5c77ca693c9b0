//! The durability in a `file:` URL.

use zarr_spec::Invalid;
use zarr_spec::store::Durability;

/// The query of a `file:` URL, before the name of a [`Durability`].
const QUERY: &str = "?durable=";

const NAMES: [(&str, Durability); 3] =
    [("none", Durability::None), ("data", Durability::Data), ("full", Durability::Full)];

/// Splits a `file:` URL into the URL without the query and the durability that the query names. A path does not have a
/// query, so it is returned unchanged.
///
/// # Errors
///
/// For an unknown durability.
pub(crate) fn of_url(text: &str) -> Result<(&str, Durability), Invalid> {
    let is_url = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let Some((location, name)) = text.split_once(QUERY).filter(|_| is_url) else {
        return Ok((text, Durability::None));
    };
    match NAMES.iter().find(|(known, _)| *known == name) {
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
