//! Operations on sixteen bytes at a time.
//!
//! The baseline of x86-64 has an instruction for each operation, but compilers do not generate it from plain
//! loops. Wider registers do not help: these kernels are limited by the speed of memory.

/// Sixteen bytes that are processed together.
pub(super) trait Lanes: Copy {
    fn load(bytes: &[u8; 16]) -> Self;

    fn store(self, bytes: &mut [u8; 16]);

    /// Interleaves the bytes of both, starting with the first of `self`.
    fn zip(self, other: Self) -> [Self; 2];

    /// Inverts [`Lanes::zip`]: returns the bytes at even positions of both, and those at odd positions.
    fn unzip(self, other: Self) -> [Self; 2];

    /// Swaps the bits of `other` in the mask `lower` with the bits of `self` that are `DISTANCE` higher, in
    /// each byte.
    fn swap<const DISTANCE: i32>(self, other: Self, lower: i8) -> [Self; 2];
}

/// The fastest implementation for this machine.
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Sse2 as Best;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use self::Portable as Best;

/// An implementation without instructions of a specific machine.
#[cfg_attr(target_arch = "x86_64", cfg(test))]
#[derive(Clone, Copy)]
pub(super) struct Portable([u8; 16]);

#[cfg_attr(target_arch = "x86_64", cfg(test))]
impl Lanes for Portable {
    #[inline(always)]
    fn load(bytes: &[u8; 16]) -> Self {
        Self(*bytes)
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8; 16]) {
        *bytes = self.0;
    }

    // Compilers vectorize these plain loops better than shorter forms.

    #[inline(always)]
    fn zip(self, other: Self) -> [Self; 2] {
        let mut halves = [[0; 16]; 2];
        for (half, start) in halves.iter_mut().zip([0, 8]) {
            for place in 0..8 {
                half[2 * place] = self.0[start + place];
                half[2 * place + 1] = other.0[start + place];
            }
        }
        halves.map(Self)
    }

    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        let mut even = [0; 16];
        let mut odd = [0; 16];
        for place in 0..8 {
            even[place] = self.0[2 * place];
            even[place + 8] = other.0[2 * place];
            odd[place] = self.0[2 * place + 1];
            odd[place + 8] = other.0[2 * place + 1];
        }
        [Self(even), Self(odd)]
    }

    #[inline(always)]
    fn swap<const DISTANCE: i32>(self, other: Self, lower: i8) -> [Self; 2] {
        let differing: [u8; 16] = std::array::from_fn(|place| {
            ((self.0[place] >> DISTANCE) ^ other.0[place]) & lower.cast_unsigned()
        });
        [
            Self(std::array::from_fn(|place| self.0[place] ^ (differing[place] << DISTANCE))),
            Self(std::array::from_fn(|place| other.0[place] ^ differing[place])),
        ]
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    #![expect(unsafe_code, reason = "loads and stores of registers take pointers")]

    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_loadu_si128, _mm_packus_epi16, _mm_set1_epi8, _mm_set1_epi16,
        _mm_slli_epi64, _mm_srli_epi16, _mm_srli_epi64, _mm_storeu_si128, _mm_unpackhi_epi8,
        _mm_unpacklo_epi8, _mm_xor_si128,
    };

    use super::Lanes;

    /// A register of SSE2, which every x86-64 processor has.
    #[derive(Clone, Copy)]
    pub(crate) struct Sse2(__m128i);

    impl Lanes for Sse2 {
        #[inline(always)]
        fn load(bytes: &[u8; 16]) -> Self {
            // SAFETY: the pointer is valid for 16 bytes; the load does not require alignment.
            Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        }

        #[inline(always)]
        fn store(self, bytes: &mut [u8; 16]) {
            // SAFETY: the pointer is valid for writing 16 bytes; the store does not require alignment.
            unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0) }
        }

        #[inline(always)]
        fn zip(self, other: Self) -> [Self; 2] {
            // SAFETY: every x86-64 supports SSE2.
            unsafe { [Self(_mm_unpacklo_epi8(self.0, other.0)), Self(_mm_unpackhi_epi8(self.0, other.0))] }
        }

        #[inline(always)]
        fn unzip(self, other: Self) -> [Self; 2] {
            // SAFETY: every x86-64 supports SSE2.
            unsafe {
                let lower = _mm_set1_epi16(0xff);
                let even = _mm_packus_epi16(_mm_and_si128(self.0, lower), _mm_and_si128(other.0, lower));
                let odd = _mm_packus_epi16(_mm_srli_epi16::<8>(self.0), _mm_srli_epi16::<8>(other.0));
                [Self(even), Self(odd)]
            }
        }

        #[inline(always)]
        fn swap<const DISTANCE: i32>(self, other: Self, lower: i8) -> [Self; 2] {
            // SAFETY: every x86-64 supports SSE2.
            unsafe {
                let above = _mm_srli_epi64::<DISTANCE>(self.0);
                let differing = _mm_and_si128(_mm_xor_si128(above, other.0), _mm_set1_epi8(lower));
                let lifted = _mm_slli_epi64::<DISTANCE>(differing);
                [Self(_mm_xor_si128(self.0, lifted)), Self(_mm_xor_si128(other.0, differing))]
            }
        }
    }
}
