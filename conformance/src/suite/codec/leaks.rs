//! The rules about memory leaks.

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
        sentence: "Creating and dropping codecs does not leak memory.",
        source: "`CodecPlugin::create`; `destroy` of the C ABI",
        since: "0.1",
    },
    leaks,
)];

/// The number of codecs to create before the first measurement, which completes one-time setup.
const FIRST: usize = 16;

/// The number of codecs to create between the measurements.
const MORE: usize = 64;

/// The number of bytes by which the address space may grow between the measurements: allocators request more memory
/// than they need.
const ALLOWED: u64 = 4 << 20;

fn leaks(trial: &CodecOnTrial, cases: &mut Cases) {
    // If this process checks several rules at a time, other threads also allocate, and the growth cannot be attributed
    // to this codec.
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
                format!("creating and dropping {MORE} codecs leaked {more} bytes of address space")
            }),
            Err(error) => cases.lack(error),
        }
    }
}
