//! Stores and arrays in memory, with all linked plugins.

use std::sync::Arc;

use zarr_kit::spec::store::Store;
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Registry, open_store};

/// Returns an empty store.
///
/// # Panics
///
/// If two plugins conflict.
#[must_use]
#[expect(clippy::expect_used, reason = "the test must fail")]
pub fn memory() -> Arc<dyn Store> {
    let registry = Registry::linked().expect("plugins of different names");
    open_store(&registry, "memory:").expect("a store")
}

/// Creates a hierarchy with the array `/a`.
///
/// # Panics
///
/// If it cannot be created.
#[must_use]
#[expect(clippy::expect_used, reason = "the test must fail")]
pub fn created(format: Format, builder: &ArrayBuilder) -> Array {
    let context = Context::linked().expect("plugins of different names");
    let hierarchy = Hierarchy::create(memory(), &context, format).expect("a hierarchy");
    hierarchy.create_array("/a", builder).expect("an array")
}
