//! The `imagecodecs_blosc2` codec: reads chunks of C-Blosc2.
//!
//! Bytes to bytes; only decodes. Reads chunks of Blosc2 and of Blosc1: with every compressor (`blosclz`, `lz4`,
//! `lz4hc`, `zlib`, `zstd`), with a byte or bit shuffle, and chunks of one repeated value. Frames, dictionaries, the
//! delta filter, and compressors and filters of other programs are not supported.
//!
//! The decoded size is compared with the chunk before any memory is allocated.
//!
//! `level`, `compressor`, `splitmode`, `typesize`, `blocksize`, `shuffle` and `numthreads` affect only how chunks are
//! written, and have no effect here.
//!
//! v2 and final v3 have the codec as `imagecodecs_blosc2`; `numcodecs.imagecodecs_blosc2` is also read.
//!
//! Source: `Blosc2` in imagecodecs; "Blosc Chunk Format" of C-Blosc2.

mod blocks;
mod blosclz;
mod filters;
mod header;
mod streams;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output,
    Representation, Size, Value,
};

use header::Header;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_blosc2")
            .with_id("imagecodecs_blosc2")
            .with_aliases(&["numcodecs.imagecodecs_blosc2"]),
        &create,
    )
    .configuration::<Blosc2Configuration>()
    .about("Reads chunks of C-Blosc2.", EXAMPLES)
    .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_blosc2", "configuration": {"level": 5}}"#),
    Example::v2(
        r#"{"id": "imagecodecs_blosc2", "level": null, "compressor": null, "splitmode": null,
            "typesize": null, "blocksize": null, "shuffle": null, "numthreads": null}"#,
    ),
];

/// Reads chunks of C-Blosc2.
#[derive(Debug)]
struct Blosc2;

impl BytesToBytesCodec for Blosc2 {
    fn encoded_size(&self, _decoded: Size) -> Size {
        Size::Unknown
    }

    fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let header = Header::parse(encoded)?;
        if header.size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        blocks::decode(&header, encoded, decoded)
    }
}

#[derive(Deserialize)]
struct Blosc2Configuration {
    level: Option<Value>,
    compressor: Option<Value>,
    splitmode: Option<Value>,
    typesize: Option<Value>,
    blocksize: Option<Value>,
    shuffle: Option<Value>,
    numthreads: Option<Value>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let Blosc2Configuration { level, compressor, splitmode, typesize, blocksize, shuffle, numthreads } =
        creation.parse()?;
    let _have_no_effect = ([level, compressor, splitmode, typesize], [blocksize, shuffle, numthreads]);
    Ok(Codec::BytesToBytes(Arc::new(Blosc2)))
}
