//! The chunk memory layout `{{name}}`: moves the first dimension of a chunk to the end.
//!
//! The codecs receive a chunk of shape (2, 3, 4) as an array of shape (3, 4, 2).

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecError, Creation, Example, Identifiers};

zarr_spec::register!(
    MemoryLayoutPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Stores the first dimension of a chunk as the last one.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::uri("{{uri}}");

const EXAMPLES: &[Example] =
    &[Example::draft(r#"{"extension": "{{uri}}", "type": "rotated"}"#).with_shape(&[2, 3, 4])];

/// Creates the codec. The engine applies the permutation in one pass with other conversions.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Permutation((1..rank).chain((rank > 0).then_some(0)).collect()))
}
