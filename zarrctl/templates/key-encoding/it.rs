//! `{{name}}` on known keys.

use zarr_conformance::creation;
use zarr_spec::{Format, Mode, Reading, Registry};
use {{crate}} as _;

#[test]
fn keys_are_a_letter_and_the_chunk_index() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_key_encodings().find(Format::V3, "{{name}}", &reading).unwrap();
    let made = creation(Format::V3, "{{name}}", "", Mode::Strict, |it| (plugin.create)(it));
    let encoding = made.unwrap();
    for (index, expected) in [(&[1, 23, 45][..], "k1-23-45"), (&[0], "k0"), (&[], "k")] {
        let mut key = String::new();
        encoding.encode(index, &mut key);
        assert_eq!(key, expected);
        assert_eq!(encoding.decode(&key, index.len()).unwrap().unwrap(), index);
    }
    for wrong in ["1-2", "k1", "k1-2-3", "k1-", "k01-2", "k1/2"] {
        assert_eq!(encoding.decode(wrong, 2).unwrap(), None, "{wrong}");
    }
}
