//! Rows of floats, stored as planes of bytes.

use zarr_spec::{CodecError, CodecResult};

/// The division of a chunk into rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    /// The size of the chunk in bytes.
    size: usize,
    row_size: usize,
    /// The distance in bytes between two bytes whose difference is stored.
    distance: usize,
    element_size: usize,
}

impl Rows {
    /// Divides a chunk of `shape` into rows of the last dimension, or of the last two if `axis` is the
    /// dimension before the last.
    pub(crate) fn new(shape: &[u64], axis: i64, distance: u64, element_size: usize) -> CodecResult<Self> {
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        let from_end = if axis < 0 { -axis } else { rank.saturating_sub(axis) };
        let row_rank = match from_end {
            1 | 2 if from_end <= rank => usize::try_from(from_end).unwrap_or(0),
            _ => {
                return Err(CodecError::configuration(format!(
                    "`axis` is {axis}; expected the last dimension or the one before it, of shape {shape:?}"
                )));
            }
        };
        if row_rank == 2 && distance != 1 {
            return Err(CodecError::Unsupported(format!(
                "`dist` is {distance}; expected 1, since `axis` is the dimension before the last"
            )));
        }
        let too_large = || CodecError::Unsupported(format!("a chunk of shape {shape:?} is too large"));
        let bytes = |shape: &[u64]| {
            let mut sizes = shape.iter().map(|&size| usize::try_from(size).ok());
            sizes.try_fold(element_size, |product, size| product.checked_mul(size?))
        };
        let samples = if row_rank == 2 { shape.last().copied().unwrap_or(1) } else { 1 };
        let distance = usize::try_from(distance.saturating_mul(samples)).map_err(|_| too_large())?;
        Ok(Self {
            size: bytes(shape).ok_or_else(too_large)?,
            row_size: bytes(&shape[shape.len() - row_rank..]).ok_or_else(too_large)?,
            distance,
            element_size,
        })
    }

    /// Returns the size of the chunk in bytes.
    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// Checks the size of the chunk in bytes.
    pub(crate) fn check(self, size: usize) -> Result<(), String> {
        if size == self.size {
            return Ok(());
        }
        Err(format!("the chunk has {size} bytes; expected {}", self.size))
    }

    /// Encodes native elements.
    pub(crate) fn encode(self, elements: &[u8], encoded: &mut [u8]) {
        let row_size = self.row_size.max(1);
        for (elements, planes) in elements.chunks(row_size).zip(encoded.chunks_mut(row_size)) {
            let count = elements.len() / self.element_size;
            for (index, element) in elements.chunks_exact(self.element_size).enumerate() {
                for (place, &byte) in element.iter().enumerate() {
                    planes[self.significance(place) * count + index] = byte;
                }
            }
            for place in (self.distance..planes.len()).rev() {
                planes[place] = planes[place].wrapping_sub(planes[place - self.distance]);
            }
        }
    }

    /// Inverts [`Rows::encode`].
    pub(crate) fn decode(self, encoded: &[u8], elements: &mut [u8]) {
        let row_size = self.row_size.max(1);
        let mut planes = vec![0; self.row_size.min(encoded.len())];
        for (encoded, elements) in encoded.chunks(row_size).zip(elements.chunks_mut(row_size)) {
            planes.copy_from_slice(encoded);
            for place in self.distance..planes.len() {
                planes[place] = planes[place].wrapping_add(planes[place - self.distance]);
            }
            let count = elements.len() / self.element_size;
            for (index, element) in elements.chunks_exact_mut(self.element_size).enumerate() {
                for (place, byte) in element.iter_mut().enumerate() {
                    *byte = planes[self.significance(place) * count + index];
                }
            }
        }
    }

    /// Returns the plane of the byte at `place` of a native element. The first plane has the most significant bytes.
    fn significance(self, place: usize) -> usize {
        if cfg!(target_endian = "big") { place } else { self.element_size - 1 - place }
    }
}
