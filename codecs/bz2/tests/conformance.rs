//! Runs the shared conformance suite for codecs on `bz2`.

use zarr_conformance::suite::Fixture;
use zarr_spec::Example;

const V2: Example = Example::v2(r#"{"id": "bz2", "level": 1}"#).with_data_types(&["uint8"]);

const FIXTURES: &[Fixture] = &[
    Fixture {
        example: V2.with_shape(&[6]),
        decoded: "000102030405",
        encoded: "425a6831314159265359601ab39200000040007e00200021800c03272ee2ee48a70a120c03567240",
        source: "numcodecs 0.17.1",
    },
    Fixture {
        example: V2.with_shape(&[4, 8]),
        decoded: "0000000000000000010101010101010102020202020202020303030303030303",
        encoded: "425a68393141592653590b9f6f0100000040007c00200030cd00cd47a253a9f464570bb9229c284805cfb78080",
        source: "numcodecs 0.17.1",
    },
];

zarr_conformance::conformance_tests!(zarr_codec_bz2; fixtures: FIXTURES);
