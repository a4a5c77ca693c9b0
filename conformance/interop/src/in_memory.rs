//! Stores and arrays in memory, made with all plugins that are linked.

use std::sync::Arc;

use zarr_kit::spec::store::Store;
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Registry, open_store};

/// A store with nothing in it.
///
/// # Panics
///
/// If plugins do not get along.
#[must_use]
#[expect(clippy::expect_used, reason = "a test cannot go on")]
pub fn memory() -> Arc<dyn Store> {
    let registry = Registry::linked().expect("plugins of different names");
    open_store(&registry, "memory:").expect("a store")
}

/// The array `/a`, the only one of a new hierarchy.
///
/// # Panics
///
/// If it cannot be created.
#[must_use]
#[expect(clippy::expect_used, reason = "a test cannot go on")]
pub fn created(format: Format, builder: &ArrayBuilder) -> Array {
    let context = Context::linked().expect("plugins of different names");
    let hierarchy = Hierarchy::create(memory(), &context, format).expect("a hierarchy");
    hierarchy.create_array("/a", builder).expect("an array")
}
