//! Cases that run whole programs: copies, checks and digests.

use super::Case;
use crate::bench::datasets::{self, Dataset, Sizes};

/// The default size of the array that gets other chunks, in GiB.
pub(super) const GIB: u64 = 4;

/// The number of parts in which an array with other chunks is read back.
const STRIPS: u64 = 16;

/// Returns the cases. The array of the rechunking case has `gib` GiB. The others have a quarter of it, but the one with
/// many small chunks always has the same size.
pub(crate) fn copies(is_quick: bool, gib: u64) -> Vec<Case> {
    let sizes = Sizes { is_quick };
    let mebibytes = datasets::mebibytes(sizes, gib);
    let grid = if is_quick { [10, 10, 10] } else { [10, 100, 100] };
    let small = datasets::many("1e5-chunks", grid);
    let planes = datasets::planes(sizes, gib);
    let compressed = datasets::long(sizes, "zstd-5", gib);
    let parts = |dataset: &Dataset, operation: &'static str, title: &str| Case {
        boxes: dataset.parts(),
        ..Case::new(dataset, operation, title)
    };
    let strips = |operation: &'static str, title: &str| Case {
        boxes: strips(&planes.shape),
        ..Case::new(&planes, operation, title)
    };
    let hash = parts(&mebibytes, "hash", "uncompressed chunks, hashed by `zarrctl digest`");
    vec![
        parts(&mebibytes, "copy", "chunks of 1 MiB, copied"),
        Case { threads: 1, ..hash },
        Case::new(&small, "copy", "100,000 chunks of 1 KiB, copied"),
        strips("rechunk", "planes of `float32` to columns, in 256 MiB"),
        strips("merge", "planes of `float32` to blocks, in 256 MiB"),
        parts(&compressed, "verify", "zstd 5, all chunks decoded by `zarrctl verify`"),
        parts(&compressed, "digest", "zstd 5, `zarrctl digest`"),
    ]
}

/// Divides an array along its second dimension.
fn strips(shape: &[u64]) -> Vec<Vec<[u64; 2]>> {
    let length = shape[1] / STRIPS;
    let strip = |number: u64| {
        let mut ranges: Vec<[u64; 2]> = shape.iter().map(|&length| [0, length]).collect();
        ranges[1] = [number * length, (number + 1) * length];
        ranges
    };
    (0..STRIPS).map(strip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_cover_the_array() {
        let strips = strips(&[1024, 1024, 512]);
        assert_eq!((strips.len(), &strips[15]), (16, &vec![[0, 1024], [960, 1024], [0, 512]]));
    }

    #[test]
    fn the_array_of_planes_has_the_requested_size() {
        let rechunk = copies(false, 4).into_iter().find(|case| case.operation == "rechunk").unwrap();
        assert_eq!((rechunk.dataset.shape.as_slice(), rechunk.bytes()), (&[1024; 3][..], 4 << 30));
    }
}
