//! The cases: an operation, a dataset and a number of threads.

use serde_json::{Value, json};

use super::aims::{MANY_THREADS, ONE_THREAD};
use super::container::Container;
use super::datasets::{self, Dataset, Sizes};
use super::group::Group;

mod copies;
mod far;

pub(crate) use copies::copies;

/// The state in which a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// The program has run the case before.
    #[default]
    Warm,
    /// Each run is the first one of a new process.
    Fresh,
    /// Most of the memory of the machine is in use, and the rest is in single pages.
    Fragmented,
}

/// One row of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) dataset: Dataset,
    /// The name of the operation for the runners.
    pub(crate) operation: &'static str,
    pub(crate) threads: usize,
    pub(crate) boxes: Vec<Vec<[u64; 2]>>,
    /// The maximum size of a cache of decoded chunks, in bytes.
    pub(crate) cache: u64,
    /// The lower bound that is also measured. With boxes, it covers only the chunks that intersect them.
    pub(crate) floor: Option<Value>,
    /// Whether only the floor is measured.
    pub(crate) is_floor_alone: bool,
    /// Whether the programs use the remote store instead of the folder.
    pub(crate) is_far: bool,
    /// Whether decoders may round differently. The results of a program are then compared with its first one.
    pub(crate) is_lossy: bool,
    pub(crate) state: State,
}

impl Case {
    fn new(dataset: &Dataset, operation: &'static str, title: &str) -> Self {
        Self {
            name: format!("{}/{operation}", dataset.name),
            title: title.to_owned(),
            dataset: dataset.clone(),
            operation,
            threads: 2,
            boxes: Vec::new(),
            cache: 0,
            floor: None,
            is_floor_alone: false,
            is_far: false,
            is_lossy: false,
            state: State::Warm,
        }
    }

    fn floor(self, floor: Value) -> Self {
        Self { floor: Some(floor), ..self }
    }

    fn boxes(self, name: &str, boxes: Vec<Vec<[u64; 2]>>) -> Self {
        Self { name: format!("{}/{name}", self.dataset.name), boxes, ..self }
    }

    fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    fn cached(self) -> Self {
        Self { cache: 1 << 30, ..self }
    }

    fn on_one_thread(&self) -> Self {
        let case = self.clone();
        Self { name: format!("{}{ONE_THREAD}", case.name), threads: 1, ..case }
    }

    /// Returns the case with 16 threads, which share two processors on a small machine.
    fn on_many_threads(&self) -> Self {
        let case = self.clone();
        Self { name: format!("{}{MANY_THREADS}", case.name), threads: 16, floor: None, ..case }
    }

    /// Returns the number of threads of the floor. If chunks are read one by one, the floor decodes them on one thread.
    pub(crate) fn threads_of_floor(&self) -> usize {
        if self.operation == "chunks" { 1 } else { self.threads }
    }

    /// Returns whether Python packages are compared in this case. The others differ from these cases only in codecs, data
    /// types or the number of threads, which packages leave to their engines.
    pub(crate) fn is_for_packages(&self) -> bool {
        const DATASETS: [&str; 6] =
            ["uncompressed", "zstd", "small-chunks", "strings", "arrays", "variables"];
        self.is_far || (DATASETS.contains(&self.dataset.name) && self.threads <= 2)
    }

    /// Returns whether the case writes.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.operation, "write" | "create")
    }

    /// Returns the size of the processed elements in bytes, or 0 if it does not apply.
    pub(crate) fn bytes(&self) -> u64 {
        let of_box = |ranges: &Vec<[u64; 2]>| {
            ranges.iter().map(|[start, stop]| stop - start).product::<u64>() * self.dataset.item
        };
        match (self.operation, self.boxes.is_empty()) {
            ("create" | "open" | "list", _) => 0,
            (_, true) => self.dataset.bytes(),
            (_, false) => self.boxes.iter().map(of_box).sum(),
        }
    }
}

