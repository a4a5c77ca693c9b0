//! Detection of the instruction sets of this machine.

/// An instruction set for which there are kernels. `Portable` runs everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    /// Vectors of 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    /// Vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Vectors of 64 bytes: a cache line.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Level {
    pub(super) fn detect() -> Self {
        if cfg!(miri) {
            Level::Portable // Miri does not support non-temporal stores.
        } else if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            Level::Avx512
        } else if is_x86_feature_detected!("avx2") {
            Level::Avx2
        } else if is_x86_feature_detected!("ssse3") {
            Level::Ssse3
        } else {
            Level::Portable
        }
    }

    /// Returns all levels that this machine supports, for tests.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        let all = [Level::Portable, Level::Ssse3, Level::Avx2, Level::Avx512];
        let best = all.iter().position(|level| *level == Self::detect()).unwrap();
        all[..=best].to_vec()
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Level {
    pub(super) fn detect() -> Self {
        Level::Portable
    }

    /// Returns all levels that this machine supports, for tests.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        vec![Level::Portable]
    }
}
