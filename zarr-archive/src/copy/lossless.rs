//! Checks that a copy has the elements of its source, if the codecs of the copy may change elements.

use zarr_engine::{Array, ElementArray, Selection};
use zarr_spec::codec::Codec;
use zarr_spec::{ArraySubset, CodecChain, Format, Loss, Reading, Registry};

use super::error::CopyError;
use super::options::{Caller, CopyOption};
use super::source::Source;
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
pub(crate) fn check_a_chunk(from: &Source, to: &Array, memory: u64, caller: Caller) -> Result<(), CopyError> {
    if !from.array.hierarchy().store().capabilities().listable || !may_change_elements(to) {
        return Ok(());
    }
    let positions = from.positions()?;
    let mut found = None;
    for index in from.array.stored_chunks()? {
        let subset = positions.of(&index)?;
        if subset.rank() == 0 || !subset.is_empty() {
            found = Some(subset);
            break;
        }
    }
    let Some(subset) = found else { return Ok(()) };
    let size = subset.element_count().unwrap_or(u64::MAX).saturating_mul(element_size(&from.array));
    if size > memory {
        return Ok(());
    }
    let elements = from.read(&subset)?;
    to.write(Selection::from(&subset), elements.bytes())?;
    check(to, &subset, &elements, caller)
}

/// Reads written elements back and compares every bit.
pub(crate) fn check(
    to: &Array,
    subset: &ArraySubset,
    written: &ElementArray,
    caller: Caller,
) -> Result<(), CopyError> {
    match first_difference(to, subset, written)? {
        None => Ok(()),
        Some([before, after]) => Err(CopyError::message(format!(
            "the codecs of the copy change elements, such as {before} to {after}; {} allows this",
            caller.given(CopyOption::Lossy)
        ))),
    }
}

/// Reads elements and compares every bit with `expected`. Returns the first pair that differs: the expected element,
/// and the one that was read.
pub(crate) fn first_difference(
    to: &Array,
    subset: &ArraySubset,
    expected: &ElementArray,
) -> Result<Option<[String; 2]>, CopyError> {
    let read = to.read(Selection::from(subset))?;
    if read.bytes() == expected.bytes() {
        return Ok(None);
    }
    let differs = |&at: &usize| read.element(at) != expected.element(at);
    let Some(at) = (0..read.count()).find(differs) else { return Ok(None) };
    Ok(Some([expected.print(at)?, read.print(at)?]))
}
