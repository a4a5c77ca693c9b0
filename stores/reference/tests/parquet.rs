//! References in Parquet files that pyarrow 26.0.1 wrote, and damaged ones. `conformance/interop` reads files of
//! kerchunk.
//!
//! All files in `parquet/` have the same table: a part of `a`, bytes, the whole file `d/b`, the whole file `a`, a part
//! of `a`, and nothing.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::stores::around::{filled, key, value};
use zarr_spec::store::{Request, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Prefix};
use zarr_store_reference::ReferenceStore;

const PLAIN: &[u8] = include_bytes!("parquet/plain.parq");
const SNAPPY: &[u8] = include_bytes!("parquet/snappy.parq");
const GZIP_V2: &[u8] = include_bytes!("parquet/gzip-v2.parq");
const ZSTD_V2: &[u8] = include_bytes!("parquet/zstd-v2.parq");
const GROUPS: &[u8] = include_bytes!("parquet/groups.parq");
const BROTLI: &[u8] = include_bytes!("parquet/brotli.parq");
const DELTA: &[u8] = include_bytes!("parquet/delta.parq");

/// An array of 2 times 3 chunks, whose references are in one file.
const METADATA: &str = r#"{"record_size": 6, "metadata": {".zgroup": {"zarr_format": 2},
    "x/y/.zarray": {"shape": [4, 5], "chunks": [2, 2], "zarr_format": 2}}}"#;

/// Opens references to the values of the store `filled`: `a` is `0123456789`, `d/b` is `22`.
fn opened(metadata: &str, file: &[u8]) -> Result<ReferenceStore, StoreError> {
    let store = filled();
    store.set(&key("r/.zmetadata"), metadata.as_bytes().into()).unwrap();
    store.set(&key("r/x/y/refs.0.parq"), file.into()).unwrap();
    ReferenceStore::open(store, &key("r"), Vec::new())
}

fn refused(file: &[u8]) -> String {
    get_value(&opened(METADATA, file).unwrap(), &key("x/y/0.0"), 100).unwrap_err().to_string()
}

