//! Chunk memory layouts of the draft, and the `order` of v2: the order of the elements in a chunk.

use crate::codec::{Codec, CodecResult};
use crate::creation::Creation;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Plugin, PluginKind};

/// The plugin kind of chunk memory layouts. A layout itself is a codec: a [`Codec::Permutation`], or a
/// [`Codec::ArrayToArray`] that moves elements.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "the engine handles every layout")]
pub enum MemoryLayout {}

/// A chunk memory layout that a program knows. It is created for a number of dimensions.
pub type MemoryLayoutPlugin = Plugin<MemoryLayout>;

impl PluginKind for MemoryLayout {
    type Create = dyn Fn(&Creation<'_>, usize) -> CodecResult<Codec> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::MemoryLayout;
}

inventory::collect!(MemoryLayoutPlugin);
