//! Compares all kernels with nested loops, for random shapes, strides, sizes and byte orders.

use super::fill::fill_geometry;
use super::in_place::swap_in_place_at;
use super::*;
use zarr_spec::Unit;

/// Number of cases per test, for a run time of a few seconds. Interpreted or unoptimized code runs fewer cases.
const CASES: u64 = match () {
    () if cfg!(miri) => 24,
    () if cfg!(debug_assertions) => 800,
    () => 8000,
};

/// Element sizes, with and without a specialized kernel.
const SIZES: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 100];

/// A small deterministic random number generator (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 20).unwrap() % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}

/// One side of a random copy: strides per dimension, the offset of the first element, and the total size.
#[derive(Debug)]
struct Side {
    strides: Vec<isize>,
    offset: usize,
    size: usize,
}

impl Side {
    /// Returns dimensions in any order, some of them reversed, with or without gaps. With `repeats`, some strides are
    /// zero.
    fn random(random: &mut Random, counts: &[usize], element_size: usize, repeats: bool) -> Self {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        match random.below(3) {
            0 => order.reverse(),
            1 => (1..order.len()).for_each(|at| order.swap(at, random.below(at + 1))),
            _ => {}
        }
        let gaps = random.one_in(3);
        let mut strides = vec![0; counts.len()];
        let mut stride = element_size;
        let mut before = 0;
        let mut after = element_size;
        for at in order {
            if gaps && random.one_in(2) {
                stride += random.below(3) * element_size + random.pick(&[0, 1, 64]);
            }
            let reach = stride * counts[at].saturating_sub(1);
            match random.below(8) {
                0 if repeats => continue,
                1 => {
                    strides[at] = -stride.cast_signed();
                    before += reach;
                }
                _ => {
                    strides[at] = stride.cast_signed();
                    after += reach;
                }
            }
            stride *= counts[at].max(1);
        }
        let margin = random.pick(&[0, 0, 1, 8, 63, 64]);
        let end = random.pick(&[0, 1, 17]);
        Self { strides, offset: margin + before, size: margin + before + after + end }
    }
}

/// Returns small counts, but enough elements in some dimensions for tiles and streaming.
fn random_counts(random: &mut Random) -> Vec<usize> {
    let mut left = if cfg!(miri) { 250 } else { 20_000 };
    let rank = random.below(6);
    let counts = (0..rank).map(|_| {
        let most = random.pick(&[2, 5, 9, 40, 70, 150]).min(left);
        let count = if random.one_in(60) { 0 } else { 1 + random.below(most) };
        left /= count.max(1);
        count
    });
    counts.collect()
}

fn unit(offset: usize, size: usize) -> Unit {
    Unit { offset, size }
}

fn random_units(random: &mut Random, element_size: usize) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut at = 0;
    while at < element_size {
        let size = 1 + random.below((element_size - at).min(9));
        if !random.one_in(3) {
            units.push(Unit { offset: at, size });
        }
        at += size;
    }
    units
}

fn random_swap<'a>(random: &mut Random, element_size: usize, units: &'a [Unit]) -> ByteSwap<'a> {
    let whole: Vec<usize> =
        (0..=element_size).filter(|u| *u == 0 || element_size.is_multiple_of(*u)).collect();
    match random.below(4) {
        0 => ByteSwap::None,
        1 => ByteSwap::Units(units),
        2 => ByteSwap::Uniform(element_size),
        _ => ByteSwap::Uniform(random.pick(&whole)),
    }
}

/// Reverses units byte by byte.
fn reverse_reference(swap: ByteSwap<'_>, element: &mut [u8]) {
    let units: Vec<(usize, usize)> = match swap {
        ByteSwap::None | ByteSwap::Uniform(0) => Vec::new(),
        ByteSwap::Uniform(unit) => (0..element.len()).step_by(unit).map(|at| (at, unit)).collect(),
        ByteSwap::Units(units) => units.iter().map(|unit| (unit.offset, unit.size)).collect(),
    };
    let before = element.to_vec();
    for (at, size) in units {
        for byte in 0..size {
            element[at + byte] = before[at + size - 1 - byte];
        }
    }
}