/// Returns all cases of a group, in the order of the tables.
pub(crate) fn all(is_quick: bool, group: Group) -> Vec<Case> {
    let sizes = Sizes { is_quick };
    match group {
        Group::Near => [whole(sizes), parts(sizes), kinds(sizes), cached(sizes), nodes(sizes)].concat(),
        Group::Growth => growth(sizes),
        Group::Far => far::cases(sizes),
        Group::Copy => copies(is_quick, copies::GIB),
    }
}

/// Returns cases with whole arrays of `uint16`, which resemble most data.
fn whole(sizes: Sizes) -> Vec<Case> {
    let plain = datasets::plain(sizes);
    let memcpy = Case::new(&plain, "floor", "copying the same number of bytes in memory")
        .floor(json!({"kind": "memcpy"}));
    let mut cases = vec![Case { name: "memcpy".to_owned(), is_floor_alone: true, ..memcpy }];
    let two = |cases: &mut Vec<Case>, case: Case| cases.extend([case.on_one_thread(), case]);
    two(&mut cases, Case::new(&plain, "read", "uncompressed, read").floor(json!({"kind": "files-read"})));
    cases.push(
        Case::new(&plain, "read-kept", "uncompressed, read into kept memory")
            .floor(json!({"kind": "files-read-kept"})),
    );
    for (operation, title) in [
        ("read-values", "uncompressed, read as values of its type"),
        ("read-ndarray", "uncompressed, read as an `ndarray`"),
    ] {
        cases.push(Case::new(&plain, operation, title).floor(json!({"kind": "files-read"})));
    }
    two(&mut cases, Case::new(&plain, "write", "uncompressed, write").floor(json!({"kind": "files-write"})));
    for (dataset, title) in [
        (datasets::zstd_5(sizes), "zstd 5"),
        (datasets::blosc(sizes), "blosc lz4 with shuffle"),
        (datasets::gzip(sizes), "gzip 5"),
        (datasets::shards(sizes), "shards of zstd 5"),
    ] {
        let decode = codec_floor(&dataset, "decode");
        let encode = codec_floor(&dataset, "encode");
        let read = Case { floor: decode.clone(), ..Case::new(&dataset, "read", &format!("{title}, read")) };
        let title_kept = format!("{title}, read into kept memory");
        let kept = Case { floor: decode, ..Case::new(&dataset, "read-kept", &title_kept) };
        let write = Case { floor: encode, ..Case::new(&dataset, "write", &format!("{title}, write")) };
        let of_state = |state, name: &str, what: &str| Case {
            state,
            title: format!("{title}, read {what}"),
            name: format!("{}/{name}", dataset.name),
            ..read.clone()
        };
        let others = [
            of_state(State::Fresh, "read-first", "by a new process"),
            of_state(State::Fragmented, "read-fragmented", "into fragmented memory"),
        ];
        two(&mut cases, read.clone());
        if matches!(dataset.name, "zstd" | "blosc") {
            cases.push(kept);
        }
        if dataset.name == "zstd" {
            cases.extend(others);
            cases.push(read.on_many_threads());
        }
        two(&mut cases, write);
    }
    cases
}

fn codec_floor(dataset: &Dataset, direction: &str) -> Option<Value> {
    let (codec, chunk) = dataset.codec.as_ref()?;
    Some(json!({"kind": direction, "codec": codec, "chunk": chunk}))
}

