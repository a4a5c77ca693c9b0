//! Sections 7 to 12 of `v3-final.md`: chains of codecs.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::CountingStore;
use zarr_kit::spec::{Mode, Reading, Size};
use zarr_kit::{Format, Hierarchy, Selection};

use super::support::{all, hex, reading_fails};
use super::{chunks_of, stored};

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn gzip() -> Value {
    json!({"name": "gzip", "configuration": {"level": 1}})
}

fn transpose() -> Value {
    json!({"name": "transpose", "configuration": {"order": [0]}})
}

/// Tests V3-CODEC-01.
#[test]
fn a_chain_has_exactly_one_array_to_bytes_codec() {
    let good = stored(&json!({"codecs": [transpose(), little(), gzip()]})).strictly();
    good.array().write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(good.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2, 3, 4]);
    let wrong = [
        json!([]),
        json!([gzip()]),
        json!([transpose()]),
        json!([little(), little()]),
        json!([gzip(), little()]),
        json!([little(), transpose()]),
    ];
    for codecs in wrong {
        let strict = stored(&json!({"codecs": codecs})).strictly();
        assert!(strict.error().contains("`codecs"), "{}", strict.error());
        // Documents of early 2023 lack an array-to-bytes codec, which lenient readers accept (DX-GEN-05).
        let lenient = stored(&json!({"codecs": codecs}));
        let names_no_bytes = codecs.as_array().unwrap().len() == 1;
        assert_eq!(lenient.try_array().is_ok(), names_no_bytes, "{codecs}");
    }
}

/// Tests V3-CODEC-02.
#[test]
fn a_chain_is_checked_before_any_chunk_is_read() {
    let store = |codecs| {
        let stored = stored(&json!({"codecs": codecs})).with("c/0", [0; 8]);
        let counting = Arc::new(CountingStore::new(Arc::clone(&stored.store)));
        (Hierarchy::open(Arc::clone(&counting) as _, &stored.context).unwrap(), counting)
    };
    // The second codec receives the output of the first codec. The metadata determine this output, so no chunk is
    // needed to check the chain.
    let (hierarchy, counting) = store(
        json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}, little()]),
    );
    drop(counting.take());
    let array = hierarchy.array("").unwrap();
    assert_eq!(array.codecs().encoded_size(), Size::Exact(4));
    // The document may be read again, but no chunk is read.
    assert!(counting.take().get("get").is_none_or(|&documents| documents == 1));
    array.write_values::<i32>(&Selection::All, &[5, 6, 8, 11]).unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [5, 6, 8, 11]);
    assert_eq!(array.read_encoded_chunk(&[1]).unwrap().unwrap()[..], hex("0800 0300"));
    // A second delta codec cannot take the elements that the first one produces.
    let (hierarchy, counting) = store(json!([
        {"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}},
        {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}},
        little(),
    ]));
    drop(counting.take());
    let error = hierarchy.array("").unwrap_err().to_string();
    assert!(error.contains("`codecs[1]`: codec `numcodecs.delta`"), "{error}");
    assert!(counting.take().get("get").is_none_or(|&documents| documents == 1));
}

/// Tests V3-CODEC-04.
#[test]
fn codecs_encode_in_order_and_decode_in_reverse() {
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let members = json!({"data_type": "int16", "shape": [1], "chunk_grid": chunks_of(&[1]), "codecs": [big, {"name": "crc32c"}]});
    let stored = stored(&members).strictly();
    stored.array().write_values::<i16>(&Selection::All, &[1]).unwrap();
    let checksum = crc32c(&[0, 1]).to_le_bytes();
    assert_eq!(stored.value("c/0"), super::support::to_hex(&[&[0, 1], &checksum[..]].concat()));
    assert_eq!(stored.array().read_values::<i16>(&Selection::All).unwrap(), [1]);
}