fn copy_reference(
    element_size: usize,
    swap: ByteSwap<'_>,
    dimensions: &[Dimension],
    source: &[u8],
    from: isize,
    destination: &mut [u8],
    to: isize,
) {
    if let Some((first, rest)) = dimensions.split_first() {
        for at in 0..first.count.cast_signed() {
            let from = from + at * first.source_stride;
            let to = to + at * first.destination_stride;
            copy_reference(element_size, swap, rest, source, from, destination, to);
        }
    } else {
        let from = from.cast_unsigned();
        let to = to.cast_unsigned();
        let mut element = source[from..from + element_size].to_vec();
        reverse_reference(swap, &mut element);
        destination[to..to + element_size].copy_from_slice(&element);
    }
}

/// Like [`copy`], with the instructions of `level`.
fn copy_at(
    level: Level,
    element_size: usize,
    swap: ByteSwap<'_>,
    dimensions: &[Dimension],
    from: (&[u8], usize),
    to: (&mut [u8], usize),
    streaming: bool,
) {
    let swap = swap.checked(element_size).unwrap();
    let source = Extent { size: from.0.len(), offset: from.1 };
    let destination = Extent { size: to.0.len(), offset: to.1 };
    Geometry::with(element_size, dimensions, source, destination, |geometry| {
        // SAFETY: both sides are exclusive and were checked.
        unsafe { run(level, swap, geometry, from.0.as_ptr(), to.0.as_mut_ptr(), streaming) };
    })
    .unwrap();
}

fn dimensions(counts: &[usize], from: &Side, to: &Side) -> Vec<Dimension> {
    let strides = from.strides.iter().zip(&to.strides);
    let all = counts.iter().zip(strides);
    all.map(|(&count, (&source_stride, &destination_stride))| Dimension {
        count,
        source_stride,
        destination_stride,
    })
    .collect()
}

#[test]
fn every_kernel_copies_like_nested_loops() {
    for seed in 0..CASES {
        let random = &mut Random::new(seed);
        let counts = random_counts(random);
        let element_size = random.pick(&SIZES);
        let units = random_units(random, element_size);
        let swap = random_swap(random, element_size, &units);
        let from = Side::random(random, &counts, element_size, true);
        let to = Side::random(random, &counts, element_size, false);
        let dimensions = dimensions(&counts, &from, &to);
        let source = random.bytes(from.size);
        let before = random.bytes(to.size);
        let mut expected = before.clone();
        let first = from.offset.cast_signed();
        let last = to.offset.cast_signed();
        copy_reference(element_size, swap, &dimensions, &source, first, &mut expected, last);
        for streaming in [false, true] {
            for level in Level::all() {
                let mut copied = before.clone();
                let sides = ((&source[..], from.offset), (&mut copied[..], to.offset));
                copy_at(level, element_size, swap, &dimensions, sides.0, sides.1, streaming);
                let case =
                    format!("seed {seed}, {level:?}, streaming {streaming}, {element_size} bytes, {swap:?}");
                assert!(copied == expected, "{case}, {dimensions:?}, {from:?}, {to:?}");
            }
            let mut copied = before.clone();
            let offsets = (from.offset, to.offset);
            copy(element_size, swap, &dimensions, &source, offsets.0, &mut copied, offsets.1, streaming)
                .unwrap();
            assert!(copied == expected, "seed {seed}");
        }
    }
}

#[test]
fn every_kernel_fills_like_nested_loops() {
    for seed in 0..CASES / 2 {
        let random = &mut Random::new(seed);
        let counts = random_counts(random);
        let element_size = random.pick(&[1, 2, 3, 4, 8, 12, 16, 100, 4096, 5000]);
        let counts: Vec<_> =
            counts.iter().map(|count| if element_size > 100 { count % 6 } else { *count }).collect();
        let to = Side::random(random, &counts, element_size, false);
        let element = if random.one_in(3) { vec![7; element_size] } else { random.bytes(element_size) };
        let from = Side { strides: vec![0; counts.len()], offset: 0, size: element_size };
        let dimensions = dimensions(&counts, &from, &to);
        let before = random.bytes(to.size);
        let mut expected = before.clone();
        let first = to.offset.cast_signed();
        copy_reference(element_size, ByteSwap::None, &dimensions, &element, 0, &mut expected, first);
        let source = Extent { size: element_size, offset: 0 };
        let destination = Extent { size: to.size, offset: to.offset };
        let case = format!("seed {seed}, {element_size} bytes, {dimensions:?}, {to:?}");
        for level in Level::all() {
            let mut filled = before.clone();
            let start = filled.as_mut_ptr();
            Geometry::with(element_size, &dimensions, source, destination, |geometry| {
                // SAFETY: the destination is exclusive and was checked.
                unsafe { fill_geometry(level, &element, geometry, start) };
            })
            .unwrap();
            assert!(filled == expected, "{level:?}, {case}");
        }
        let boxed: Vec<_> = dimensions
            .iter()
            .map(|dimension| FillDimension { count: dimension.count, stride: dimension.destination_stride })
            .collect();
        let mut filled = before.clone();
        fill(&element, &boxed, &mut filled, to.offset).unwrap();
        assert!(filled == expected, "{case}");
    }
}

