//! Tests with correct modules and with faulty ones.
#![cfg(all(target_os = "linux", target_endian = "little"))]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod hostile;
mod kinds;
mod messages;

#[global_allocator]
static ALLOCATOR: zarr_conformance::suite::CountingAllocator = zarr_conformance::suite::CountingAllocator;