/// Returns cases with unaligned parts of the arrays of [`whole`], and with single chunks.
fn parts(sizes: Sizes) -> Vec<Case> {
    let start = sizes.length(100) + 1;
    let unaligned = vec![vec![[start, start + sizes.length(300)]; 3]];
    let mut cases = Vec::new();
    for (dataset, title) in [
        (datasets::plain(sizes), "uncompressed"),
        (datasets::zstd_5(sizes), "zstd 5"),
        (datasets::blosc(sizes), "blosc lz4"),
        (datasets::shards(sizes), "shards"),
    ] {
        let title = format!("{title}, one box that no chunk lines up with");
        let floor = codec_floor(&dataset, "decode").or_else(|| Some(json!({"kind": "files-read"})));
        let case = Case::new(&dataset, "boxes", &title).boxes("box", unaligned.clone());
        cases.push(Case { floor, ..case });
    }
    for (dataset, title) in [
        (datasets::plain(sizes), "uncompressed, chunk by chunk"),
        (datasets::zstd_5(sizes), "zstd 5, chunk by chunk"),
    ] {
        let floor = codec_floor(&dataset, "decode").or_else(|| Some(json!({"kind": "files-read-kept"})));
        cases.push(Case { floor, ..Case::new(&dataset, "chunks", title) });
    }
    cases
}

/// Returns cases with other chunks, other data types and version 2.
fn kinds(sizes: Sizes) -> Vec<Case> {
    let small = datasets::small(sizes);
    let of_small = [
        Case::new(&small, "read", "4,096 chunks of 2 KiB, read").floor(json!({"kind": "files-read"})),
        Case::new(&small, "write", "4,096 chunks of 2 KiB, write").floor(json!({"kind": "files-write"})),
    ];
    let mut cases = of_small.each_ref().map(Case::on_many_threads).to_vec();
    cases.extend(of_small);
    let transposed = datasets::transposed(sizes);
    let title = "big-endian float64 with reversed axes";
    cases.extend([
        Case::new(&transposed, "read", &format!("{title}, read")).floor(json!({"kind": "files-read"})),
        Case::new(&transposed, "write", &format!("{title}, write")).floor(json!({"kind": "files-write"})),
    ]);
    for (dataset, title) in [
        (datasets::version_2(sizes, false), "version 2, blosc zstd"),
        (datasets::version_2(sizes, true), "version 2, blosc zstd and delta"),
    ] {
        let decode = codec_floor(&dataset, "decode");
        let encode = codec_floor(&dataset, "encode");
        cases.push(Case { floor: decode, ..Case::new(&dataset, "read", &format!("{title}, read")) });
        cases.push(Case { floor: encode, ..Case::new(&dataset, "write", &format!("{title}, write")) });
    }
    cases.extend(of_formats(sizes));
    cases.push(Case::new(&datasets::sparse(sizes), "read", "sparse, one chunk in a hundred is stored, read"));
    let strings = datasets::strings(sizes);
    for (operation, direction) in [("read", "decode"), ("write", "encode")] {
        let floor = codec_floor(&strings, direction);
        cases.push(Case { floor, ..Case::new(&strings, operation, &format!("strings, {operation}")) });
    }
    cases
}

/// Returns cases with chunks that codecs of imagecodecs store.
fn of_imagecodecs(sizes: Sizes) -> Vec<Case> {
    let mut cases = Vec::new();
    let images = [
        ("png", "PNG images", json!({"id": "imagecodecs_png"}), true),
        ("jpegxl", "lossless JPEG XL images", json!({"id": "imagecodecs_jpegxl", "lossless": true}), true),
        ("jpegls", "lossless JPEG-LS images", json!({"id": "imagecodecs_jpegls"}), false),
        (
            "jpeg2k",
            "lossless JPEG 2000 images",
            json!({"id": "imagecodecs_jpeg2k", "reversible": true}),
            false,
        ),
        ("lerc", "LERC images", json!({"id": "imagecodecs_lerc"}), true),
        ("lzw", "LZW of TIFF", json!({"id": "imagecodecs_lzw"}), true),
        ("packbits", "PackBits of TIFF", json!({"id": "imagecodecs_packbits"}), true),
        ("wavpack", "WavPack", json!({"id": "imagecodecs_wavpack"}), true),
    ];
    for (name, title, codec, is_written) in images {
        let dataset = datasets::images(sizes, name, codec);
        cases.push(Case::new(&dataset, "read", &format!("{title}, read")));
        if is_written {
            cases.push(Case::new(&dataset, "write", &format!("{title}, write")));
        }
    }
    let webp = datasets::photos(sizes, "webp", json!({"id": "imagecodecs_webp", "lossless": true}));
    cases.push(Case::new(&webp, "read", "lossless WebP images, read"));
    cases.push(Case::new(&webp, "write", "lossless WebP images, write"));
    let jpeg = datasets::photos(sizes, "jpeg", json!({"id": "imagecodecs_jpeg", "level": 90}));
    cases.push(Case { is_lossy: true, ..Case::new(&jpeg, "read", "JPEG images, read") });
    cases
}

