//! Checks that a copy has the elements of its source, if the codecs of the copy may change elements.

use zarr_kit::spec::codec::Codec;
use zarr_kit::spec::{ArraySubset, CodecChain, Format, Loss, Reading, Registry};
use zarr_kit::{Array, ElementArray};

use crate::failure::Failure;
use crate::slabs;

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
/// preserve its elements. Skips chunks that are too large for memory; [`check`] compares them later.
pub(crate) fn check_a_chunk(from: &Array, to: &Array) -> Result<(), Failure> {
    if !from.hierarchy().store().capabilities().listable || !may_change_elements(to) {
        return Ok(());
    }
    let stored = from.stored_chunks()?;
    let Some(index) = stored.first() else { return Ok(()) };
    let subset = from.chunk_subset(index)?;
    let size = subset.element_count().unwrap_or(u64::MAX).saturating_mul(slabs::element_size(from));
    if size > slabs::budget(from) {
        return Ok(());
    }
    let elements = from.read(slabs::selection(&subset))?;
    to.write(slabs::selection(&subset), elements.bytes())?;
    check(to, &subset, &elements)
}

/// Reads written elements back and compares every bit.
pub(crate) fn check(to: &Array, subset: &ArraySubset, written: &ElementArray) -> Result<(), Failure> {
    let read = to.read(slabs::selection(subset))?;
    if read.bytes() == written.bytes() {
        return Ok(());
    }
    let differs = |&at: &usize| read.element(at) != written.element(at);
    let at = (0..read.count()).find(differs).unwrap_or_default();
    let before = written.print(at)?;
    let after = read.print(at)?;
    Err(Failure::fault(format!(
        "the codecs of the copy change elements, such as {before} to {after}; --lossy allows this"
    )))
}
