//! Cases with a store that waits before each answer.

use serde_json::json;

use super::super::container::Container;
use super::super::datasets::{self, Sizes};
use super::{Case, random_boxes};

pub(super) fn cases(sizes: Sizes) -> Vec<Case> {
    let zstd = datasets::far(sizes);
    let small = datasets::far_small(sizes);
    let shards = datasets::far_shards(sizes);
    let arrays = datasets::nodes("far-arrays", 0, sizes.count(200));
    let variables = datasets::variables("far-variables", sizes.count(500));
    let archive = datasets::far_in(sizes, "far-zip", Container::Zip);
    let references = datasets::far_in(sizes, "far-references", Container::Reference);
    let start = sizes.length(50) + 1;
    let unaligned = [150, 300, 300].map(|length| [start, start + sizes.length(length)]).to_vec();
    let boxes = random_boxes(&shards.shape, sizes.length(32), 500);
    let in_turn = boxes.iter().take(sizes.few(100)).cloned().collect();
    let at_once = boxes.iter().take(sizes.few(500)).cloned().collect();
    // A minimal client fetches only the values, without the work of a program on them.
    let fetched = || json!({"kind": "far-read"});
    let cases = [
        Case::new(&zstd, "read", "zstd 5, 128 chunks of 1 MiB, read").named("far/read").floor(fetched()),
        Case::new(&zstd, "write", "zstd 5, 128 chunks of 1 MiB, write").named("far/write"),
        Case {
            boxes: vec![unaligned.clone()],
            ..Case::new(&zstd, "boxes", "zstd 5, one box that no chunk lines up with")
        }
        .named("far/box"),
        Case::new(&small, "read", "uncompressed, 1,024 chunks of 64 KiB, read")
            .named("far/small-chunks/read")
            .floor(fetched()),
        Case::new(&small, "write", "uncompressed, 1,024 chunks of 64 KiB, write")
            .named("far/small-chunks/write"),
        Case::new(&shards, "read", "8 shards of zstd 5, read").named("far/shards/read"),
        Case { boxes: in_turn, ..Case::new(&shards, "boxes", "8 shards, 100 boxes in turn") }
            .named("far/shards/boxes")
            .cached(),
        Case { boxes: at_once, ..Case::new(&shards, "boxes-at-once", "8 shards, 500 boxes at once") }
            .named("far/shards/boxes-at-once")
            .cached(),
        Case::new(&arrays, "create", "200 arrays, created").named("far/arrays/create"),
        Case::new(&arrays, "open", "200 arrays, listed and opened").named("far/arrays/open"),
        Case::new(&variables, "open", "500 arrays with consolidated metadata, opened")
            .named("far/variables/open"),
        Case::new(&archive, "read", "a zip archive of 128 chunks of 1 MiB, read").named("far/zip/read"),
        Case { boxes: vec![unaligned], ..Case::new(&archive, "boxes", "a zip archive, one box") }
            .named("far/zip/box"),
        Case::new(&references, "read", "references to 128 chunks of 1 MiB, read")
            .named("far/references/read"),
    ];
    cases.map(|case| Case { is_far: true, ..case }).to_vec()
}
