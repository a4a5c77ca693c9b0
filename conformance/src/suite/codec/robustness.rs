//! The rules about damaged and hostile input.

use std::collections::BTreeSet;

use zarr_spec::{Codec, CodecError};

use super::hostile::Hostile;
use super::round_trips::same_bytes;
use super::{Answer, CodecOnTrial, CodecRule, DECODES_ONLY, Use};
use crate::codecs::Random;
use crate::suite::allocations;
use crate::suite::elements::{Sample, noise};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-truncated",
            level: Level::L2,
            sentence: "Encoded bytes that are truncated anywhere are corrupt or too large, or decode to fewer bytes than the \
                       whole.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        truncated,
    ),
    (
        Rule {
            id: "codec-damaged",
            level: Level::L2,
            sentence: "Damaged bytes are corrupt or too large, or decode to at most the size of the chunk, and never cause a panic.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        damaged,
    ),
    (
        Rule {
            id: "codec-foreign",
            level: Level::L2,
            sentence: "Foreign bytes and empty input are corrupt, or decode to at most the size of the chunk.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        foreign,
    ),
    (
        Rule {
            id: "codec-limit",
            level: Level::L2,
            sentence: "An output that is one byte too small causes an error, and nothing is written past its end.",
            source: "`CodecError::TooLarge`",
            since: "0.1",
        },
        limit,
    ),
    (
        Rule {
            id: "codec-deterministic",
            level: Level::L2,
            sentence: "Equal elements encode to equal bytes, regardless of earlier calls and their errors.",
            source: "`Pool`: the state that a codec keeps between calls does not affect results",
            since: "0.1",
        },
        deterministic,
    ),
    (
        Rule {
            id: "codec-checksum",
            level: Level::L2,
            sentence: "A checksum detects every flipped bit, and overwrites all bytes of its memory.",
            source: "`zarr_spec::codec::Checksum`",
            since: "0.1",
        },
        checksum,
    ),
    (
        Rule {
            id: "codec-allocation",
            level: Level::L2,
            sentence: "Decoding damaged and foreign bytes allocates at most the size of the chunk and 64 MiB, on the \
                       decoding thread and in a separate process with limited address space.",
            source: "No size from outside is trusted: ARCHITECTURE.md, \"Invariants\"",
            since: "0.1",
        },
        allocation,
    ),
    (
        Rule {
            id: "codec-claims",
            level: Level::L2,
            sentence: "If nothing declares a size, decoding damaged and foreign bytes allocates at most the size of the input, \
                       three times the size of the chunk or of the actual output, and 64 MiB, whatever sizes the input claims.",
            source: "docs/promises.md, \"Memory of one chunk\"",
            since: "0.1",
        },
        claims,
    ),
];

/// The memory that decoding may use in addition to its output, in bytes: for windows and tables.
pub(super) const WORKING_MEMORY: usize = 64 << 20;

/// The maximum number of positions in the encoded bytes to damage.
pub(super) const PLACES: usize = 32;

/// Returns the use with the largest chunk of each example. One chunk suffices, because damage affects all chunks alike.
pub(super) fn largest(trial: &CodecOnTrial, cases: &mut Cases) -> Vec<Use<'static>> {
    let mut uses = trial.computing(cases);
    uses.reverse();
    uses.dedup_by(|one, other| std::ptr::eq(one.example, other.example));
    uses
}

/// Encoded chunks of at most this number of bytes are tested with every truncation.
const ALL_PLACES: usize = 256;

/// Returns the encoded form of each sample. Samples that fail to encode break another rule.
pub(super) fn encoded_samples<'u>(used: &'u Use<'_>) -> impl Iterator<Item = (Sample, Vec<u8>)> + 'u {
    used.samples().into_iter().filter_map(|sample| {
        let encoded = used.encoded(&sample).ok()?;
        Some((sample, encoded))
    })
}

/// Checks the result of decoding invalid bytes.
fn harmless(answer: Answer, limit: usize) -> Result<(), String> {
    match answer {
        Ok(Ok(bytes)) if bytes.len() > limit => {
            Err(format!("{} bytes were decoded, although the limit is {limit}", bytes.len()))
        }
        Ok(Ok(_) | Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))) => Ok(()),
        Ok(Err(error)) => Err(format!("expected a `Corrupt` or `TooLarge` error, got {error:?}")),
        Err(panic) => Err(panic),
    }
}