#[test]
fn every_kernel_swaps_in_place() {
    for seed in 0..CASES / 4 {
        let random = &mut Random::new(seed);
        let element_size = random.pick(&SIZES);
        let units = random_units(random, element_size);
        let swap = random_swap(random, element_size, &units);
        let size = element_size * random.below(90) + 3;
        let bytes = random.bytes(size);
        let start = random.below(4);
        let count = bytes.len() / element_size * element_size;
        let end = (start + count).min(start + (bytes.len() - start) / element_size * element_size);
        let mut expected = bytes.clone();
        expected[start..end]
            .chunks_exact_mut(element_size)
            .for_each(|element| reverse_reference(swap, element));
        for level in Level::all() {
            let mut swapped = bytes.clone();
            swap_in_place_at(level, swap, element_size, &mut swapped[start..end]).unwrap();
            assert_eq!(swapped, expected, "seed {seed}, {level:?}, {element_size} bytes, {swap:?}");
            swap_in_place(swap, element_size, &mut swapped[start..end]).unwrap();
            assert_eq!(swapped, bytes, "seed {seed}: twice is nothing");
        }
    }
}

#[test]
fn one_byte_less_on_either_side_is_out_of_bounds() {
    let mut refused = 0;
    for seed in 0..CASES / 4 {
        let random = &mut Random::new(seed);
        let counts = random_counts(random);
        let element_size = random.pick(&SIZES);
        let from = Side::random(random, &counts, element_size, true);
        let to = Side::random(random, &counts, element_size, false);
        let dimensions = dimensions(&counts, &from, &to);
        if counts.contains(&0) {
            continue;
        }
        let reach = |side: &Side| {
            let ends =
                counts.iter().zip(&side.strides).map(|(count, stride)| (count - 1).cast_signed() * stride);
            let low: isize = ends.clone().filter(|end| *end < 0).sum();
            let high: isize = ends.filter(|end| *end > 0).sum();
            (low.unsigned_abs(), high.unsigned_abs() + element_size)
        };
        let (low, high) = reach(&from);
        let (low_to, high_to) = reach(&to);
        let attempt = |source: usize, first: usize, destination: usize, first_to: usize| {
            let before = vec![1; destination];
            let mut bytes = before.clone();
            let source = vec![2; source];
            let result =
                copy(element_size, ByteSwap::None, &dimensions, &source, first, &mut bytes, first_to, true);
            assert!(result.is_ok() || bytes == before, "seed {seed}: refused, and nothing is written");
            result
        };
        assert_eq!(attempt(low + high, low, low_to + high_to, low_to), Ok(()), "seed {seed}");
        assert_eq!(attempt(low + high - 1, low, low_to + high_to, low_to), Err(OutOfBounds), "seed {seed}");
        assert_eq!(attempt(low + high, low, low_to + high_to - 1, low_to), Err(OutOfBounds), "seed {seed}");
        assert_eq!(attempt(low + high, low + 1, low_to + high_to, low_to), Err(OutOfBounds), "seed {seed}");
        assert_eq!(attempt(low + high, low, low_to + high_to, low_to + 1), Err(OutOfBounds), "seed {seed}");
        if low > 0 {
            assert_eq!(
                attempt(low + high, low - 1, low_to + high_to, low_to),
                Err(OutOfBounds),
                "seed {seed}"
            );
        }
        if low_to > 0 {
            assert_eq!(
                attempt(low + high, low, low_to + high_to, low_to - 1),
                Err(OutOfBounds),
                "seed {seed}"
            );
        }
        refused += 4;
    }
    assert!(refused > CASES / 4);
}

