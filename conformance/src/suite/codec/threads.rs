//! The rules about several threads that use one codec.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::large::large_uses;
use super::robustness::{encoded_samples, largest};
use super::round_trips::same_bytes;
use super::{CodecOnTrial, CodecRule, Use};
use crate::suite::attempt::{Attempt, is_thorough, record};
use crate::suite::elements::Sample;
use crate::suite::{Cases, Level, Rule, panic_text};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-threads",
        level: Level::L2,
        sentence: "Eight threads that use one codec in parallel get the same results as one thread.",
        source: "`Codec` is `Send` and `Sync`",
        since: "0.1",
    },
    threads,
)];

const THREADS: usize = 8;

/// The minimum number of rounds. All threads start a round together. More rounds follow while there is time, because
/// short calls rarely overlap.
const ROUNDS: usize = 2;

/// Returns the maximum duration of the race for one use of a codec, unless [`ROUNDS`] take longer.
fn time() -> Duration {
    Duration::from_millis(if is_thorough() { 500 } else { 5 })
}

fn threads(trial: &CodecOnTrial, cases: &mut Cases) {
    let mut uses = largest(trial, cases);
    if is_thorough() && !trial.decodes_only() {
        uses.extend(large_uses(trial, cases).into_iter().take(1));
    }
    for used in uses {
        let work = Work::of(&used);
        if !work.is_empty() {
            record(|| format!("using {used} from {THREADS} threads"));
            cases.check(&used, raced(&used, &work));
        }
    }
}

/// Elements, their encoded form, and the result of decoding it.
struct Work {
    sample: Sample,
    encoded: Vec<u8>,
    decoded: Vec<u8>,
}

impl Work {
    fn of(used: &Use<'_>) -> Vec<Self> {
        let work = |(sample, encoded): (Sample, Vec<u8>)| {
            let decoded = used.decoded(&encoded, sample.bytes.len()).ok()?;
            Some(Self { sample, encoded, decoded })
        };
        encoded_samples(used).filter_map(work).take(3).collect()
    }

    fn is_done_by(&self, used: &Use<'_>) -> Result<(), String> {
        same_bytes(&used.encoded(&self.sample)?, &self.encoded)?;
        same_bytes(&used.decoded(&self.encoded, self.sample.bytes.len())?, &self.decoded)
    }
}

/// Runs threads that start each round together, with different elements.
fn raced(used: &Use<'_>, work: &[Work]) -> Result<(), String> {
    let barrier = Barrier::new(THREADS);
    let end = Instant::now() + time();
    // The attempts of several threads would overwrite one another.
    let attempt = Attempt { record: None, ..Attempt::current() };
    let is_over = AtomicBool::new(false);
    let race = |number: usize| {
        let mut result = Ok(());
        for round in 0.. {
            if barrier.wait().is_leader() {
                is_over.store(round >= ROUNDS && Instant::now() >= end, Ordering::Relaxed);
            }
            barrier.wait();
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let one = work[(number + round) % work.len()].is_done_by(used);
            result = result.and(one.map_err(|what| format!("round {round}: {what}")));
        }
        result
    };
    thread::scope(|scope| {
        let spawn = |number| {
            let attempt = attempt.clone();
            scope.spawn(move || attempt.run(|| race(number)))
        };
        let threads: Vec<_> = (0..THREADS).map(spawn).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|panic| panic_text(&*panic))?)
    })
}
