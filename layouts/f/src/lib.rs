//! The `F` chunk memory layout of Zarr: the first dimension varies fastest.
//!
//! A chunk of shape (2, 3) is passed to the codecs as an array of shape (3, 2).
//!
//! Source: "Chunk memory layouts" in the Zarr v3 draft of 2022; `order` of Zarr v2.

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecError, Creation, Example, Identifiers};

zarr_spec::register!(
    MemoryLayoutPlugin::new(Identifiers::name("F").with_id("F"), &create)
        .configuration::<NoConfiguration>()
        .about("Column-major order: the first dimension of a chunk varies fastest.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v2(r#""F""#), Example::draft(r#""F""#)];

/// Returns the permutation that reverses `rank` dimensions.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Permutation((0..rank).rev().collect()))
}