#[test]
fn counts_and_strides_that_overflow_are_out_of_bounds() {
    let extremes = [isize::MIN, isize::MIN + 1, -1, 1, isize::MAX];
    for stride in extremes {
        for count in [2, usize::MAX / 2, usize::MAX] {
            let mut bytes = [0; 1];
            let along = Dimension { count, source_stride: 0, destination_stride: stride };
            assert_eq!(copy(1, ByteSwap::None, &[along; 2], &[1], 0, &mut bytes, 0, false), Err(OutOfBounds));
            let along = Dimension { count, source_stride: stride, destination_stride: 0 };
            assert_eq!(copy(1, ByteSwap::None, &[along], &[1], 0, &mut bytes, 0, false), Err(OutOfBounds));
            let along = FillDimension { count, stride };
            assert_eq!(fill(&[1], &[along; 3], &mut bytes, 0), Err(OutOfBounds));
            assert_eq!(bytes, [0]);
        }
    }
    let mut bytes = [0; 4];
    assert_eq!(copy(4, ByteSwap::None, &[], &[0; 4], usize::MAX, &mut bytes, 0, false), Err(OutOfBounds));
    assert_eq!(copy(4, ByteSwap::None, &[], &[0; 4], 0, &mut bytes, usize::MAX, false), Err(OutOfBounds));
    assert_eq!(copy(usize::MAX, ByteSwap::None, &[], &[0; 4], 0, &mut bytes, 0, false), Err(OutOfBounds));
    assert_eq!(fill(&[0; 5], &[], &mut bytes, 0), Err(OutOfBounds));
}

#[test]
fn an_empty_copy_accesses_nothing_at_any_address() {
    let mut bytes = [3; 4];
    let none = Dimension { count: 0, source_stride: isize::MIN, destination_stride: isize::MAX };
    assert_eq!(copy(8, ByteSwap::None, &[none], &[], 99, &mut bytes, 99, true), Ok(()));
    assert_eq!(copy(0, ByteSwap::None, &[], &[], 0, &mut bytes, 0, false), Ok(()));
    assert_eq!(fill(&[1], &[FillDimension { count: 0, stride: 1 }], &mut bytes, 99), Ok(()));
    assert_eq!(bytes, [3; 4]);
}

#[test]
fn huge_counts_without_strides_finish() {
    let mut bytes = [0; 2];
    let still = Dimension { count: usize::MAX, source_stride: 0, destination_stride: 0 };
    assert_eq!(copy(2, ByteSwap::Uniform(2), &[still; 3], &[1, 2], 0, &mut bytes, 0, false), Ok(()));
    assert_eq!(bytes, [2, 1]);
    assert_eq!(fill(&[9], &[FillDimension { count: usize::MAX, stride: 0 }], &mut bytes, 1), Ok(()));
    assert_eq!(bytes, [2, 9]);
}

#[test]
fn rejects_more_dimensions_than_the_limit() {
    let one = Dimension { count: 1, source_stride: 1, destination_stride: 1 };
    let mut bytes = [0];
    assert_eq!(copy(1, ByteSwap::None, &[one; MAX_RANK], &[5], 0, &mut bytes, 0, false), Ok(()));
    assert_eq!(bytes, [5]);
    assert_eq!(
        copy(1, ByteSwap::None, &[one; MAX_RANK + 1], &[6], 0, &mut bytes, 0, false),
        Err(OutOfBounds)
    );
    let one = FillDimension { count: 1, stride: 1 };
    assert_eq!(fill(&[7], &[one; MAX_RANK + 1], &mut bytes, 0), Err(OutOfBounds));
    assert_eq!(bytes, [5]);
}

#[test]
fn copies_sixteen_dimensions_that_cannot_be_merged() {
    // Alternating strides prevent merging: 2^16 bytes with their dimensions in reversed order.
    let dimensions: Vec<Dimension> = (0..16)
        .map(|at| Dimension { count: 2, source_stride: 1 << at, destination_stride: 1 << (15 - at) })
        .chain([Dimension { count: 1, source_stride: -9, destination_stride: 9 }; 16])
        .collect();
    let source = Random::new(1).bytes(1 << 16);
    let mut copied = vec![0; 1 << 16];
    copy(1, ByteSwap::None, &dimensions, &source, 0, &mut copied, 0, false).unwrap();
    for (at, byte) in copied.iter().enumerate() {
        assert_eq!(*byte, source[usize::from(u16::try_from(at).unwrap().reverse_bits())]);
    }
}

