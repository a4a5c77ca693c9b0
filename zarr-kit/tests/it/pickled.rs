//! Pickled objects of zarr-python 2: read with the feature `codec-pickle`, and refused without it.
#![expect(clippy::expect_used, reason = "test helpers may panic")]

use zarr_kit::{Context, Selection};
use zarr_kit::{Error, Hierarchy, open_store};

/// Written by zarr-python 2.18.7 with numcodecs 0.15.1 and NumPy 2.5.5: `["text", {"a": [1, 2.5]}, None]`, in chunks of
/// two items.
const DOCUMENT: &str = r#"{"chunks": [2], "compressor": null, "dimension_separator": ".", "dtype": "|O",
    "fill_value": null, "filters": [{"id": "pickle", "protocol": 5}], "order": "C", "shape": [3], "zarr_format": 2}"#;
const CHUNKS: [(&str, &str); 2] = [
    (
        "0",
        "800595a7000000000000008c166e756d70792e5f636f72652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e\
         756d7079948c076e6461727261799493944b0085944301629487945294284b014b02859468038c0564747970659493948c024f3894898887\
         945294284b038c017c944e4e4e4affffffff4affffffff4b3f749462895d94288c0474657874947d948c0161945d94284b01474004000000\
         0000006573657494622e",
    ),
    (
        "1",
        "8005958c000000000000008c166e756d70792e5f636f72652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e\
         756d7079948c076e6461727261799493944b0085944301629487945294284b014b02859468038c0564747970659493948c024f3894898887\
         945294284b038c017c944e4e4e4affffffff4affffffff4b3f749462895d94284e4e657494622e",
    ),
];

/// Returns the items as JSON.
fn read() -> Result<Vec<String>, Error> {
    let context = Context::linked().expect("no identifier is taken twice");
    let store = open_store(context.registry(), "memory:")?;
    let set = |name: &str, value: &[u8]| {
        let key = zarr_kit::spec::Key::new(name).expect("a valid key");
        store.set(&key, value.into())
    };
    set(".zarray", DOCUMENT.as_bytes())?;
    for (name, digits) in CHUNKS {
        set(name, &zarr_conformance::hex(digits))?;
    }
    let array = Hierarchy::open(store, &context)?.array("/")?;
    let elements = array.read(Selection::All)?;
    Ok(elements.iter().map(|item| String::from_utf8_lossy(item).into_owned()).collect())
}

/// Tests V2-OBJ-10.
#[test]
#[cfg(feature = "codec-pickle")]
fn items_are_read_with_the_feature() {
    assert_eq!(read().expect("the items are read"), ["\"text\"", r#"{"a":[1,2.5]}"#, "null"]);
}

/// Tests V2-OBJ-10.
#[test]
#[cfg(not(feature = "codec-pickle"))]
fn items_are_refused_without_the_feature() {
    let error = read().expect_err("the codec is missing").to_string();
    let expected = "refused for safety: reading a pickle can run arbitrary code; feature `codec-pickle` of crate \
                    `zarr-kit` reads it without running code";
    assert!(error.contains(expected), "{error}");
}
