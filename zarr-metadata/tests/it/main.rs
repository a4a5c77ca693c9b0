//! Metadata documents and keys of the three formats, compared with the ledgers of requirements.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod draft_array;
mod draft_entry_point;
mod draft_keys;
mod generation_a;
mod support;
mod text;
mod v2_array;
mod v2_hierarchy;
mod v3_array;
mod v3_group;
