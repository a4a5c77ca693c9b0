//! The `shuffle` codec: stores the first bytes of all elements, then all second bytes, and so on.
//!
//! Bytes to bytes. The encoded size is the decoded size, which must be a multiple of `elementsize`: the size of
//! an element in bytes, 4 by default. `elementsize` is independent of the data type of the array. With 1, bytes do not
//! change. numcodecs also accepts 0, which has the same effect as 1; it is read with a warning, except in strict mode.
//! Arrays of netCDF-C with the members of NCZarr have 0 for the size of the data type; `zarr-metadata` replaces it.
//!
//! Final v3 has the codec as `numcodecs.shuffle`. The v3 draft does not define it; there it has a URI of this
//! project.
//!
//! Source: `shuffle` in numcodecs.

mod transpose;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object, Output,
    Representation, Size, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.shuffle")
            .with_id("shuffle")
            .with_uri("https://zarr-kit.example/spec/codecs/shuffle/1.0")
            .with_aliases(&["https://codec.zarrs.dev/bytes_to_bytes/shuffle"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<ShuffleConfiguration>()
    .about("Groups the first bytes of all elements, then the second bytes, and so on.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[
        Example::v3(r#"{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}"#)
            .with_data_types(&["int32", "uint32", "float32"]),
        Example::v3(r#"{"name": "numcodecs.shuffle", "configuration": {"elementsize": 8}}"#)
            .with_data_types(&["int64", "float64", "complex64"]),
        Example::v2(r#"{"id": "shuffle", "elementsize": 4}"#)
            .with_data_types(&["int32", "uint32", "float32"]),
        Example::draft(
            r#"{"type": "https://zarr-kit.example/spec/codecs/shuffle/1.0",
            "configuration": {"elementsize": 4}}"#,
        )
        .with_data_types(&["int32", "uint32", "float32"]),
    ];

/// Groups the bytes of elements by their position in the element.
#[derive(Debug, Clone, Copy)]
pub struct Shuffle {
    element_size: usize,
}

impl Shuffle {
    /// Creates the codec for elements of `element_size` bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for 0.
    pub fn new(element_size: usize) -> CodecResult<Self> {
        if element_size == 0 {
            return Err(CodecError::configuration("`elementsize` is 0; expected at least 1"));
        }
        Ok(Self { element_size })
    }

    fn check(self, size: usize) -> Result<(), String> {
        if size.is_multiple_of(self.element_size) {
            return Ok(());
        }
        Err(format!("{size} bytes are not a multiple of the element size {}", self.element_size))
    }
}

impl From<Shuffle> for CodecEntry {
    fn from(codec: Shuffle) -> Self {
        Self::new("shuffle", json!({"elementsize": codec.element_size}))
    }
}

impl BytesToBytesCodec for Shuffle {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.check(decoded.len()).map_err(CodecError::encode)?;
        let room = &mut encoded.spare(decoded.len())?[..decoded.len()];
        transpose::split_planes(self.element_size, decoded, room);
        encoded.advance(decoded.len());
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.check(encoded.len()).map_err(CodecError::corrupt)?;
        let room = &mut decoded.spare(encoded.len())?[..encoded.len()];
        transpose::join_planes(self.element_size, encoded, room);
        decoded.advance(encoded.len());
        Ok(())
    }
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Deserialize)]
struct ShuffleConfiguration {
    #[serde(default = "four")]
    elementsize: u32,
}

fn four() -> u32 {
    4
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let size = element_size(creation)?;
    Ok(Codec::BytesToBytes(Arc::new(Shuffle::new(usize::try_from(size).unwrap_or(usize::MAX))?)))
}

/// Returns the size of an element, at least 1.
fn element_size(creation: &Creation<'_>) -> CodecResult<u32> {
    match creation.parse::<ShuffleConfiguration>()?.elementsize {
        0 => {
            creation.reading.tolerate(
                "`elementsize` is 0; it is read as 1, which does not change bytes. If netCDF-C wrote the array, its \
                 elements are wrong: that program means the size of the data type",
            )?;
            Ok(1)
        }
        size => Ok(size),
    }
}

/// A size of 0 remains in v2, where programs read it in two ways, so that both read a copy as they read the original.
fn translate(creation: &Creation<'_>, _decoded: &Representation, to: Format) -> CodecResult<Object> {
    let size = match (creation.parse::<ShuffleConfiguration>()?.elementsize, creation.format, to) {
        (0, Format::V2, Format::V2) => 0,
        _ => element_size(creation)?,
    };
    let mut members = Object::new();
    members.insert("elementsize", size);
    Ok(members)
}
