//! The chunk key encoding `zarrs.default_suffix`: the default encoding of Zarr v3 with a suffix after each key.
//!
//! With the suffix `.tiff`, the key of chunk (1, 23, 45) is `c/1/23/45.tiff`; in an array without dimensions it
//! is `c.tiff`. The name is not registered; one implementation writes it.
//!
//! Source: the documentation of the `zarrs` crate, version 0.23; "Default chunk key encoding" in the Zarr v3
//! core specification.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Key};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("zarrs.default_suffix"), &create)
        .configuration::<DefaultSuffixConfiguration>()
        .about(
            "Encodes the chunk index after the prefix c and before a suffix, such as c/1/0.tiff.",
            EXAMPLES
        )
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "zarrs.default_suffix", "configuration": {"separator": "/", "suffix": ".tiff"}}"#,
    ),
    Example::v3(
        r#"{"name": "zarrs.default_suffix", "configuration": {"separator": ".", "suffix": ".tiff"}}"#,
    ),
];

/// Keys of `c`, the chunk index, and a suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultSuffixKeyEncoding {
    separator: char,
    suffix: String,
}

impl DefaultSuffixKeyEncoding {
    /// Creates an encoding with keys such as `c/0/0.tiff`.
    ///
    /// # Errors
    ///
    /// For a separator other than `/` and `.`, a suffix that starts with a digit, which would make keys
    /// ambiguous, and a suffix that is not valid in a key.
    pub fn new(separator: char, suffix: impl Into<String>) -> Result<Self, Invalid> {
        let suffix = suffix.into();
        if !matches!(separator, '/' | '.') {
            return Err(Invalid::new(format!("`separator` is `{separator}`; expected `/` or `.`")));
        }
        if suffix.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(Invalid::new(format!("`suffix` is `{suffix}`; it cannot start with a digit")));
        }
        if Key::new(format!("c{suffix}")).is_err() || Key::new(format!("c/0{suffix}")).is_err() {
            return Err(Invalid::new(format!("`suffix` is `{suffix}`, which is not valid in a key")));
        }
        Ok(Self { separator, suffix })
    }
}

impl ChunkKeyEncoding for DefaultSuffixKeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('c');
        for index in chunk_index {
            let _always_succeeds = write!(key, "{}{index}", self.separator);
        }
        key.push_str(&self.suffix);
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let rest = key.strip_prefix('c').and_then(|rest| rest.strip_suffix(&self.suffix));
        Ok(match rest {
            Some(rest) if rank == 0 => rest.is_empty().then(Vec::new),
            Some(rest) => {
                let indices = rest.strip_prefix(self.separator);
                indices.and_then(|indices| decode_indices(indices, self.separator, rank))
            }
            None => None,
        })
    }
}

#[derive(Deserialize)]
struct DefaultSuffixConfiguration {
    #[serde(default = "slash")]
    separator: char,
    suffix: String,
}

fn slash() -> char {
    '/'
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let DefaultSuffixConfiguration { separator, suffix } = creation.parse()?;
    Ok(Arc::new(DefaultSuffixKeyEncoding::new(separator, suffix)?))
}
