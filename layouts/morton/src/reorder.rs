//! Moving elements between C order and Z-order.

use zarr_spec::{CodecError, Output};

use crate::order::Order;

/// The size in bytes of one offset.
const OFFSET: usize = size_of::<u64>();

/// Reorders `count` elements of `size` bytes to Z-order.
pub(crate) fn gather(
    order: &Order,
    count: usize,
    size: usize,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let bytes = check(count, size, decoded).map_err(CodecError::encode)?;
    let to = &mut encoded.spare(bytes)?[..bytes];
    match size {
        1 => gather_sized::<1>(order, decoded, to),
        2 => gather_sized::<2>(order, decoded, to),
        4 => gather_sized::<4>(order, decoded, to),
        8 => gather_sized::<8>(order, decoded, to),
        16 => gather_sized::<16>(order, decoded, to),
        _ if bytes == 0 => {}
        _ => {
            let mut to = to.chunks_exact_mut(size);
            order.for_each(|position| {
                if let Some(to) = to.next() {
                    to.copy_from_slice(&decoded[position * size..][..size]);
                }
            });
        }
    }
    encoded.advance(bytes);
    Ok(())
}

/// Reorders `count` elements of `size` bytes to C order.
pub(crate) fn scatter(
    order: &Order,
    count: usize,
    size: usize,
    encoded: &[u8],
    decoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let bytes = check(count, size, encoded).map_err(CodecError::corrupt)?;
    let to = &mut decoded.spare(bytes)?[..bytes];
    match size {
        1 => scatter_sized::<1>(order, encoded, to),
        2 => scatter_sized::<2>(order, encoded, to),
        4 => scatter_sized::<4>(order, encoded, to),
        8 => scatter_sized::<8>(order, encoded, to),
        16 => scatter_sized::<16>(order, encoded, to),
        _ if bytes == 0 => {}
        _ => {
            let mut from = encoded.chunks_exact(size);
            order.for_each(|position| {
                if let Some(from) = from.next() {
                    to[position * size..][..size].copy_from_slice(from);
                }
            });
        }
    }
    decoded.advance(bytes);
    Ok(())
}

fn gather_sized<const N: usize>(order: &Order, from: &[u8], to: &mut [u8]) {
    let from = from.as_chunks::<N>().0;
    let mut to = to.as_chunks_mut::<N>().0.iter_mut();
    if from.is_empty() {
        return;
    }
    order.for_each(|position| {
        if let Some(to) = to.next() {
            *to = from[position];
        }
    });
}

fn scatter_sized<const N: usize>(order: &Order, from: &[u8], to: &mut [u8]) {
    let mut from = from.as_chunks::<N>().0.iter();
    let to = to.as_chunks_mut::<N>().0;
    if to.is_empty() {
        return;
    }
    order.for_each(|position| {
        if let Some(from) = from.next() {
            to[position] = *from;
        }
    });
}

/// Checks the number of bytes and returns it.
fn check(count: usize, size: usize, elements: &[u8]) -> Result<usize, String> {
    match count.checked_mul(size) {
        Some(bytes) if bytes == elements.len() => Ok(bytes),
        _ => Err(format!("{} bytes do not hold {count} elements of {size} bytes", elements.len())),
    }
}

/// Reorders elements of variable size to Z-order.
pub(crate) fn gather_variable(
    order: &[usize],
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let elements = Variable::parse(order.len(), decoded).map_err(CodecError::encode)?;
    elements.put(order.iter().copied(), encoded)
}

/// Reorders elements of variable size to C order.
pub(crate) fn scatter_variable(
    order: &[usize],
    encoded: &[u8],
    decoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let elements = Variable::parse(order.len(), encoded).map_err(CodecError::corrupt)?;
    let mut back = vec![0; order.len()];
    for (number, &position) in order.iter().enumerate() {
        back[position] = number;
    }
    elements.put(back.into_iter(), decoded)
}

/// Elements of variable size: offsets, and the payload that they refer to.
struct Variable<'a> {
    offsets: &'a [[u8; OFFSET]],
    payload: &'a [u8],
}

impl<'a> Variable<'a> {
    /// Parses `count` elements, whose offsets must ascend from 0 to the end of the payload.
    fn parse(count: usize, elements: &'a [u8]) -> Result<Self, String> {
        let end = count.checked_add(1).and_then(|offsets| offsets.checked_mul(OFFSET));
        let split = end.and_then(|end| elements.split_at_checked(end));
        let (offsets, payload) = split.ok_or_else(|| {
            format!("{} bytes are too few for the offsets of {count} elements", elements.len())
        })?;
        let this = Self { offsets: offsets.as_chunks().0, payload };
        let ascending = this.offsets.windows(2).all(|pair| number(pair[0]) <= number(pair[1]));
        let first = this.offsets.first().is_some_and(|first| number(*first) == 0);
        let last = this.offsets.last().is_some_and(|last| number(*last) == payload.len() as u64);
        match ascending && first && last {
            true => Ok(this),
            false => Err("offsets of elements do not ascend to the end of the payload".to_owned()),
        }
    }

    fn element(&self, number_of_it: usize) -> &'a [u8] {
        // Both offsets are at most the length of the payload.
        let offset = |place: usize| usize::try_from(number(self.offsets[place])).unwrap_or(usize::MAX);
        self.payload.get(offset(number_of_it)..offset(number_of_it + 1)).unwrap_or_default()
    }

    /// Writes the elements in another order.
    fn put(
        &self,
        order: impl Iterator<Item = usize> + Clone,
        output: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mut end = 0u64;
        output.put(&end.to_ne_bytes())?;
        for place in order.clone() {
            end += self.element(place).len() as u64;
            output.put(&end.to_ne_bytes())?;
        }
        Ok(order.into_iter().try_for_each(|place| output.put(self.element(place)))?)
    }
}

fn number(offset: [u8; OFFSET]) -> u64 {
    u64::from_ne_bytes(offset)
}
