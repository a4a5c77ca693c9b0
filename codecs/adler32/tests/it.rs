//! `adler32`: checksums printed in specifications or written by other programs.

use zarr_codec_adler32 as _;
use zarr_conformance::checksums::{check_configurations, check_written, stored};
use zarr_conformance::hex;
use zarr_spec::Format;

const OWN: &str = "https://zarr-kit.example/spec/codecs/adler32/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "adler32"), (Format::V3, "numcodecs.adler32"), (Format::V3Draft, OWN)];

/// Bytes, and the output of numcodecs 0.17.1.
const WRITTEN: &[(&str, &str)] = &[
    ("", "01000000"),
    ("07", "0800080007"),
    ("000102030405", "10002900000102030405"),
    ("d81f8b7603be86d00a55fb48", "b205f824d81f8b7603be86d00a55fb48"),
    ("313233343536373839", "de011e09313233343536373839"),
];

#[test]
fn writes_the_checksums_of_numcodecs_on_either_side() {
    check_written(&NAMES, WRITTEN);
    assert_eq!(stored(Format::V2, "adler32", "", &[0xff; 2000])[..4], hex("9ac8adaf"));
}

#[test]
fn the_location_is_the_only_option_in_every_format() {
    check_configurations(&NAMES);
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
