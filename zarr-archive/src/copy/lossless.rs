//! Checks that a copy has the elements of its source, if the codecs of the copy may change elements.

use zarr_engine::{Array, ElementArray, Selection};
use zarr_spec::codec::Codec;
use zarr_spec::{ArraySubset, CodecChain, Format, Loss, Reading, Registry};

use super::error::CopyError;
use crate::boxes::element_size;

/// Returns whether a codec of `array` may change elements: it computes with them, or its plugin declares a
/// loss.
pub(crate) fn may_change_elements(array: &Array) -> bool {
    let registry = array.hierarchy().context().registry();
    chain_may_change_elements(array.codecs(), array.metadata().format, registry)
}

fn chain_may_change_elements(chain: &CodecChain, format: Format, registry: &Registry) -> bool {
    let declares_loss = |name: &str| match registry.codecs().find(format, name, &Reading::default()) {
        Ok(plugin) => plugin.about.examples.iter().any(|example| example.loss != Loss::Nothing),
        Err(_) => true,
    };
    chain.links().iter().any(|link| match &link.codec {
        Codec::Permutation(_) | Codec::Binary(_) | Codec::Checksum(_) => false,
        Codec::Shard(shard) => chain_may_change_elements(&shard.inner_codecs, format, registry),
        Codec::ArrayToArray(_) => true,
        _ => link.document.as_ref().is_some_and(|document| declares_loss(&document.identifier)),
    })
}

/// Copies one stored chunk of `from` to `to`, a test array in memory, to check that the codecs of `to`
/// preserve its elements. Skips chunks of more than `memory` bytes; [`check`] compares them later.
pub(crate) fn check_a_chunk(from: &Array, to: &Array, memory: u64) -> Result<(), CopyError> {
    if !from.hierarchy().store().capabilities().listable || !may_change_elements(to) {
        return Ok(());
    }
    let stored = from.stored_chunks()?;
    let Some(index) = stored.first() else { return Ok(()) };
    let subset = from.chunk_subset(index)?;
    let size = subset.element_count().unwrap_or(u64::MAX).saturating_mul(element_size(from));
    if size > memory {
        return Ok(());
    }
    let elements = from.read(Selection::from(&subset))?;
    to.write(Selection::from(&subset), elements.bytes())?;
    check(to, &subset, &elements)
}

/// Reads written elements back and compares every bit.
pub(crate) fn check(to: &Array, subset: &ArraySubset, written: &ElementArray) -> Result<(), CopyError> {
    let read = to.read(Selection::from(subset))?;
    if read.bytes() == written.bytes() {
        return Ok(());
    }
    let differs = |&at: &usize| read.element(at) != written.element(at);
    let at = (0..read.count()).find(differs).unwrap_or_default();
    let before = written.print(at)?;
    let after = read.print(at)?;
    Err(CopyError::message(format!(
        "the codecs of the copy change elements, such as {before} to {after}; --lossy allows this"
    )))
}