#[test]
fn rejects_units_that_exceed_their_element() {
    let mut bytes = [1, 2, 3, 4];
    for units in
        [&[unit(0, 5)][..], &[unit(4, 1)], &[unit(0, 2), unit(3, 2)], &[unit(usize::MAX, usize::MAX)]]
    {
        assert_eq!(swap_in_place(ByteSwap::Units(units), 4, &mut bytes), Err(OutOfBounds));
        assert_eq!(copy(4, ByteSwap::Units(units), &[], &[9; 4], 0, &mut bytes, 0, false), Err(OutOfBounds));
    }
    assert_eq!(swap_in_place(ByteSwap::Uniform(3), 4, &mut bytes), Err(OutOfBounds));
    assert_eq!(swap_in_place(ByteSwap::Uniform(2), 3, &mut bytes), Err(OutOfBounds));
    assert_eq!(swap_in_place(ByteSwap::None, 3, &mut bytes), Err(OutOfBounds));
    assert_eq!(swap_in_place(ByteSwap::None, 0, &mut bytes), Err(OutOfBounds));
    assert_eq!(bytes, [1, 2, 3, 4]);
    assert_eq!(swap_in_place(ByteSwap::Units(&[unit(1, 3)]), 4, &mut bytes), Ok(()));
    assert_eq!(bytes, [1, 4, 3, 2]);
    assert_eq!(swap_in_place(ByteSwap::Uniform(2), 0, &mut []), Ok(()));
}

#[test]
fn all_equal_compares_bit_for_bit() {
    let zero = 0.0_f64.to_le_bytes();
    let negative = (-0.0_f64).to_le_bytes();
    let nan = f64::NAN.to_bits();
    assert!(all_equal(&zero, &zero.repeat(1000)));
    assert!(!all_equal(&zero, &negative.repeat(1000)));
    assert!(!all_equal(&zero, &[zero, zero, negative].concat()));
    assert!(all_equal(&nan.to_le_bytes(), &nan.to_le_bytes().repeat(3)));
    assert!(!all_equal(&nan.to_le_bytes(), &(nan | 1).to_le_bytes().repeat(3)));
    assert!(all_equal(&zero, &[]));
    assert!(all_equal(&[], &[]));
    assert!(!all_equal(&[], &[0]));
    assert!(!all_equal(&[1, 2], &[1]));
    assert!(!all_equal(&[1, 2], &[1, 2, 1]));
    assert!(!all_equal(&[1], &[2, 2, 2]));
}

#[test]
fn all_equal_finds_a_single_different_byte() {
    for size in [1, 2, 3, 8, 16, 100] {
        let element = Random::new(5).bytes(size);
        let mut bytes = element.repeat(37);
        assert!(all_equal(&element, &bytes));
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert!(!all_equal(&element, &bytes), "byte {at}");
            bytes[at] ^= 0x10;
        }
    }
}

#[test]
fn threads_write_disjoint_parts_of_shared_memory() {
    let columns = 96;
    let rows = 64;
    let source: Vec<u8> = Random::new(3).bytes(rows * columns);
    let mut copied = vec![0; rows * columns];
    let shared = Shared::new(&mut copied);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let source = &source;
            scope.spawn(move || {
                let width = columns / 4;
                let across = Dimension {
                    count: rows / 2,
                    source_stride: columns.cast_signed(),
                    destination_stride: columns.cast_signed(),
                };
                let along = Dimension { count: width, source_stride: 1, destination_stride: 1 };
                let offset = part * width;
                // SAFETY: each thread writes its own columns in the upper half, and its own rows in the lower half.
                unsafe {
                    let all = [across, along];
                    copy_shared(1, ByteSwap::None, &all, source, offset, shared, offset, true).unwrap();
                    let start = (rows / 2 + part * rows / 8) * columns;
                    let range = start..start + rows / 8 * columns;
                    shared.slice_mut(range.clone()).unwrap().copy_from_slice(&source[range]);
                }
            });
        }
    });
    assert!(copied == source);
}

#[test]
fn rejects_a_slice_outside_of_shared_memory() {
    let mut bytes = [0; 8];
    let shared = Shared::new(&mut bytes);
    // SAFETY: only one slice exists at a time.
    unsafe {
        assert_eq!(shared.slice_mut(0..9).map(|_| ()), Err(OutOfBounds));
        assert_eq!(shared.slice_mut(9..9).map(|_| ()), Err(OutOfBounds));
        #[expect(clippy::reversed_empty_ranges, reason = "the mistake that is looked for")]
        let backwards = shared.slice_mut(5..4).map(|_| ());
        assert_eq!(backwards, Err(OutOfBounds));
        assert_eq!(shared.slice_mut(8..8).map(|slice| slice.len()), Ok(0));
        assert_eq!(shared.slice_mut(2..8).map(|slice| slice.len()), Ok(6));
    }
    assert_eq!(OutOfBounds.to_string(), "copy reaches outside of its memory");
}
