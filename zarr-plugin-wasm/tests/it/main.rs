//! Tests with correct modules and with faulty ones.
#![cfg(all(target_os = "linux", target_endian = "little"))]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod hostile;
mod kinds;

#[global_allocator]
static ALLOCATOR: zarr_conformance::suite::CountingAllocator = zarr_conformance::suite::CountingAllocator;
