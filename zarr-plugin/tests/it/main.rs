//! Tests of the rules of the plugin ABI. They build plugins as a third party would: in a separate folder, with cargo or
//! the C compiler of the system.

#![cfg(all(feature = "host", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod bad;
mod built;
mod files;
mod header;
mod kinds;
mod loaded;
mod messages;
mod needs;
mod panics;
mod stores;
mod table;
mod trust;
mod v1_0;
mod versions;
