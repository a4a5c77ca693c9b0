//! `{{name}}` on known values.

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_conformance::stores::MinimalStore;
use zarr_spec::store::{Capabilities, Store, get_value};
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{Format, Key, Mode, Prefix, Reading, Registry};
use {{crate}} as _;

#[test]
fn values_of_the_array_are_combined_with_the_key() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.storage_transformers().find(Format::V3Draft, "{{uri}}", &reading).unwrap();
    let made = creation(Format::V3Draft, "{{uri}}", r#"{"key": 255}"#, Mode::Strict, |it| {
        (plugin.create)(it, &[4])
    });
    let StorageTransformer::Wrap(transformer) = made.unwrap() else { panic!("expected a wrapper") };
    let next: Arc<dyn Store> = Arc::new(MinimalStore::new(Capabilities::ALL));
    let store = transformer.wrap(Arc::clone(&next), &Prefix::new("a/").unwrap());
    for (key, stored) in [("a/c/0", [254, 253]), ("b/c/0", [1, 2])] {
        let key = Key::new(key).unwrap();
        store.set(&key, b"\x01\x02".into()).unwrap();
        assert_eq!(get_value(&*next, &key, 10).unwrap().unwrap(), stored[..]);
        assert_eq!(get_value(&*store, &key, 10).unwrap().unwrap(), [1, 2][..]);
    }
}
