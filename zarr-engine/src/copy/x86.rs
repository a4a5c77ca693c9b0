//! Kernels with the vector instructions of x86-64.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::Dimension;
use super::level::Level;
use super::rows::{Kernel, LINE, Purpose, RUN, Rows, Transpose, copy_short, each_row};
use super::swap::Pattern;

/// The first and last cache lines of a row are prefetched this number of rows ahead.
const AHEAD: isize = 4;

pub(super) fn rows(level: Level, purpose: Purpose) -> Option<Kernel> {
    Some(match (level, purpose) {
        (Level::Portable, _) => return None,
        (Level::Ssse3, Purpose::Stream) => ssse3::<false, true>,
        (Level::Ssse3, Purpose::Shuffle) => ssse3::<true, false>,
        (Level::Ssse3, Purpose::ShuffleAndStream) => ssse3::<true, true>,
        (Level::Avx2, Purpose::Stream) => avx2::<false, true>,
        (Level::Avx2, Purpose::Shuffle) => avx2::<true, false>,
        (Level::Avx2, Purpose::ShuffleAndStream) => avx2::<true, true>,
        (Level::Avx512, Purpose::Stream) => avx512::<false, true>,
        (Level::Avx512, Purpose::Shuffle) => avx512::<true, false>,
        (Level::Avx512, Purpose::ShuffleAndStream) => avx512::<true, true>,
    })
}

pub(super) fn transpose(level: Level, element_size: usize) -> Option<Transpose> {
    match element_size {
        _ if level == Level::Portable => None,
        1 => Some(transpose_1),
        2 => Some(transpose_2),
        4 => Some(transpose_4),
        8 => Some(transpose_8),
        _ => None,
    }
}

pub(super) fn fence() {
    // SAFETY: an instruction that every x86-64 has.
    unsafe { _mm_sfence() };
}

/// A vector register. Its functions require the instructions of its level, and are inlined into functions that enable
/// them.
trait Vector: Copy {
    /// The size of the register in bytes.
    const SIZE: usize;
    /// Returns `pattern`, repeated over the register.
    unsafe fn repeated(pattern: &[u8; 16]) -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// Writes with a non-temporal store; `to` is a multiple of `SIZE`.
    unsafe fn stream(self, to: *mut u8);
    /// Permutes each group of 16 bytes: byte `i` becomes byte `pattern[i]` of the group.
    unsafe fn shuffle(self, pattern: Self) -> Self;
}

macro_rules! vector {
    ($type:ty, $repeat:expr, $load:ident, $store:ident, $stream:ident, $shuffle:ident) => {
        impl Vector for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            unsafe fn repeated(pattern: &[u8; 16]) -> Self {
                // SAFETY: the caller guarantees that the machine has the instructions; a pattern has 16 bytes.
                unsafe { $repeat(_mm_loadu_si128(pattern.as_ptr().cast())) }
            }
            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller guarantees that `from` is valid, and that the machine has the instructions.
                unsafe { $load(from.cast()) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller guarantees that `to` is valid, and that the machine has the instructions.
                unsafe { $store(to.cast(), self) }
            }
            #[inline(always)]
            unsafe fn stream(self, to: *mut u8) {
                // SAFETY: the caller guarantees an aligned and valid `to`, and that the machine has the instructions.
                unsafe { $stream(to.cast(), self) }
            }
            #[inline(always)]
            unsafe fn shuffle(self, pattern: Self) -> Self {
                // SAFETY: the caller guarantees that the machine has the instructions.
                unsafe { $shuffle(self, pattern) }
            }
        }
    };
}
vector!(__m128i, |x| x, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128, _mm_shuffle_epi8);
vector!(
    __m256i,
    |x| _mm256_broadcastsi128_si256(x),
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_stream_si256,
    _mm256_shuffle_epi8
);
vector!(
    __m512i,
    |x| _mm512_broadcast_i32x4(x),
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_stream_si512,
    _mm512_shuffle_epi8
);

macro_rules! level {
    ($name:ident, $features:literal, $vector:ty) => {
        /// Copies rows.
        ///
        /// # Safety
        ///
        /// As for [`Rows::copy`], on a machine with these instructions.
        #[target_feature(enable = $features)]
        unsafe fn $name<const SHUFFLE: bool, const STREAM: bool>(
            this: &Rows<'_>,
            source: *const u8,
            destination: *mut u8,
            rows: Dimension,
        ) {
            // SAFETY: the caller's promise.
            unsafe { copy_rows::<$vector, SHUFFLE, STREAM>(this, source, destination, rows) };
        }
    };
}
level!(ssse3, "ssse3", __m128i);
level!(avx2, "avx2", __m256i);
level!(avx512, "avx2,avx512f,avx512bw", __m512i);

