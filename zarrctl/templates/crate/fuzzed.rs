//! Replays the inputs of the fuzzer's corpus.

use std::path::Path;

use zarr_conformance::fuzz::Targets;
use {{crate}} as _;

#[test]
fn the_corpus_does_not_crash_the_plugin() {
    let targets = Targets::of_package("{{package}}");
    let replayed = targets.replay(Path::new("fuzz/corpus/plugin")).unwrap();
    assert!(replayed > 0);
}
