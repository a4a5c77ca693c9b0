//! The name that imagecodecs has for these buffers, and its configuration.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Representation, Value,
};

use crate::configuration::element_size;
use crate::{Blosc, Compressor, Shuffle};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_blosc")
            .with_id("imagecodecs_blosc")
            .with_aliases(&["numcodecs.imagecodecs_blosc"]),
        &create,
    )
    .configuration::<Configuration>()
    .about(
        "Compresses with Blosc, which shuffles the bytes or bits of elements and compresses them in blocks.",
        EXAMPLES
    )
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_blosc"}"#),
    Example::v2(
        r#"{"id": "imagecodecs_blosc", "level": 3, "compressor": "LZ4", "typesize": 2, "blocksize": null,
            "shuffle": "bitshuffle", "numthreads": null}"#,
    ),
    Example::v2(r#"{"id": "imagecodecs_blosc", "compressor": 5, "shuffle": 1}"#),
];

/// The configuration affects only how chunks are written. `compressor` and `shuffle` are names or numbers.
#[derive(Deserialize)]
struct Configuration {
    level: Option<u8>,
    compressor: Option<Value>,
    typesize: Option<usize>,
    blocksize: Option<usize>,
    shuffle: Option<Value>,
    #[serde(rename = "numthreads")]
    _threads: Option<i64>,
}

/// The compressors, by their numbers.
const COMPRESSORS: [Compressor; 6] = [
    Compressor::BloscLz,
    Compressor::Lz4,
    Compressor::Lz4Hc,
    Compressor::Snappy,
    Compressor::Zlib,
    Compressor::Zstd,
];

/// The kinds of shuffles with their names, by their numbers.
const SHUFFLES: [(&str, Shuffle); 3] =
    [("noshuffle", Shuffle::None), ("shuffle", Shuffle::Byte), ("bitshuffle", Shuffle::Bit)];

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let Configuration { level, compressor, typesize, blocksize, shuffle, .. } = creation.parse()?;
    let compressor = match compressor {
        None | Some(Value::Null) => Compressor::Zstd,
        Some(value) => chosen("compressor", &value, &COMPRESSORS.map(|known| (known.name(), known)))?,
    };
    let shuffle = match shuffle {
        None | Some(Value::Null) => Shuffle::Byte,
        Some(value) => chosen("shuffle", &value, &SHUFFLES)?,
    };
    let typesize = typesize.unwrap_or_else(|| element_size(decoded));
    let codec = Blosc::new(compressor, level.unwrap_or(1), shuffle, typesize, blocksize.unwrap_or(0))?;
    Ok(Codec::BytesToBytes(Arc::new(codec)))
}

/// Returns the entry of `known` with a name, in any case, or with a number.
fn chosen<T: Copy>(member: &str, value: &Value, known: &[(&str, T)]) -> Result<T, CodecError> {
    let by_name = |name: &str| known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let by_number = |number: u64| known.get(usize::try_from(number).ok()?);
    let found = value.as_str().and_then(by_name).or_else(|| value.as_u64().and_then(by_number));
    let names = || known.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let wrong = || format!("`{member}` is {value}; expected one of {}, or its number", names());
    found.map(|(_, chosen)| *chosen).ok_or_else(|| CodecError::configuration(wrong()))
}
