//! `{{name}}` on a known document.

use zarr_conformance::creation;
use zarr_spec::{Format, Mode, Reading, Registry};
use {{crate}} as _;

#[test]
fn documents_are_json_after_a_first_line() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.metadata_encodings().find(Format::V3Draft, "{{uri}}", &reading).unwrap();
    let made = creation(Format::V3Draft, "{{uri}}", "", Mode::Strict, |it| (plugin.create)(it));
    let encoding = made.unwrap();
    let document = encoding.decode(b"# Zarr metadata\n{\"a\": 1}", &reading).unwrap();
    assert_eq!(document.to_string(), r#"{"a":1}"#);
    let encoded = encoding.encode(&document).unwrap();
    assert!(encoded.starts_with(b"# Zarr metadata\n{"));
    assert_eq!(encoding.decode(&encoded, &reading).unwrap(), document);
    assert!(encoding.decode(b"{\"a\": 1}", &reading).is_err());
}