/// Copies rows.
///
/// # Safety
///
/// As for [`Rows::copy`], on a machine with the instructions of `V`.
#[inline(always)]
unsafe fn copy_rows<V: Vector, const SHUFFLE: bool, const STREAM: bool>(
    this: &Rows<'_>,
    source: *const u8,
    destination: *mut u8,
    rows: Dimension,
) {
    let identity = Pattern { from: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], period: 1 };
    let pattern = this.pattern.unwrap_or(identity);
    // SAFETY: the caller guarantees that the machine has the instructions.
    let step = unsafe {
        Step::<V, SHUFFLE> { vector: V::repeated(&pattern.from), short: __m128i::repeated(&pattern.from) }
    };
    let ahead = rows.destination_stride.wrapping_mul(AHEAD);
    each_row(source, destination, rows, |from, to| {
        let mut done = 0;
        if STREAM {
            fetch_ends(to.wrapping_offset(ahead), this.bytes);
            let head = to.addr().wrapping_neg() % LINE;
            // A swapped row can be divided only between elements.
            if this.bytes >= head + LINE && (!SHUFFLE || head.is_multiple_of(pattern.period)) {
                // SAFETY: the row's first bytes, then whole lines of it.
                unsafe {
                    step.part(from, to, head);
                    done = step.stream(from, to, head, this.bytes);
                }
            }
        }
        // SAFETY: what is left of the row.
        unsafe { step.part(from.add(done), to.add(done), this.bytes - done) };
    });
}

/// Prefetches the cache lines that a row of `bytes` bytes fills partially: unlike streamed lines, they are read before
/// they are written. If memory is not aligned to cache lines, these reads take most of the time of copying short rows.
#[inline(always)]
fn fetch_ends(row: *const u8, bytes: usize) {
    let end = row.wrapping_add(bytes);
    for place in [row, end] {
        if !place.addr().is_multiple_of(LINE) {
            // SAFETY: this is a hint, which is valid for any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
        }
    }
}

struct Step<V, const SHUFFLE: bool> {
    vector: V,
    short: __m128i,
}

impl<V: Vector, const SHUFFLE: bool> Step<V, SHUFFLE> {
    /// Streams complete cache lines from `start` and returns the end of the last one.
    #[inline(always)]
    unsafe fn stream(&self, source: *const u8, destination: *mut u8, start: usize, bytes: usize) -> usize {
        let mut at = start;
        while at + LINE <= bytes {
            for part in (0..LINE).step_by(V::SIZE) {
                // SAFETY: the vector is a part of a whole line of the row, and this line starts at a cache line of the
                // destination.
                unsafe { self.vector(source.add(at + part)).stream(destination.add(at + part)) };
            }
            at += LINE;
        }
        at
    }

    /// Copies a run of any length with ordinary stores.
    #[inline(always)]
    unsafe fn part(&self, source: *const u8, destination: *mut u8, bytes: usize) {
        // SAFETY: the caller found `bytes` in bounds; each step stays below them.
        unsafe {
            if !SHUFFLE {
                return copy_short(source, destination, bytes);
            }
            let mut at = 0;
            while at + V::SIZE <= bytes {
                self.vector(source.add(at)).store(destination.add(at));
                at += V::SIZE;
            }
            while at + 16 <= bytes {
                let short = __m128i::load(source.add(at)).shuffle(self.short);
                short.store(destination.add(at));
                at += 16;
            }
            self.rest(source.add(at), destination.add(at), bytes - at);
        }
    }

    /// Copies fewer than 16 bytes through a separate vector.
    #[inline(always)]
    unsafe fn rest(&self, source: *const u8, destination: *mut u8, bytes: usize) {
        if bytes > 0 {
            let mut own = MaybeUninit::<[u8; 16]>::zeroed();
            let own = own.as_mut_ptr().cast::<u8>();
            // SAFETY: fewer bytes than the vector has, in bounds by the caller's promise.
            unsafe {
                copy_short(source, own, bytes);
                __m128i::load(own).shuffle(self.short).store(own);
                copy_short(own, destination, bytes);
            }
        }
    }

    #[inline(always)]
    unsafe fn vector(&self, source: *const u8) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let vector = V::load(source);
            if SHUFFLE { vector.shuffle(self.vector) } else { vector }
        }
    }
}

/// Transposes a tile in blocks of 16 by 16 bytes: loads a vector from each of `$count` lines, then interleaves the two
/// halves of the vectors until rows and columns are exchanged.
macro_rules! transpose {
    ($name:ident, $count:literal, $low:ident, $high:ident) => {
        /// Transposes one tile. Uses only instructions that every x86-64 CPU has.
        ///
        /// # Safety
        ///
        /// As for [`Transpose`].
        unsafe fn $name(source: *const u8, stride: isize, buffer: *mut u8) {
            const COUNT: usize = $count;
            for line in (0..LINE / 16 * COUNT).step_by(COUNT) {
                let first = source.wrapping_offset(stride.wrapping_mul(line.cast_signed()));
                for column in 0..LINE / 16 {
                    // SAFETY: vectors inside of the tile's lines, and of the buffer's.
                    unsafe {
                        let mut block = [_mm_setzero_si128(); COUNT];
                        for (at, vector) in block.iter_mut().enumerate() {
                            let from = first.wrapping_offset(stride.wrapping_mul(at.cast_signed()));
                            *vector = __m128i::load(from.add(column * 16));
                        }
                        for _ in 0..COUNT.ilog2() {
                            let mut mixed = block;
                            for at in 0..COUNT / 2 {
                                mixed[2 * at] = $low(block[at], block[at + COUNT / 2]);
                                mixed[2 * at + 1] = $high(block[at], block[at + COUNT / 2]);
                            }
                            block = mixed;
                        }
                        for (at, vector) in block.iter().enumerate() {
                            vector.store(buffer.add((column * COUNT + at) * RUN + line * (16 / COUNT)));
                        }
                    }
                }
            }
        }
    };
}
transpose!(transpose_1, 16, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
transpose!(transpose_2, 8, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
transpose!(transpose_4, 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
transpose!(transpose_8, 2, _mm_unpacklo_epi64, _mm_unpackhi_epi64);
