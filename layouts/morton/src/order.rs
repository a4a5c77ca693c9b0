//! The positions of elements in C order, listed in Z-order.

use std::sync::{Arc, Mutex, PoisonError};

use zarr_spec::CodecError;

/// Maximum number of cached positions over all shapes: 32 MiB on most machines.
const CACHE_SIZE: usize = 1 << 22;

/// Positions in C order, listed in Z-order.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    Listed(Arc<[usize]>),
    /// For a chunk that is too large for the cache: the positions are computed each time.
    Computed(Vec<Half>, Vec<u64>),
}

impl Order {
    /// Calls `visit` with each position.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize)) {
        match self {
            Self::Listed(positions) => positions.iter().copied().for_each(visit),
            Self::Computed(halves, shape) => visit_box(halves, &mut shape.clone(), 0, &mut visit),
        }
    }
}

/// A cache of the orders of recent shapes. The chunks of an array usually have one shape.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    cached: Mutex<Vec<CachedOrder>>,
}

/// The cached order of one shape.
#[derive(Debug)]
struct CachedOrder {
    shape: Vec<u64>,
    positions: Arc<[usize]>,
}

impl Orders {
    /// Returns the order of a chunk of `shape`, from the cache if possible.
    pub(crate) fn of(&self, shape: &[u64]) -> Result<Order, CodecError> {
        let cached = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cached().iter().find(|cached| cached.shape == shape) {
            return Ok(Order::Listed(Arc::clone(&found.positions)));
        }
        let (strides, count) = strides(shape)?;
        if count > CACHE_SIZE {
            return Ok(Order::Computed(halves(shape, &strides), shape.to_vec()));
        }
        let positions: Arc<[usize]> = positions(shape)?.into();
        let mut cached = cached();
        if cached.iter().map(|cached| cached.positions.len()).sum::<usize>() + count > CACHE_SIZE {
            cached.clear();
        }
        cached.push(CachedOrder { shape: shape.to_vec(), positions: Arc::clone(&positions) });
        Ok(Order::Listed(positions))
    }
}

/// Returns the position in C order of each element of a chunk of `shape`, in Z-order.
///
/// # Errors
///
/// [`CodecError::Unsupported`] if this machine cannot address the elements.
pub fn positions(shape: &[u64]) -> Result<Vec<usize>, CodecError> {
    let (strides, count) = strides(shape)?;
    let mut positions = Vec::new();
    positions.try_reserve_exact(count).map_err(|_| too_large(shape))?;
    if count > 0 {
        visit_box(&halves(shape, &strides), &mut shape.to_vec(), 0, &mut |position| positions.push(position));
    }
    Ok(positions)
}

/// Returns the stride of each dimension in elements, and the number of elements.
fn strides(shape: &[u64]) -> Result<(Vec<usize>, usize), CodecError> {
    let mut strides = vec![1usize; shape.len()];
    if shape.contains(&0) {
        return Ok((strides, 0));
    }
    let mut count = 1usize;
    for (stride, &length) in strides.iter_mut().zip(shape).rev() {
        *stride = count;
        let longer = usize::try_from(length).ok().and_then(|length| count.checked_mul(length));
        count = longer.ok_or_else(|| too_large(shape))?;
    }
    Ok((strides, count))
}

/// Creates the error for chunks that this machine cannot address.
pub(crate) fn too_large(shape: &[u64]) -> CodecError {
    CodecError::Unsupported(format!("a chunk of shape {shape:?} is too large"))
}

/// One bit of a Morton code, which halves the remaining box along one dimension.
#[derive(Debug, Clone)]
pub(crate) struct Half {
    dimension: usize,
    /// The step in elements along the dimension.
    step: u64,
    /// The step in elements in C order.
    distance: usize,
}

/// Returns the bits that are 1 in the code of at least one element, highest first.
fn halves(shape: &[u64], strides: &[usize]) -> Vec<Half> {
    let longest = shape.iter().max().copied().unwrap_or(1);
    let levels = (0..u64::BITS - (longest - 1).leading_zeros()).rev();
    let of_level = |level: u32| {
        let dimensions = shape.iter().zip(strides).enumerate();
        dimensions.filter(move |&(_, (&length, _))| (1 << level) < length).map(
            move |(dimension, (_, &stride))| Half { dimension, step: 1 << level, distance: stride << level },
        )
    };
    levels.flat_map(of_level).collect()
}

/// Visits the elements of the box that starts at `position` and that `halves` divide. `left` is the number of
/// elements from the start of the box to the end of the chunk, along each dimension.
fn visit_box(halves: &[Half], left: &mut [u64], position: usize, visit: &mut impl FnMut(usize)) {
    let Some((half, finer)) = halves.split_first() else { return visit(position) };
    visit_box(finer, left, position, visit);
    if left[half.dimension] > half.step {
        left[half.dimension] -= half.step;
        visit_box(finer, left, position + half.distance, visit);
        left[half.dimension] += half.step;
    }
}
