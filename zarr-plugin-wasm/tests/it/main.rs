//! Modules that do what they should, and modules that do not.
#![cfg(all(target_os = "linux", target_endian = "little"))]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod hostile;
mod kinds;

#[global_allocator]
static ALLOCATOR: zarr_conformance::suite::CountingAllocator = zarr_conformance::suite::CountingAllocator;
