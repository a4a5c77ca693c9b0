//! `{{name}}`, opened from its description.

use zarr_spec::store::{get_value, open_described};
use zarr_spec::{Key, Registry, json};
use {{crate}} as _;

#[test]
fn a_value_exists_until_it_is_erased() {
    let registry = Registry::linked().unwrap();
    let store = open_described(&registry, &json!({"type": "{{name}}"})).unwrap();
    let key = Key::new("a/b").unwrap();
    store.set(&key, b"value".into()).unwrap();
    assert_eq!(get_value(&*store, &key, 10).unwrap().unwrap(), b"value"[..]);
    assert_eq!(store.size(&key).unwrap(), Some(5));
    store.erase(&key).unwrap();
    assert_eq!(get_value(&*store, &key, 10).unwrap(), None);
}
