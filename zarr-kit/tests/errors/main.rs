//! The messages of public errors, each provoked by a call, in one file of `tests/snapshots` per crate.
//!
//! `UPDATE_EXPECT=1 cargo test -p zarr-kit --all-features --test errors` rewrites the files.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;

mod engine;
mod metadata;
mod plugin_kit;
mod spec;
mod stores;
mod suite;

/// Messages of errors, each after a description of the call that fails.
struct Messages {
    text: String,
    /// Returns the name of an error's kind, or `None` for an error of another crate.
    kind: fn(&(dyn Error + 'static)) -> Option<&'static str>,
    kinds: BTreeSet<&'static str>,
}

impl Messages {
    fn new(kind: fn(&(dyn Error + 'static)) -> Option<&'static str>) -> Self {
        Self { text: String::new(), kind, kinds: BTreeSet::new() }
    }

    /// Adds the message of an error, and of causes that the message does not contain. The folder of this test run is
    /// shown as `FOLDER`.
    fn add<T, E: Error + 'static>(&mut self, what: &str, result: Result<T, E>) {
        let error = result.err().unwrap_or_else(|| panic!("no error: {what}"));
        self.kinds.extend((self.kind)(&error));
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let text = next.to_string();
            if !message.contains(&text) {
                write!(message, "\n    because {text}").unwrap();
            }
            cause = next.source();
        }
        let message = message.replace(env!("CARGO_TARGET_TMPDIR"), "FOLDER");
        writeln!(self.text, "{what}\n    {message}\n").unwrap();
    }
}
