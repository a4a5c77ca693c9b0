//! Differences between neighbours along one dimension, in place.

use zarr_spec::{CodecError, CodecResult};

/// The division of a chunk into runs, along one dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    /// The size of the chunk in bytes.
    size: usize,
    /// The size of all elements with one index of the outer dimensions, in bytes.
    run_size: usize,
    /// The distance of neighbours in bytes.
    distance: usize,
    element_size: usize,
}

impl Runs {
    /// Divides a chunk of `shape` by dimension `axis`, which is counted from the end if it is negative.
    pub(crate) fn new(shape: &[u64], axis: i64, element_size: usize) -> CodecResult<Self> {
        let dimension = if axis < 0 { axis + i64::try_from(shape.len()).unwrap_or(0) } else { axis };
        let dimension = usize::try_from(dimension).ok().filter(|&dimension| dimension < shape.len());
        let dimension = dimension.ok_or_else(|| {
            CodecError::configuration(format!("`axis` is {axis}, but the chunk has shape {shape:?}"))
        })?;
        let bytes = |shape: &[u64]| {
            let mut sizes = shape.iter().map(|&size| usize::try_from(size).ok());
            sizes.try_fold(element_size, |product, size| product.checked_mul(size?))
        };
        let sizes = bytes(shape).zip(bytes(&shape[dimension..])).zip(bytes(&shape[dimension + 1..]));
        let ((size, run_size), distance) = sizes
            .ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {shape:?} is too large")))?;
        Ok(Self { size, run_size, distance, element_size })
    }

    /// Checks the size of the chunk in bytes.
    pub(crate) fn check(self, size: usize) -> Result<(), String> {
        if size == self.size {
            return Ok(());
        }
        Err(format!("the chunk has {size} bytes; expected {}", self.size))
    }

    /// Replaces each element by its difference from the previous one.
    pub(crate) fn subtract(self, elements: &mut [u8]) {
        for run in elements.chunks_mut(self.run_size.max(1)) {
            match self.element_size {
                1 => subtract(run, self.distance, |later, earlier: [u8; 1]| {
                    u8::from_ne_bytes(later).wrapping_sub(u8::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                2 => subtract(run, self.distance, |later, earlier: [u8; 2]| {
                    u16::from_ne_bytes(later).wrapping_sub(u16::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                4 => subtract(run, self.distance, |later, earlier: [u8; 4]| {
                    u32::from_ne_bytes(later).wrapping_sub(u32::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                _ => subtract(run, self.distance, |later, earlier: [u8; 8]| {
                    u64::from_ne_bytes(later).wrapping_sub(u64::from_ne_bytes(earlier)).to_ne_bytes()
                }),
            }
        }
    }

    /// Inverts [`Runs::subtract`].
    pub(crate) fn add(self, elements: &mut [u8]) {
        for run in elements.chunks_mut(self.run_size.max(1)) {
            match self.element_size {
                1 => add(run, self.distance, |later, earlier: [u8; 1]| {
                    u8::from_ne_bytes(later).wrapping_add(u8::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                2 => add(run, self.distance, |later, earlier: [u8; 2]| {
                    u16::from_ne_bytes(later).wrapping_add(u16::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                4 => add(run, self.distance, |later, earlier: [u8; 4]| {
                    u32::from_ne_bytes(later).wrapping_add(u32::from_ne_bytes(earlier)).to_ne_bytes()
                }),
                _ => add(run, self.distance, |later, earlier: [u8; 8]| {
                    u64::from_ne_bytes(later).wrapping_add(u64::from_ne_bytes(earlier)).to_ne_bytes()
                }),
            }
        }
    }
}

/// Changes elements from the last to the first, so that each earlier one is still unchanged.
fn subtract<const N: usize>(
    run: &mut [u8],
    distance: usize,
    difference: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let (elements, _) = run.as_chunks_mut::<N>();
    let distance = distance / N;
    for place in (distance..elements.len()).rev() {
        elements[place] = difference(elements[place], elements[place - distance]);
    }
}

/// Changes elements from the first to the last, so that each earlier one is already changed.
fn add<const N: usize>(run: &mut [u8], distance: usize, sum: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (elements, _) = run.as_chunks_mut::<N>();
    let distance = distance / N;
    for place in distance..elements.len() {
        elements[place] = sum(elements[place], elements[place - distance]);
    }
}
