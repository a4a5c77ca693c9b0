//! Damaged and hostile input, and many callers at once.

use std::collections::BTreeSet;

use zarr_spec::{Codec, CodecError};

use super::hostile::Hostile;
use super::round_trips::same_bytes;
use super::{Answer, CodecOnTrial, CodecRule, Use};
use crate::codecs::Random;
use crate::suite::allocations;
use crate::suite::elements::{Sample, noise, samples};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-truncated",
            level: Level::L2,
            sentence: "Encoded bytes that are cut off anywhere are corrupt or too large, or decode to fewer bytes than \
                       the whole does.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        truncated,
    ),
    (
        Rule {
            id: "codec-damaged",
            level: Level::L2,
            sentence: "Damaged bytes are corrupt or too large, and never a panic or more bytes than the chunk has.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        damaged,
    ),
    (
        Rule {
            id: "codec-foreign",
            level: Level::L2,
            sentence: "Bytes that no codec wrote, or none at all, are corrupt or decode to no more than the chunk has.",
            source: "`CodecError::Corrupt`",
            since: "0.1",
        },
        foreign,
    ),
    (
        Rule {
            id: "codec-limit",
            level: Level::L2,
            sentence: "An output that is a byte too small is an error, and nothing is written past it.",
            source: "`CodecError::TooLarge`",
            since: "0.1",
        },
        limit,
    ),
    (
        Rule {
            id: "codec-deterministic",
            level: Level::L2,
            sentence: "Equal elements are encoded to equal bytes, whatever was encoded or failed to decode before.",
            source: "`Pool`: what a codec keeps from call to call does not show",
            since: "0.1",
        },
        deterministic,
    ),
    (
        Rule {
            id: "codec-checksum",
            level: Level::L2,
            sentence: "A checksum notices every bit that flips, and is written as a whole, whatever was there before.",
            source: "`zarr_spec::codec::Checksum`",
            since: "0.1",
        },
        checksum,
    ),
    (
        Rule {
            id: "codec-allocation",
            level: Level::L2,
            sentence: "Decoding damaged and foreign bytes never allocates more than the chunk has, and 64 MiB, nor does a \
                       process that has address space for that.",
            source: "No size from outside is trusted: ARCHITECTURE.md, \"Invariants\"",
            since: "0.1",
        },
        allocation,
    ),
    (
        Rule {
            id: "codec-claims",
            level: Level::L2,
            sentence: "Where nothing declares a size, decoding damaged and foreign bytes takes at most their number, three \
                       times the bytes that the chunk has or that really come out, and 64 MiB, whatever sizes they claim.",
            source: "README.md, \"Limits\"",
            since: "0.1",
        },
        claims,
    ),
];

/// Bytes that decoding may take beside what it decodes to: windows and tables of all that there is.
pub(super) const WORKING_MEMORY: usize = 64 << 20;

/// At most so many places of the encoded bytes are tried.
pub(super) const PLACES: usize = 32;

/// Of each example the use with the largest chunk: damage does the same to all of them.
pub(super) fn largest(trial: &CodecOnTrial, cases: &mut Cases) -> Vec<Use<'static>> {
    let mut uses = trial.computing(cases);
    uses.reverse();
    uses.dedup_by(|one, other| std::ptr::eq(one.example, other.example));
    uses
}

/// Encoded bytes of at most this size are cut at every place.
const ALL_PLACES: usize = 256;

/// The encoded form of each sample; what cannot be encoded breaks another rule.
pub(super) fn encoded_samples<'u>(used: &'u Use<'_>) -> impl Iterator<Item = (Sample, Vec<u8>)> + 'u {
    samples(&used.array).into_iter().filter_map(|sample| {
        let encoded = used.encoded(&sample).ok()?;
        Some((sample, encoded))
    })
}

/// What may become of bytes that are not as they should be.
fn harmless(answer: Answer, limit: usize) -> Result<(), String> {
    match answer {
        Ok(Ok(bytes)) if bytes.len() > limit => {
            Err(format!("{} bytes of at most {limit} came out", bytes.len()))
        }
        Ok(Ok(_) | Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))) => Ok(()),
        Ok(Err(error)) => Err(format!("the bytes are to blame, and the error is {error:?}")),
        Err(panic) => Err(panic),
    }
}

