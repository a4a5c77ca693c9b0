//! The `C` chunk memory layout of Zarr: the last dimension varies fastest.
//!
//! Elements are not moved, and the shape of the chunk does not change.
//!
//! Source: "Chunk memory layouts" in the Zarr v3 draft of 2022; `order` of Zarr v2.

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecError, Creation, Example, Identifiers};

zarr_spec::register!(
    MemoryLayoutPlugin::new(Identifiers::name("C").with_id("C"), &create)
        .configuration::<NoConfiguration>()
        .about("Row-major order: the last dimension of a chunk varies fastest.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v2(r#""C""#), Example::draft(r#""C""#)];

/// Returns the identity permutation of `rank` dimensions.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Permutation((0..rank).collect()))
}
