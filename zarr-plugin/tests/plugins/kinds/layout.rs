//! The chunk memory layout `kinds.rotated`: moves the first dimension of a chunk to the end.
//!
//! A chunk of shape (2, 3, 4) is passed to the codecs as an array of shape (3, 4, 2).

use serde::Deserialize;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecError, Creation, Example, Identifiers};

zarr_spec::register!(
    MemoryLayoutPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Stores the first dimension of a chunk as the last one.", EXAMPLES)
);

const IDENTIFIERS: Identifiers =
    Identifiers::uri("https://example.org/kinds/rotated/1.0");

const EXAMPLES: &[Example] =
    &[Example::draft(r#"{"extension": "https://example.org/kinds/rotated/1.0", "type": "rotated"}"#)
        .with_shape(&[2, 3, 4])];

#[derive(Deserialize)]
struct NoConfiguration {}

/// The engine applies the permutation.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Permutation((1..rank).chain((rank > 0).then_some(0)).collect()))
}
