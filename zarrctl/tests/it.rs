//! The program, run as users run it.
#![expect(clippy::unwrap_used, reason = "a failed setup is a failed test")]

#[path = "it/support.rs"]
mod support;

#[path = "it/all_at_once.rs"]
mod all_at_once;
#[path = "it/archive.rs"]
mod archive;
#[path = "it/bench.rs"]
mod bench;
#[path = "it/change.rs"]
mod change;
#[path = "it/completions.rs"]
mod completions;
#[path = "it/conditions.rs"]
mod conditions;
#[path = "it/conformance.rs"]
mod conformance;
#[path = "it/conventions.rs"]
mod conventions;
#[path = "it/converting.rs"]
mod converting;
#[path = "it/copy_parts.rs"]
mod copy_parts;
#[cfg(target_os = "linux")]
#[path = "it/copy_runs.rs"]
mod copy_runs;
#[path = "it/copying.rs"]
mod copying;
#[cfg(target_os = "linux")]
#[path = "it/durable.rs"]
mod durable;
#[path = "it/fallback.rs"]
mod fallback;
#[path = "it/forms.rs"]
mod forms;
#[cfg(target_os = "linux")]
#[path = "it/guide.rs"]
mod guide;
#[path = "it/help.rs"]
mod help;
#[path = "it/info.rs"]
mod info;
#[path = "it/inputs.rs"]
mod inputs;
#[path = "it/interrupted.rs"]
mod interrupted;
#[cfg(target_os = "linux")]
#[path = "it/kills.rs"]
mod kills;
#[cfg(target_os = "linux")]
#[path = "it/large.rs"]
mod large;
#[cfg(target_os = "linux")]
#[path = "it/loaded.rs"]
mod loaded;
#[path = "it/looking.rs"]
mod looking;
#[path = "it/manners.rs"]
mod manners;
#[path = "it/memory.rs"]
mod memory;
#[path = "it/messages.rs"]
mod messages;
#[path = "it/n5.rs"]
mod n5;
#[path = "it/names.rs"]
mod names;
#[path = "it/new.rs"]
mod new;
#[path = "it/numpy.rs"]
mod numpy;
#[path = "it/packing.rs"]
mod packing;
#[path = "it/padded.rs"]
mod padded;
#[path = "it/printable.rs"]
mod printable;
#[cfg(target_os = "linux")]
#[path = "it/probed.rs"]
mod probed;
#[path = "it/rechunking.rs"]
mod rechunking;
#[path = "it/replaced.rs"]
mod replaced;
#[path = "it/serving.rs"]
mod serving;
#[path = "it/showing.rs"]
mod showing;
#[path = "it/slabs.rs"]
mod slabs;
#[cfg(target_os = "linux")]
#[path = "it/snapshots.rs"]
mod snapshots;
#[cfg(target_os = "linux")]
#[path = "../../zarr-plugin/tests/it/table.rs"]
mod table;
#[path = "it/usage.rs"]
mod usage;
#[cfg(all(target_os = "linux", feature = "dynamic"))]
#[path = "it/webassembly.rs"]
mod webassembly;