#[test]
fn files_of_pyarrow_are_read() {
    for (name, file) in
        [("plain", PLAIN), ("snappy", SNAPPY), ("gzip", GZIP_V2), ("zstd", ZSTD_V2), ("groups", GROUPS)]
    {
        let store = opened(METADATA, file).unwrap();
        let at = |name: &str| value(&store, name);
        let expected = [("0.0", "2345"), ("0.1", "raw"), ("0.2", "22"), ("1.0", "0123456789"), ("1.1", "9")];
        for (chunk, bytes) in expected {
            let chunk = format!("x/y/{chunk}");
            assert_eq!(at(&chunk).unwrap(), bytes.as_bytes(), "{name}: {chunk}");
            assert_eq!(store.size(&key(&chunk)).unwrap(), Some(bytes.len() as u64), "{name}: {chunk}");
            let requests = vec![Request::new(key(&chunk), ByteRange::Last(1), 10)];
            let response = store.get_many(requests, 100).next().unwrap().1.unwrap().unwrap();
            assert_eq!(response.bytes, bytes.as_bytes()[bytes.len() - 1..], "{name}: {chunk}");
        }
        assert_eq!((at("x/y/1.2"), at("x/y/2.0"), at("x/0.0"), at("0.0")), (None, None, None, None));
        assert_eq!(at(".zgroup").unwrap(), br#"{"zarr_format":2}"#);
        assert_eq!((&store as &dyn Store).list().unwrap().len(), 7);
        let listed = |prefix: &str| store.list_dir(&Prefix::new(prefix).unwrap()).unwrap();
        assert_eq!((listed("").keys.len(), listed("").prefixes.len(), listed("x/y/").keys.len()), (1, 1, 6));
        assert!(listed("x/y/0/").keys.is_empty() && listed("z/").prefixes.is_empty());
    }
}

#[test]
fn other_compressions_and_encodings_are_named() {
    let brotli = refused(BROTLI);
    assert!(brotli.contains("column `path`: it is compressed with brotli; expected zstd"), "{brotli}");
    let delta = refused(DELTA);
    assert!(delta.contains("column `offset`: its values have encoding 5; expected plain values"), "{delta}");
}

#[test]
fn damaged_files_are_errors() {
    for (file, reason) in
        [(&b""[..], "not a Parquet file"), (b"PAR1PAR1", "not a Parquet file"), (b"{}", "not a Parquet")]
    {
        let refused = refused(file);
        assert!(refused.contains("r/x/y/refs.0.parq") && refused.contains(reason), "{refused}");
    }
    for file in [PLAIN, SNAPPY, GZIP_V2, ZSTD_V2, GROUPS] {
        for end in 0..file.len() {
            assert!(refused(&file[..end]).contains("is not a valid file of references"), "{end}");
        }
        // A changed byte may change a value. It must not lead to a panic.
        for place in 0..file.len() {
            for byte in [0, 1, 0x7f, 0xff, file[place] ^ 1] {
                let mut damaged = file.to_vec();
                damaged[place] = byte;
                let store = opened(METADATA, &damaged).unwrap();
                drop(get_value(&store, &key("x/y/0.0"), 100));
            }
        }
    }
    let few = METADATA.replace("\"record_size\": 6", "\"record_size\": 7").replace("[4, 5]", "[4, 7]");
    let store = opened(&few, PLAIN).unwrap();
    let short = get_value(&store, &key("x/y/1.2"), 100).unwrap_err().to_string();
    assert!(short.contains("has only 6 references"), "{short}");
}

#[test]
fn damaged_metadata_are_refused() {
    for (metadata, reason) in [
        ("", "`.zmetadata`: "),
        ("[]", "`.zmetadata` is not an object"),
        (r#"{"metadata": {}}"#, "does not have a `record_size`"),
        (r#"{"metadata": {}, "record_size": 0}"#, "not an integer from 1"),
        (r#"{"metadata": {}, "record_size": 1e99}"#, "not an integer from 1"),
        (r#"{"metadata": [], "record_size": 1}"#, "`metadata` is missing or not an object"),
        (r#"{"metadata": {"../x": 1}, "record_size": 1}"#, "document `../x`"),
    ] {
        let refused = opened(metadata, PLAIN).unwrap_err().to_string();
        assert!(
            refused.contains("is not a valid reference file") && refused.contains(reason),
            "{metadata}: {refused}"
        );
    }
    // Opening these arrays returns the reason.
    for array in [
        r#"{"shape": [4], "chunks": [0]}"#,
        r#"{"shape": [4], "chunks": [2, 2]}"#,
        r#"{"shape": [18446744073709551615, 18446744073709551615], "chunks": [1, 1]}"#,
        r#"{"shape": "x"}"#,
        "7",
    ] {
        let metadata = format!(r#"{{"record_size": 1, "metadata": {{"x/y/.zarray": {array}}}}}"#);
        let store = opened(&metadata, PLAIN).unwrap();
        assert_eq!((value(&store, "x/y/0.0"), (&store as &dyn Store).list().unwrap().len()), (None, 1));
    }
    let scalar = r#"{"record_size": 6, "metadata": {"x/y/.zarray": {"shape": [], "chunks": []}}}"#;
    assert_eq!(value(&opened(scalar, PLAIN).unwrap(), "x/y/0").unwrap(), b"2345");
    let nested = METADATA.replace("\"zarr_format\": 2}}}", "\"dimension_separator\": \"/\"}}}");
    let store = opened(&nested, PLAIN).unwrap();
    assert_eq!((value(&store, "x/y/1/0").unwrap(), value(&store, "x/y/1.0")), (b"0123456789".to_vec(), None));
    assert_eq!(store.list_dir(&Prefix::new("x/y/").unwrap()).unwrap().prefixes.len(), 2);
}
