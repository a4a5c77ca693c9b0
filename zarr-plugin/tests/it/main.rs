//! The rules of the plugin ABI, each of them a test. Plugins are built here as a third party would: in a folder
//! of their own, by cargo or the system's C compiler.

#![cfg(all(feature = "host", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod bad;
mod built;
mod files;
mod header;
mod kinds;
mod loaded;
mod needs;
mod panics;
mod stores;
mod table;
mod trust;
mod v1_0;
mod versions;
