//! Tests the plugin with random bytes.
#![no_main]

use std::sync::LazyLock;

use zarr_conformance::fuzz::Targets;
use {{crate}} as _;

static TARGETS: LazyLock<Targets> = LazyLock::new(|| Targets::of_package("{{package}}"));

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGETS.run(input));
