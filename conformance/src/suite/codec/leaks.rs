//! Memory that codecs leave behind.

use std::hint::black_box;

use zarr_spec::{Mode, Reading};

use super::{CodecOnTrial, CodecRule};
use crate::suite::attempt::is_recorded;
use crate::suite::isolation::address_space;
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-leaks",
        level: Level::L2,
        sentence: "Codecs that were created and dropped leave no memory behind.",
        source: "`CodecPlugin::create`; `destroy` of the C ABI",
        since: "0.1",
    },
    leaks,
)];

/// Codecs that are created before memory is measured: what is set up once is there then.
const FIRST: usize = 16;

/// Codecs that are created after that.
const MORE: usize = 64;

/// Bytes that all of them together may leave behind: allocators ask the system for more than they need.
const ALLOWED: u64 = 4 << 20;

fn leaks(trial: &CodecOnTrial, cases: &mut Cases) {
    // Other threads of this process allocate as well.
    if !is_recorded() || !cfg!(target_os = "linux") {
        cases.skip("memory is measured on Linux, in processes that check one rule at a time");
        return;
    }
    for example in trial.examples() {
        let (Ok(document), arrays) = (trial.document(example), trial.arrays(example, cases)) else {
            continue;
        };
        let Some(array) = arrays.into_iter().next_back() else { continue };
        let create = || {
            let created = trial.create(example, &document, &array, &Reading::new(Mode::Strict));
            drop(black_box(created));
        };
        (0..FIRST).for_each(|_| create());
        let before = address_space();
        (0..MORE).for_each(|_| create());
        match before.and_then(|before| Ok(address_space()?.0.saturating_sub(before.0))) {
            Ok(more) => cases.holds(example.document, more <= ALLOWED, || {
                format!(
                    "{MORE} codecs that were created and dropped left {more} bytes of address space behind"
                )
            }),
            Err(error) => cases.lack(error),
        }
    }
}