/// Returns cases with chunks of imagecodecs, with an N5 container, and with an Icechunk repository.
fn of_formats(sizes: Sizes) -> Vec<Case> {
    let mut cases = of_imagecodecs(sizes);
    let n5 = datasets::n5(sizes);
    cases.push(Case::new(&n5, "read", "N5, gzip 5, read"));
    cases.push(Case::new(&n5, "write", "N5, gzip 5, write"));
    let icechunk = datasets::icechunk(sizes);
    for (operation, title) in
        [("read", "Icechunk, zstd 5, read"), ("write", "Icechunk, zstd 5, write and commit")]
    {
        cases.push(Case::new(&icechunk, operation, title));
    }
    cases
}

/// Returns cases with many parts of one array and a cache of decoded chunks.
fn cached(sizes: Sizes) -> Vec<Case> {
    let zstd = datasets::zstd_5(sizes);
    let shards = datasets::shards(sizes);
    let planes = |dimension: usize| {
        let plane = |number: u64| {
            let at = sizes.length(100) + number;
            let mut ranges: Vec<_> = zstd.shape.iter().map(|&length| [0, length]).collect();
            ranges[dimension] = [at, at + 1];
            ranges
        };
        (0..50).map(plane).collect::<Vec<_>>()
    };
    let boxes = random_boxes(&zstd.shape, 32, sizes.count(1000));
    // All elements are in the first chunk of the array.
    let elements = random_boxes(&[sizes.length(128); 3], 1, sizes.count(1000));
    let cases = vec![
        Case::new(&zstd, "boxes", "zstd 5, 1,000 single elements of one chunk in turn")
            .boxes("elements", elements)
            .cached(),
        Case::new(&zstd, "boxes", "zstd 5, 50 planes along z").boxes("planes-z", planes(0)).cached(),
        Case::new(&zstd, "boxes", "zstd 5, 50 planes along x").boxes("planes-x", planes(2)).cached(),
        Case::new(&zstd, "boxes", "zstd 5, 1,000 boxes in turn").boxes("boxes", boxes.clone()).cached(),
        Case::new(&zstd, "boxes-at-once", "zstd 5, 1,000 boxes at once")
            .boxes("boxes-at-once", boxes.clone())
            .cached(),
        Case::new(&shards, "boxes", "shards, 1,000 boxes in turn").boxes("boxes", boxes.clone()).cached(),
        Case::new(&shards, "boxes-at-once", "shards, 1,000 boxes at once")
            .boxes("boxes-at-once", boxes)
            .cached(),
    ];
    let with_floor = |case: Case| Case { floor: codec_floor(&case.dataset, "decode"), ..case };
    cases.into_iter().map(with_floor).collect()
}

/// Returns pseudorandom boxes, which are the same in every run.
fn random_boxes(shape: &[u64], length: u64, count: u64) -> Vec<Vec<[u64; 2]>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut one = || {
        let starts = shape.iter().map(|&all| random(all - length + 1));
        starts.map(|start| [start, start + length]).collect()
    };
    (0..count).map(|_| one()).collect()
}

/// Returns cases with hierarchies instead of elements.
fn nodes(sizes: Sizes) -> Vec<Case> {
    let arrays = datasets::nodes("arrays", 0, sizes.count(2000));
    let create = Case::new(&arrays, "create", "2,000 arrays, created");
    let variables = datasets::variables("variables", sizes.count(500));
    vec![
        create,
        Case::new(&arrays, "open", "2,000 arrays, listed and opened"),
        Case::new(&variables, "open", "500 arrays with consolidated metadata, opened"),
    ]
}

