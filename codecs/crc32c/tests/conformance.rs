//! Runs the shared conformance suite for codecs on `crc32c`, with the examples of RFC 3720.

use zarr_conformance::suite::Fixture;
use zarr_spec::Example;

const V3: Example = Example::v3(r#"{"name": "crc32c"}"#).with_data_types(&["uint8"]).with_shape(&[32]);

/// The examples in the standard of iSCSI, which prints checksums in the order in which they are sent.
const FIXTURES: &[Fixture] = &[
    Fixture {
        example: V3,
        decoded: "0000000000000000000000000000000000000000000000000000000000000000",
        encoded: "0000000000000000000000000000000000000000000000000000000000000000 aa36918a",
        source: "RFC 3720, B.4, 32 bytes of zeroes",
    },
    Fixture {
        example: V3,
        decoded: "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        encoded: "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff 43aba862",
        source: "RFC 3720, B.4, 32 bytes of ones",
    },
    Fixture {
        example: V3,
        decoded: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        encoded: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 4e79dd46",
        source: "RFC 3720, B.4, 32 bytes of incrementing 00..1f",
    },
];

zarr_conformance::conformance_tests!(zarr_codec_crc32c; fixtures: FIXTURES);
