//! The chunk memory layout `{{name}}`: the first dimension of a chunk goes to its end, the others stay in order.
//!
//! A chunk of shape (2, 3, 4) goes into the codecs as an array of shape (3, 4, 2).

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecError, Creation, Example, Identifiers};

zarr_spec::register!(
    MemoryLayoutPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Stores the first dimension of a chunk as the last one.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers {
    uri: {{uri-option}},
    name: None,
    id: None,
    aliases: &[],
};

const EXAMPLES: &[Example] =
    &[Example::draft(r#"{"extension": "{{uri}}", "type": "rotated"}"#).with_shape(&[2, 3, 4])];

/// A permutation is done by the engine, in one pass with everything else: that is all there is to say.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Permutation((1..rank).chain((rank > 0).then_some(0)).collect()))
}
