//! References of kerchunk to text and structures in an HDF5 file.
//!
//! kerchunk 0.2.7 with h5py 3.16 and zarr-python 2.18.7 wrote the files in `tests/kerchunk`, with `vlen_encode` `encode`
//! and `null`; `members.json` has its codec `record_member` on the chunk of a structure. The expected elements are those
//! that zarr-python 2.18.7 reads through kerchunk's codecs.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::path::Path;

use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

fn array(references: &str, path: &str) -> Result<Array, zarr_kit::Error> {
    let context = Context::linked().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kerchunk").join(references);
    let store = open_store(context.registry(), &format!("reference:{}", file.display()))?;
    Hierarchy::open(store, &context)?.array(path)
}

#[test]
fn text_of_variable_length_is_read_from_the_references() {
    let text =
        |references| array(references, "/vlen").unwrap().read_values::<String>(&Selection::All).unwrap();
    assert_eq!(text("encode.json"), ["a", "Ünï", "", "a long text"]);
    // zarr-python returns None for text that kerchunk did not read.
    assert_eq!(text("null.json"), [""; 4]);
}

#[test]
fn structures_are_read_whole_and_by_field() {
    for references in ["encode.json", "null.json"] {
        let plain = array(references, "/plain").unwrap().read(&Selection::All).unwrap();
        let expected = [(1_i32, b"one\0", 1.5_f64), (2, b"two\0", 2.5)]
            .map(|(id, code, x)| [&id.to_ne_bytes()[..], code, &x.to_ne_bytes()].concat());
        assert_eq!(plain.iter().collect::<Vec<_>>(), expected);
    }
    let ids = array("members.json", "/id").unwrap().read_values::<i32>(&Selection::All).unwrap();
    assert_eq!(*ids, [1, 2]);
    let numbers = array("members.json", "/x").unwrap().read_values::<f64>(&Selection::All).unwrap();
    assert_eq!(*numbers, [1.5, 2.5]);
}

/// A structure cannot have a field of variable size.
#[test]
fn structures_with_text_of_variable_length_are_refused_by_field() {
    for references in ["encode.json", "null.json"] {
        let error = array(references, "/compound").unwrap_err().to_string();
        assert!(error.contains("field `name`"), "{error}");
    }
}
