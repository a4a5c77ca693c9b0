//! Stores as values. [`open_store`](crate::open_store) opens them by location.
//!
//! ```
//! # #[cfg(feature = "store-memory")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use zarr_kit::stores::MemoryStore;
//! use zarr_kit::{Context, Format, Hierarchy};
//!
//! let hierarchy = Hierarchy::create(Arc::new(MemoryStore::new()), &Context::linked()?, Format::V3)?;
//! hierarchy.create_group("/", [("title", "example")])?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "store-memory"))]
//! # fn main() {}
//! ```

#[cfg(feature = "store-filesystem")]
pub use zarr_store_filesystem::{Durability, FilesystemStore, Locking};
#[cfg(feature = "store-lmdb")]
pub use zarr_store_lmdb::{LmdbDatabase, LmdbStore, Options as LmdbOptions};
#[cfg(feature = "store-memory")]
pub use zarr_store_memory::MemoryStore;
#[cfg(feature = "store-n5")]
pub use zarr_store_n5::N5Store;
#[cfg(feature = "store-object-store")]
pub use zarr_store_object_store::{
    Credential, Credentials, RemoteStore, object_store, open_with_credentials,
};
#[cfg(feature = "store-overlay")]
pub use zarr_store_overlay::OverlayStore;
#[cfg(feature = "store-redb")]
pub use zarr_store_redb::{RedbDatabase, RedbStore};
#[cfg(feature = "store-reference")]
pub use zarr_store_reference::ReferenceStore;
#[cfg(feature = "store-zip")]
pub use zarr_store_zip::{LocalZipStore, Packed, StoredZipStore, ZipStore, pack};
#[cfg(feature = "transformer-cache")]
pub use zarr_transformer_cache::CacheStore;
#[cfg(feature = "transformer-prefix")]
pub use zarr_transformer_prefix::PrefixStore;
#[cfg(feature = "transformer-read-only")]
pub use zarr_transformer_read_only::ReadOnlyStore;
#[cfg(feature = "transformer-statistics")]
pub use zarr_transformer_statistics::{Statistics, StatisticsStore};
