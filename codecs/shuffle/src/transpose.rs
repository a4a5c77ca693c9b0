//! Conversion between elements and planes, which hold the bytes of one position of all elements.
//!
//! Elements of 2, 4, 8 or 16 bytes are split into halves, then into their halves, and so on, for a block of
//! elements at a time. Each step consists of two shifts of integers, for which every compiler has vector
//! instructions.

/// Size of a block in bytes. Intermediate results stay in the first-level cache.
const BLOCK: usize = 2048;

/// Copies byte `j` of element `i` to position `i` of plane `j`. Both slices have the same length, a multiple of
/// `size`.
pub(crate) fn split_planes(size: usize, elements: &[u8], planes: &mut [u8]) {
    let done = match size {
        2 => split_planes_in_blocks::<2>(elements, planes),
        4 => split_planes_in_blocks::<4>(elements, planes),
        8 => split_planes_in_blocks::<8>(elements, planes),
        16 => split_planes_in_blocks::<16>(elements, planes),
        _ => 0,
    };
    let count = elements.len() / size;
    for (place, plane) in planes.chunks_exact_mut(count.max(1)).enumerate() {
        for (index, byte) in plane.iter_mut().enumerate().skip(done) {
            *byte = elements[index * size + place];
        }
    }
}

/// Inverts [`split_planes`].
pub(crate) fn join_planes(size: usize, planes: &[u8], elements: &mut [u8]) {
    let done = match size {
        2 => join_planes_in_blocks::<2>(planes, elements),
        4 => join_planes_in_blocks::<4>(planes, elements),
        8 => join_planes_in_blocks::<8>(planes, elements),
        16 => join_planes_in_blocks::<16>(planes, elements),
        _ => 0,
    };
    let count = elements.len() / size;
    for (place, plane) in planes.chunks_exact(count.max(1)).enumerate() {
        for (index, &byte) in plane.iter().enumerate().skip(done) {
            elements[index * size + place] = byte;
        }
    }
}

/// Processes whole blocks and returns the number of elements in them.
fn split_planes_in_blocks<const SIZE: usize>(elements: &[u8], planes: &mut [u8]) -> usize {
    let count = elements.len() / SIZE;
    let in_block = BLOCK / SIZE;
    let (blocks, _) = elements.as_chunks::<BLOCK>();
    let mut split = &mut [0; BLOCK];
    let mut next = &mut [0; BLOCK];
    for (number, block) in blocks.iter().enumerate() {
        let mut size = SIZE;
        while size > 2 {
            let wholes = if size == SIZE { block } else { &*split };
            let pieces = wholes.chunks_exact(in_block * size).zip(next.chunks_exact_mut(in_block * size));
            for (wholes, halves) in pieces {
                let (low, high) = halves.split_at_mut(in_block * size / 2);
                split_halves(size, wholes, low, high);
            }
            std::mem::swap(&mut split, &mut next);
            size /= 2;
        }
        let pairs = if SIZE == 2 { block } else { &*split };
        for (pair, bytes) in pairs.chunks_exact(2 * in_block).enumerate() {
            let (low, high) = planes[2 * pair * count..].split_at_mut(count);
            let place = number * in_block..(number + 1) * in_block;
            split_halves(2, bytes, &mut low[place.clone()], &mut high[place]);
        }
    }
    blocks.len() * in_block
}

/// Inverts [`split_planes_in_blocks`].
fn join_planes_in_blocks<const SIZE: usize>(planes: &[u8], elements: &mut [u8]) -> usize {
    let count = elements.len() / SIZE;
    let in_block = BLOCK / SIZE;
    let (blocks, _) = elements.as_chunks_mut::<BLOCK>();
    let mut split = &mut [0; BLOCK];
    let mut next = &mut [0; BLOCK];
    for (number, block) in blocks.iter_mut().enumerate() {
        let pairs = if SIZE == 2 { &mut *block } else { &mut *split };
        for (pair, bytes) in pairs.chunks_exact_mut(2 * in_block).enumerate() {
            let (low, high) = planes[2 * pair * count..].split_at(count);
            let place = number * in_block..(number + 1) * in_block;
            join_halves(2, &low[place.clone()], &high[place], bytes);
        }
        let mut size = 4;
        while size <= SIZE {
            let wholes = if size == SIZE { &mut *block } else { &mut *next };
            let pieces = split.chunks_exact(in_block * size).zip(wholes.chunks_exact_mut(in_block * size));
            for (halves, wholes) in pieces {
                let (low, high) = halves.split_at(in_block * size / 2);
                join_halves(size, low, high, wholes);
            }
            std::mem::swap(&mut split, &mut next);
            size *= 2;
        }
    }
    blocks.len() * in_block
}

/// Splits numbers of `size` bytes into the first and second halves of their bytes.
#[expect(clippy::cast_possible_truncation, reason = "only the low half is needed")]
fn split_halves(size: usize, wholes: &[u8], low: &mut [u8], high: &mut [u8]) {
    macro_rules! split {
        ($whole:ty, $half:ty) => {
            let (wholes, _) = wholes.as_chunks::<{ size_of::<$whole>() }>();
            let (low, _) = low.as_chunks_mut::<{ size_of::<$half>() }>();
            let (high, _) = high.as_chunks_mut::<{ size_of::<$half>() }>();
            for ((whole, low), high) in wholes.iter().zip(low).zip(high) {
                let whole = <$whole>::from_le_bytes(*whole);
                *low = (whole as $half).to_le_bytes();
                *high = ((whole >> <$half>::BITS) as $half).to_le_bytes();
            }
        };
    }
    match size {
        2 => {
            split!(u16, u8);
        }
        4 => {
            split!(u32, u16);
        }
        8 => {
            split!(u64, u32);
        }
        _ => {
            split!(u128, u64);
        }
    }
}

/// Inverts [`split_halves`].
fn join_halves(size: usize, low: &[u8], high: &[u8], wholes: &mut [u8]) {
    macro_rules! join {
        ($half:ty, $whole:ty) => {
            let (low, _) = low.as_chunks::<{ size_of::<$half>() }>();
            let (high, _) = high.as_chunks::<{ size_of::<$half>() }>();
            let (wholes, _) = wholes.as_chunks_mut::<{ size_of::<$whole>() }>();
            for ((low, high), whole) in low.iter().zip(high).zip(wholes) {
                let low = <$whole>::from(<$half>::from_le_bytes(*low));
                let high = <$whole>::from(<$half>::from_le_bytes(*high));
                *whole = (low | (high << <$half>::BITS)).to_le_bytes();
            }
        };
    }
    match size {
        2 => {
            join!(u8, u16);
        }
        4 => {
            join!(u16, u32);
        }
        8 => {
            join!(u32, u64);
        }
        _ => {
            join!(u64, u128);
        }
    }
}