/// Computes the checksum of RFC 3720 bit by bit, independently of the codec.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Tests V3-CRC-03, V3-CONTRA-07.
#[test]
fn a_wrong_checksum_is_an_error_and_an_empty_configuration_is_allowed() {
    assert_eq!(crc32c(b"123456789").to_le_bytes(), [0x83, 0x92, 0x06, 0xe3]);
    let members = |codec| json!({"data_type": "uint8", "shape": [2], "codecs": ["bytes", codec]});
    let good = [&[1, 2], &crc32c(&[1, 2]).to_le_bytes()[..]].concat();
    for codec in [json!("crc32c"), json!({"name": "crc32c"}), json!({"name": "crc32c", "configuration": {}})]
    {
        assert_eq!(all(&stored(&members(codec)).strictly().with("c/0", &good).array()), "01 02");
    }
    for wrong in [&hex("01 02 00 00 00 00")[..], &[], &[0, 0, 0], &[1, 2], &good[..5]] {
        let array = stored(&members(json!("crc32c"))).with("c/0", wrong).array();
        assert!(reading_fails(&array).contains("codec `crc32c`"), "{}", reading_fails(&array));
    }
    let configured = json!({"name": "crc32c", "configuration": {"x": 1}});
    assert!(stored(&members(configured)).strictly().error().contains("`codecs[1]`: codec `crc32c`"));
}

/// Tests V3-CODEC-05.
#[test]
fn the_core_codecs_are_registered() {
    let context = stored(&json!({})).context;
    for name in ["blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose"] {
        assert!(
            context.registry().codecs().find(Format::V3, name, &Reading::new(Mode::Strict)).is_ok(),
            "{name}"
        );
    }
}

/// Tests V3-CODEC-06.
#[test]
fn a_partial_read_equals_that_part_of_the_whole_chunk() {
    let elements: Vec<u16> = (0..64).collect();
    let shard = json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 4], "codecs": [little(), gzip()], "index_codecs": [little(), "crc32c"],
    }});
    for codecs in [
        json!([little()]),
        json!([little(), gzip()]),
        json!([shard]),
        json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, little()]),
    ] {
        let members = json!({"shape": [8, 8], "data_type": "uint16", "chunk_grid": chunks_of(&[8, 8]), "codecs": codecs});
        let stored = stored(&members);
        let array = stored.array();
        array.write_values::<u16>(&Selection::All, &elements).unwrap();
        for (start, stop) in [(0, 1), (3, 7), (0, 8), (7, 8)] {
            let part = Selection::parse(&format!("{start}:{stop}, 1:6"), &[8, 8]).unwrap();
            let wanted: Vec<u16> =
                (start..stop).flat_map(|row| (1..6).map(move |column| 8 * row + column)).collect();
            assert_eq!(array.read_values::<u16>(&part).unwrap(), wanted, "{codecs}");
        }
    }
}

/// Tests V3-CODEC-07.
#[test]
fn the_encoded_size_is_known_unless_it_depends_on_the_elements() {
    let size = |codecs: Value| {
        let members = json!({"shape": [4, 6], "chunk_grid": chunks_of(&[2, 3]), "codecs": codecs});
        stored(&members).array().codecs().encoded_size()
    };
    assert_eq!(size(json!([little()])), Size::Exact(24));
    assert_eq!(size(json!([little(), "crc32c"])), Size::Exact(28));
    assert_eq!(
        size(json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, little()])),
        Size::Exact(24)
    );
    assert!(!matches!(size(json!([little(), gzip()])), Size::Exact(_)));
}

/// Tests V3-CODEC-08.
#[test]
fn the_default_chain_of_zarr_python_is_read_and_written() {
    let zstd = json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}});
    let members =
        json!({"shape": [2], "codecs": [little(), zstd], "storage_transformers": [], "attributes": {}});
    let stored = stored(&members).strictly();
    stored.array().write_values::<i32>(&Selection::All, &[1, 2]).unwrap();
    assert!(stored.value("c/0").starts_with("28 b5 2f fd"), "{}", stored.value("c/0"));
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2]);
    // A frame with a checksum, which the document does not mention.
    stored.set("c/0", hex("28b52ffd2408410000 01000000 02000000 3a18e41e"));
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2]);
    stored.set("c/0", hex("28b52ffd2408410000 01000000 02000000 3a18e41f"));
    assert!(reading_fails(&stored.array()).contains("codec `zstd`"));
}
