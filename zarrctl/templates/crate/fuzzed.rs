//! Runs again what a fuzzer found, and what it begins with.

use std::path::Path;

use zarr_conformance::fuzz::Targets;
use {{crate}} as _;

#[test]
fn what_a_fuzzer_found_is_mended() {
    let targets = Targets::of_package("{{package}}");
    let replayed = targets.replay(Path::new("fuzz/corpus/plugin")).unwrap();
    assert!(replayed > 0);
}
