//! `{{name}}`, opened from its description.

use zarr_spec::store::{StoreConfiguration, get_value};
use zarr_spec::{Key, json};
use {{crate}} as _;

#[test]
fn a_value_is_there_until_it_is_erased() {
    let text = br#"{"type": "{{name}}"}"#;
    let description = json::parse(text, &json::ParseOptions::default()).unwrap().value;
    let configuration: Box<dyn StoreConfiguration> = json::from_value(&description).unwrap();
    let store = configuration.open(None).unwrap();
    let key = Key::new("a/b").unwrap();
    store.set(&key, b"value".into()).unwrap();
    assert_eq!(get_value(&*store, &key, 10).unwrap().unwrap(), b"value"[..]);
    assert_eq!(store.size(&key).unwrap(), Some(5));
    store.erase(&key).unwrap();
    assert_eq!(get_value(&*store, &key, 10).unwrap(), None);
}