/// Checks truncated input. If it is a valid stream of fewer bytes, the codec cannot know that bytes are missing, and
/// the engine refuses the chunk because of its size. If it decodes to the right size, the engine cannot know that some
/// elements were never stored, so the codec must refuse it.
fn truncated(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        for (sample, encoded) in encoded_samples(&used) {
            let Ok(whole) = used.decoded(&encoded, usize::MAX) else { continue };
            let result = beginnings(encoded.len()).into_iter().try_for_each(|size| {
                shorter(used.decode(&encoded[..size], whole.len()), whole.len())
                    .map_err(|what| format!("truncated to {size} of {} bytes: {what}", encoded.len()))
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

/// Returns the sizes to which `size` bytes are truncated. For short input these are all sizes. For long input they
/// are the sizes near both ends, where headers, trailers and padding are, and some in between.
fn beginnings(size: usize) -> BTreeSet<usize> {
    if size <= ALL_PLACES {
        return (0..size).collect();
    }
    let mut random = Random::default();
    let between = (0..PLACES).map(|_| random.below(size));
    (0..PLACES).chain(size - PLACES..size).chain(between).collect()
}

/// Checks that the start of a stream of `whole` decoded bytes causes an error or decodes to fewer bytes.
fn shorter(answer: Answer, whole: usize) -> Result<(), String> {
    match answer {
        // An empty chunk has no elements that could be wrong.
        Ok(Ok(bytes)) if bytes.len() >= whole && whole > 0 => {
            Err(format!("{} bytes were decoded, as from the whole input", bytes.len()))
        }
        answer => harmless(answer, whole),
    }
}

fn damaged(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        for (sample, encoded) in encoded_samples(&used) {
            let limit = sample.bytes.len();
            let mut random = Random::default();
            let result = (0..PLACES).try_for_each(|round| {
                let mut bytes = encoded.clone();
                (0..=round % 3).for_each(|_| random.damage(&mut bytes));
                harmless(used.decode(&bytes, limit), limit)
                    .map_err(|what| format!("damaged in round {round}: {what}"))
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn foreign(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        let limit = used.array.size().limit().and_then(|size| usize::try_from(size).ok()).unwrap_or(1 << 16);
        let all = [0, 1, 3, 8, 64, 1000].map(noise).into_iter();
        let all = all.chain([0x00, 0x7f, 0xff].map(|byte| vec![byte; 64]));
        let result = all.into_iter().try_for_each(|bytes| {
            harmless(used.decode(&bytes, limit), limit).map_err(|what| {
                let start = &bytes[..bytes.len().min(8)];
                format!("{} bytes starting with {start:02x?}: {what}", bytes.len())
            })
        });
        cases.check(&used, result);
    }
}

fn limit(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        for (sample, encoded) in encoded_samples(&used) {
            // The decoded bytes of a lossy codec may have another size than the sample.
            let decoded = used.decoded(&encoded, usize::MAX).map_or(0, |decoded| decoded.len());
            let Some(short) = decoded.checked_sub(1) else { continue };
            let result = match used.decode(&encoded, short) {
                Ok(Ok(bytes)) => {
                    Err(format!("an output of {} bytes for {} causes no error", bytes.len(), short + 1))
                }
                Ok(Err(CodecError::TooLarge(_) | CodecError::Corrupt(_))) => Ok(()),
                Ok(Err(error)) => Err(format!("unexpected error {error:?}")),
                Err(panic) => Err(panic),
            };
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn deterministic(trial: &CodecOnTrial, cases: &mut Cases) {
    if trial.decodes_only() {
        cases.skip(DECODES_ONLY);
        return;
    }
    for used in largest(trial, cases) {
        let all: Vec<_> = encoded_samples(&used).collect();
        for (sample, encoded) in &all {
            // A truncated stream must not affect later calls.
            let _cut = used.decode(&encoded[..encoded.len() / 2], sample.bytes.len());
        }
        for (sample, encoded) in &all {
            let result = used.encoded(sample).and_then(|again| same_bytes(&again, encoded));
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn checksum(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.uses(cases) {
        let Codec::Checksum(checksum) = &used.codec else {
            cases.skip("the codec is not a checksum");
            continue;
        };
        for size in [0, 1, 4, 9, 64] {
            let bytes = noise(size);
            let mut written = [vec![0x00; checksum.size()], vec![0xff; checksum.size()]];
            let computed = written.iter_mut().try_for_each(|written| checksum.checksum(&bytes, written));
            if let Err(error) = computed {
                cases.check(&used, Err(error.to_string()));
                continue;
            }
            let is_whole = written[0] == written[1];
            cases.holds(format!("{used}, {size} bytes"), is_whole, || {
                "the checksum does not overwrite all bytes of its memory".to_owned()
            });
            let Ok(Ok(stored)) = used.encode(&bytes) else { continue };
            let missed = (0..stored.len() * 8).find(|bit| {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                !matches!(used.decode(&flipped, size), Ok(Err(CodecError::Corrupt(_))))
            });
            cases.holds(format!("{used}, {size} bytes"), missed.is_none(), || {
                format!("flipping bit {missed:?} of the stored bytes is not detected")
            });
        }
    }
}

/// Checks the allocations of the decoding thread with this program's allocator. A separate process covers other
/// memory: see [`Again`](crate::suite::Again).
fn allocation(trial: &CodecOnTrial, cases: &mut Cases) {
    if allocations::highest(|| ()).is_none() {
        cases.skip("this program does not count allocations");
        return;
    }
    for hostile in Hostile::all(trial, cases) {
        let result = hostile.inputs().iter().try_for_each(|input| {
            let highest = allocations::highest(|| hostile.decode(input)).unwrap_or_default();
            if highest <= hostile.allowed() {
                return Ok(());
            }
            Err(format!("{highest} bytes were allocated for {input}"))
        });
        cases.check(&hostile, result);
    }
}

fn claims(trial: &CodecOnTrial, cases: &mut Cases) {
    if allocations::highest(|| ()).is_none() {
        cases.skip("this program does not count allocations");
        return;
    }
    for hostile in Hostile::all(trial, cases) {
        let result = hostile.undeclared_inputs().try_for_each(|input| {
            let mut written = 0;
            let highest = allocations::highest(|| written = hostile.decode_undeclared(input));
            let highest = highest.unwrap_or_default();
            let allowed = hostile.allowed_undeclared(input, written);
            if highest <= allowed {
                return Ok(());
            }
            Err(format!("{highest} bytes were allocated for {input}, the limit is {allowed}"))
        });
        cases.check(&hostile, result);
    }
}