/// Returns cases that show how times and memory grow with the size.
fn growth(sizes: Sizes) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, title, groups) in
        [("nodes-1e4", "10,000 nodes, listed", 10), ("nodes-1e5", "100,000 nodes, listed", 100)]
    {
        let arrays = if sizes.is_quick { 49 } else { 999 };
        cases.push(Case::new(&datasets::nodes(name, groups, arrays), "list", title));
    }
    for (name, repeats) in [("1-GiB", 4), ("4-GiB", 16), ("16-GiB", 64)] {
        let dataset = datasets::long(sizes, name, repeats);
        let title = format!("zstd 5, {} read in parts of 256 MiB", name.replace('-', " "));
        cases.push(Case::new(&dataset, "boxes", &title).boxes("read", dataset.parts()));
    }
    let grids: [(&'static str, &str, [u64; 3]); 4] = [
        ("1e3-chunks", "1,000 chunks of 1 KiB", [10, 10, 10]),
        ("1e4-chunks", "10,000 chunks of 1 KiB", [10, 10, 100]),
        ("1e5-chunks", "100,000 chunks of 1 KiB", [10, 100, 100]),
        ("1e6-chunks", "1,000,000 chunks of 1 KiB", [100, 100, 100]),
    ];
    for (name, title, grid) in grids.into_iter().take(if sizes.is_quick { 2 } else { 4 }) {
        let dataset = datasets::many(name, grid);
        cases.push(Case::new(&dataset, "read", &format!("{title}, read")));
        // For the check, the output of all programs must exist at the same time. A million chunks for each program are
        // too many.
        if grid != [100; 3] {
            cases.push(Case::new(&dataset, "write", &format!("{title}, write")));
        }
    }
    cases.extend(databases(sizes));
    cases
}

/// Returns cases with many chunks in a database, which are compared with the same chunks in files.
fn databases(sizes: Sizes) -> Vec<Case> {
    let grid = if sizes.is_quick { [10, 10, 10] } else { [10, 100, 100] };
    let of = |(name, title, container): (&'static str, &str, Container)| {
        let dataset = Dataset { container: Some(container), ..datasets::many(name, grid) };
        ["read", "write"].map(|operation| {
            Case::new(&dataset, operation, &format!("100,000 chunks of 1 KiB in {title}, {operation}"))
        })
    };
    let databases =
        [("1e5-chunks-lmdb", "LMDB", Container::Lmdb), ("1e5-chunks-redb", "redb", Container::Redb)];
    databases.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_unique_name() {
        let cases = Group::ALL.map(|group| all(false, group)).concat();
        let mut names: Vec<_> = cases.into_iter().map(|case| case.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn boxes_are_inside_their_array_at_both_sizes() {
        let groups = Group::ALL.map(|group| [all(true, group), all(false, group)].concat());
        for case in groups.concat() {
            for ranges in &case.boxes {
                assert_eq!(ranges.len(), case.dataset.shape.len(), "{}", case.name);
                for ([start, stop], &length) in ranges.iter().zip(&case.dataset.shape) {
                    assert!(start < stop && *stop <= length, "{}: {ranges:?}", case.name);
                }
            }
        }
    }

    #[test]
    fn bytes_count_the_requested_elements() {
        let cases = Group::ALL.map(|group| all(false, group)).concat();
        let bytes = |name: &str| cases.iter().find(|case| case.name == name).unwrap().bytes();
        assert_eq!(bytes("zstd/read"), 256 << 20);
        assert_eq!(bytes("zstd/box"), 300 * 300 * 300 * 2);
        assert_eq!(bytes("zstd/planes-x"), 50 * 512 * 512 * 2);
        assert_eq!(bytes("arrays/create"), 0);
        assert_eq!(bytes("far/read"), 128 << 20);
        assert_eq!(bytes("far/small-chunks/write"), 64 << 20);
    }
}