/// A codec cannot know that a valid stream of fewer bytes was longer once. The engine refuses such a chunk for its size. It
/// cannot refuse a chunk of the right size, of which some elements were never stored.
fn truncated(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        for (sample, encoded) in encoded_samples(&used) {
            let Ok(whole) = used.decoded(&encoded, usize::MAX) else { continue };
            let result = beginnings(encoded.len()).into_iter().try_for_each(|size| {
                shorter(used.decode(&encoded[..size], whole.len()), whole.len())
                    .map_err(|what| format!("cut to {size} of {} bytes: {what}", encoded.len()))
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

/// Sizes to which `size` bytes are cut: all of short ones; of long ones those at both ends, where headers, trailers and
/// padding are, and some between.
fn beginnings(size: usize) -> BTreeSet<usize> {
    if size <= ALL_PLACES {
        return (0..size).collect();
    }
    let mut random = Random::default();
    let between = (0..PLACES).map(|_| random.below(size));
    (0..PLACES).chain(size - PLACES..size).chain(between).collect()
}

/// The beginning of a stream of `whole` decoded bytes may be an error, or decode to fewer bytes.
fn shorter(answer: Answer, whole: usize) -> Result<(), String> {
    match answer {
        // A chunk of no bytes has no elements that could be wrong.
        Ok(Ok(bytes)) if bytes.len() >= whole && whole > 0 => {
            Err(format!("{} bytes came out, as many as of the whole", bytes.len()))
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
                format!("{} bytes that begin with {start:02x?}: {what}", bytes.len())
            })
        });
        cases.check(&used, result);
    }
}

fn limit(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        for (sample, encoded) in encoded_samples(&used) {
            // What comes back from a lossy codec may be of another size.
            let decoded = used.decoded(&encoded, usize::MAX).map_or(0, |decoded| decoded.len());
            let Some(short) = decoded.checked_sub(1) else { continue };
            let result = match used.decode(&encoded, short) {
                Ok(Ok(bytes)) => Err(format!("{} bytes in place of {} are no error", bytes.len(), short + 1)),
                Ok(Err(CodecError::TooLarge(_) | CodecError::Corrupt(_))) => Ok(()),
                Ok(Err(error)) => Err(format!("the error is {error:?}")),
                Err(panic) => Err(panic),
            };
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn deterministic(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        let all: Vec<_> = encoded_samples(&used).collect();
        for (sample, encoded) in &all {
            // A stream that ends too early must leave nothing behind.
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
            cases.skip("the codec is no checksum");
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
            cases.holds(format!("{used}, {size} bytes"), is_whole, || "not all of it is written".to_owned());
            let Ok(Ok(stored)) = used.encode(&bytes) else { continue };
            let missed = (0..stored.len() * 8).find(|bit| {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                !matches!(used.decode(&flipped, size), Ok(Err(CodecError::Corrupt(_))))
            });
            cases.holds(format!("{used}, {size} bytes"), missed.is_none(), || {
                format!("bit {missed:?} of what is stored flips, and nobody notices")
            });
        }
    }
}

/// What the thread that decodes asks the allocator of this program for. What else there is, a process of its own shows: see
/// [`Again`](crate::suite::Again).
fn allocation(trial: &CodecOnTrial, cases: &mut Cases) {
    if allocations::highest(|| ()).is_none() {
        cases.skip("this program does not count what is allocated");
        return;
    }
    for hostile in Hostile::all(trial, cases) {
        let result = hostile.inputs().iter().try_for_each(|input| {
            let highest = allocations::highest(|| hostile.decode(input)).unwrap_or_default();
            if highest <= hostile.allowed() {
                return Ok(());
            }
            Err(format!("{highest} bytes for {input}"))
        });
        cases.check(&hostile, result);
    }
}

fn claims(trial: &CodecOnTrial, cases: &mut Cases) {
    if allocations::highest(|| ()).is_none() {
        cases.skip("this program does not count what is allocated");
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
            Err(format!("{highest} bytes for {input}, and {allowed} are allowed"))
        });
        cases.check(&hostile, result);
    }
}
