//! Codecs with one fault each.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use zarr_conformance::suite::{Again, Failure, Suite, Verdict, suites_of};
use zarr_plugin_kit::array;
use zarr_plugin_kit::subsets::{combined, runs};
use zarr_spec::codec::{
    ArrayToBytesCodec, BytesToBytesCodec, Checksum, CompositeCodec, DecodeSubset, EncodedRanges, InParts,
    PartSource, PartTarget, RunChain, range_within,
};
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, ArraySubset, Codec, CodecChain, CodecError, CodecPlugin, Creation, Format, Loss,
    Object, Output, Registry, Representation, Size, Value,
};

use crate::{COMMON, Wrong, again, each_breaks_its_rules, example, leaked, named};

const WRONG: &[Wrong] = &[
    ("nothing", &[]),
    ("takes-any-member", &["unknown-member"]),
    ("says-another-kind", &["schema"]),
    ("takes-what-it-does-not-say", &["schema"]),
    ("has-no-version", &["identifiers"]),
    ("says-nothing", &["summary"]),
    ("has-no-example-of-v2", &["examples"]),
    ("translates-otherwise", &["codec-canonical-form"]),
    ("drops-negative-zero", &["codec-round-trip"]),
    ("loses-more-than-it-says", &["codec-loss"]),
    ("loses-again-and-again", &["codec-loses-once"]),
    ("blames-the-encoder", &["codec-damaged", "codec-foreign", "codec-truncated"]),
    ("fills-what-is-missing", &["codec-truncated"]),
    ("stops-at-the-limit", &["codec-limit"]),
    ("remembers-failures", &["codec-deterministic"]),
    ("shares-scratch", &["codec-threads"]),
    ("forgets-the-end-of-large-chunks", &["codec-large-chunks"]),
    ("writes-before-its-place", &["codec-exact-destination", "codec-range"]),
    ("promises-another-size", &["codec-size"]),
    ("trusts-sizes", &["codec-allocation", "codec-claims"]),
    #[cfg(target_os = "linux")]
    ("trusts-sizes-that-nothing-declares", &["codec-allocation", "codec-claims"]),
    #[cfg(not(target_os = "linux"))]
    ("trusts-sizes-that-nothing-declares", &["codec-claims"]),
    // A separate process with little address space detects the next two faults.
    #[cfg(target_os = "linux")]
    ("trusts-sizes-elsewhere", &["codec-allocation"]),
    #[cfg(target_os = "linux")]
    ("asks-first-elsewhere", &["codec-allocation"]),
    ("repeats-a-dimension", &["codec-value"]),
    ("ignores-a-bit", &["codec-checksum"]),
    ("forgets-the-end-of-a-range", &["codec-range"]),
    ("runs-a-copy", &["codec-chains"]),
    ("forgets-the-last-part", &["codec-parts"]),
    ("believes-damaged-parts", &["codec-parts"]),
    ("decodes-a-neighbour", &["codec-subset"]),
    ("fills-a-missing-subset", &["codec-subset"]),
];

#[test]
fn codecs_with_one_fault_break_the_matching_rule() {
    let broken: Vec<&str> = WRONG.iter().flat_map(|(_, rules)| *rules).copied().collect();
    assert!(COMMON.iter().all(|rule| broken.contains(rule)));
    each_breaks_its_rules(WRONG, register());
}

/// The suite starts this test again, in other processes, to decode hostile input.
#[cfg(target_os = "linux")]
#[test]
fn hostile_input_is_decoded_in_a_separate_process() {
    let mut registry = Registry::empty();
    WRONG.iter().for_each(|(name, _)| register()(&mut registry, name));
    if Again::is_asked_for() {
        return Again::serve(&registry).unwrap();
    }
    let of = |name: &str| {
        let mut suites: Vec<Suite> =
            suites_of(&registry).into_iter().filter(|suite| suite.subject.name == name).collect();
        again().isolate(&mut suites);
        let outcome =
            suites[0].trials.iter().find(|trial| trial.rule().id == "codec-allocation").unwrap().run();
        outcome.verdict
    };
    let Verdict::Passed { cases, skipped } = of("nothing") else { panic!("{:?}", of("nothing")) };
    // The rule has one case in this process, and one in the process that decodes hostile input.
    assert_eq!((cases, skipped), (2, Vec::new()));

    let what = |name: &str| {
        let Verdict::Failed(failures) = of(name) else { panic!("{name} passes") };
        let [Failure { case, what }] = &failures[..] else { panic!("{failures:?}") };
        assert!(case.ends_with(", in a separate process"), "{case}");
        what.clone()
    };
    let killed = what("trusts-sizes-elsewhere");
    assert!(killed.starts_with("signal 6 ended the process: memory allocation of "), "{killed}");
    let grown = what("asks-first-elsewhere");
    assert!(grown.contains("bytes of address space, the limit is"), "{grown}");
}

/// Returns a function that registers the plugin with the fault that its name describes.
fn register() -> impl Fn(&mut Registry, &'static str) {
    |registry, name| {
        let summary = if name == "says-nothing" { "" } else { "Does one thing wrong." };
        let example = example(name);
        let example = match name {
            "loses-more-than-it-says" => example.with_loss(Loss::Absolute(0.5)).with_data_types(&["uint8"]),
            "loses-again-and-again" => example.with_loss(Loss::Unbounded).with_data_types(&["uint8"]),
            "drops-negative-zero" => example.with_data_types(&["float64"]),
            "runs-a-copy" | "decodes-a-neighbour" | "fills-a-missing-subset" => {
                example.with_data_types(&["uint8"])
            }
            "repeats-a-dimension" => example.with_shape(&[2, 3]),
            "translates-otherwise" | "says-another-kind" | "takes-what-it-does-not-say" => {
                zarr_spec::Example::v3(leaked(format!(
                    "{{\"name\": \"{name}\", \"configuration\": {{\"level\": 1}}}}"
                )))
            }
            _ => example,
        };
        let mut identifiers = named(name);
        identifiers.id = (name == "has-no-example-of-v2").then_some(name);
        identifiers.uri = (name == "has-no-version").then_some("https://example.com/has-no-version");
        let plugin = CodecPlugin::new(identifiers, &create);
        let plugin = if name == "translates-otherwise" { plugin.translated_by(&one_more) } else { plugin };
        let plugin = match name {
            "says-another-kind" => plugin.configuration::<AnotherKind>(),
            "takes-what-it-does-not-say" => plugin.configuration::<Required>(),
            "takes-any-member" => plugin,
            _ => plugin.configuration::<Configuration>(),
        };
        let in_draft =
            identifiers.uri.map(|uri| zarr_spec::Example::draft(leaked(format!("{{\"type\": \"{uri}\"}}"))));
        let examples: Vec<_> = [example].into_iter().chain(in_draft).collect();
        registry.register(plugin.about(summary, examples.leak())).unwrap();
    }
}

#[derive(Deserialize)]
struct Configuration {
    level: Option<u64>,
}

/// A configuration whose schema requires a boolean, although the examples have a number.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct AnotherKind {
    level: Option<bool>,
}

/// A configuration whose schema requires a member that the codec does not need.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Required {
    level: u64,
}

fn one_more(
    creation: &Creation<'_>,
    _decoded: &Representation,
    _format: Format,
) -> Result<Object, CodecError> {
    let level = creation.parse::<Configuration>()?.level.unwrap_or_default();
    Ok([("level".to_owned(), Value::from(level + 1))].into_iter().collect())
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    if creation.identifier != "takes-any-member" {
        creation.parse::<Configuration>()?;
    }
    Ok(match creation.identifier {
        "repeats-a-dimension" => Codec::Permutation(vec![1, 1]),
        "ignores-a-bit" => Codec::Checksum(Arc::new(Xor)),
        "drops-negative-zero" => Codec::ArrayToBytes(Arc::new(Positive)),
        "decodes-a-neighbour" => Codec::ArrayToBytes(Arc::new(Copied { fills_missing: false })),
        "fills-a-missing-subset" => Codec::ArrayToBytes(Arc::new(Copied { fills_missing: true })),
        "runs-a-copy" => Codec::Composite(Arc::new(Around::new(creation, decoded)?)),
        name => Codec::BytesToBytes(Arc::new(Framed {
            wrong: name.to_owned(),
            has_failed: AtomicBool::new(false),
            scratch: Mutex::new(()),
        })),
    })
}

/// A checksum that ignores the last bit of each byte: the exclusive or of all bytes.
#[derive(Debug)]
struct Xor;

impl Checksum for Xor {
    fn size(&self) -> usize {
        1
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        checksum[0] = bytes.iter().fold(0, |all, byte| all ^ (byte & 0xfe));
        Ok(())
    }
}

/// A codec that drops the signs of zeros.
#[derive(Debug)]
struct Positive;

impl ArrayToBytesCodec for Positive {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(array.size())
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (elements, _none) = decoded.as_chunks::<8>();
        for element in elements {
            let is_zero = f64::from_ne_bytes(*element) == 0.0;
            encoded.put(if is_zero { &[0; 8] } else { element })?;
        }
        Ok(())
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

/// A codec that stores elements of one byte as they are, and decodes subsets wrongly.
#[derive(Debug)]
struct Copied {
    /// Whether missing bytes are decoded as zeros. Otherwise, the first run of a subset begins too early.
    fills_missing: bool,
}

impl ArrayToBytesCodec for Copied {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(array.size())
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(encoded.put(decoded)?)
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }

    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        Some(self)
    }
}

impl DecodeSubset for Copied {
    fn ranges(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        _index: &[u8],
    ) -> Result<Vec<Range<u64>>, CodecError> {
        let mut runs: Vec<_> = runs(&array.shape, subset).collect();
        if !self.fills_missing
            && let Some(first) = runs.first_mut()
        {
            first.start = first.start.saturating_sub(1);
        }
        Ok(combined(runs.into_iter(), 0))
    }

    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mut skipped = u64::from(!self.fills_missing);
        for run in runs(&array.shape, subset) {
            let size = usize::try_from(run.end - run.start).unwrap();
            let skipped = std::mem::take(&mut skipped).min(run.start);
            match encoded.get(run.start - skipped..run.end - skipped) {
                Ok(bytes) => decoded.put(bytes)?,
                Err(_) if self.fills_missing => decoded.put(&vec![0; size])?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A codec that applies the default chain of v2 to the elements.
#[derive(Debug)]
struct Around(CodecChain);

impl Around {
    fn new(creation: &Creation<'_>, decoded: &Representation) -> Result<Self, CodecError> {
        let from = ChainCreation::new(Format::V2, creation.registry, creation.reading);
        let chain = CodecChain::create(&from, None, &[], array(decoded)?);
        Ok(Self(chain.map_err(|error| CodecError::Unsupported(error.to_string()))?))
    }
}

impl CompositeCodec for Around {
    fn chains(&self) -> Vec<&CodecChain> {
        vec![&self.0]
    }

    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(array.size())
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        chains.encode(&self.0.clone(), array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        chains.decode(&self.0, array, encoded, decoded)
    }
}

/// A codec that writes the size as a number of eight bytes, then a byte without meaning, then the decoded bytes.
#[derive(Debug)]
struct Framed {
    wrong: String,
    has_failed: AtomicBool,
    scratch: Mutex<()>,
}

impl Framed {
    fn is(&self, wrong: &str) -> bool {
        self.wrong == wrong
    }

    /// Allocates on another thread, which is not counted. Allocations of libraries in other languages are not counted
    /// either.
    fn allocate_elsewhere(&self, size: usize) {
        let asks_first = self.is("asks-first-elsewhere");
        let allocate = || {
            let mut bytes = Vec::<u8>::new();
            if asks_first {
                let _there_is_none = bytes.try_reserve_exact(size);
            } else {
                bytes.reserve_exact(size);
            }
            drop(std::hint::black_box(bytes));
        };
        if asks_first || self.is("trusts-sizes-elsewhere") {
            thread::scope(|scope| scope.spawn(allocate).join()).unwrap();
        }
    }

    fn refused(&self) -> CodecError {
        self.has_failed.store(true, Ordering::Relaxed);
        match self.wrong.as_str() {
            "blames-the-encoder" => CodecError::Encode("these bytes".into()),
            _ => CodecError::corrupt("these bytes"),
        }
    }
}

impl BytesToBytesCodec for Framed {
    fn encoded_size(&self, decoded: Size) -> Size {
        let more = if self.is("promises-another-size") { 8 } else { 9 };
        match decoded {
            Size::Exact(size) => Size::Exact(size + more),
            Size::AtMost(size) => Size::AtMost(size + more),
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        encoded.put(&(decoded.len() as u64).to_le_bytes())?;
        let scratch = self.scratch.try_lock();
        if self.is("shares-scratch") && scratch.is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        let differs = (self.is("remembers-failures") && self.has_failed.load(Ordering::Relaxed))
            || (self.is("shares-scratch") && scratch.is_err());
        encoded.put(&[u8::from(differs)])?;
        let change: fn(u8) -> u8 = match self.wrong.as_str() {
            "loses-more-than-it-says" => |byte| byte & 0xfc,
            "loses-again-and-again" => |byte| byte / 2,
            _ => |byte| byte,
        };
        let mut stored: Vec<u8> = decoded.iter().map(|byte| change(*byte)).collect();
        if self.is("forgets-the-end-of-large-chunks") {
            stored.iter_mut().skip(1 << 20).for_each(|byte| *byte = 0);
        }
        Ok(encoded.put(&stored)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let Some((size, rest)) = encoded.split_first_chunk::<8>() else { return Err(self.refused()) };
        let size = u64::from_le_bytes(*size);
        if self.is("trusts-sizes") {
            // The memory is never used, so this consumes only address space.
            drop(std::hint::black_box(Vec::<u8>::with_capacity((size % (1 << 30)) as usize)));
        }
        if self.is("trusts-sizes-that-nothing-declares")
            && let Some(size) = usize::try_from(size).ok().filter(|&size| size <= decoded.remaining())
        {
            decoded.spare(size)?;
        }
        self.allocate_elsewhere((size % (1 << 30)) as usize);
        if self.is("fills-what-is-missing")
            && let Some(size) = usize::try_from(size).ok().filter(|&size| size <= 1 << 16)
            && rest.len() <= size
        {
            let bytes = rest.get(1..).unwrap_or_default();
            decoded.put(bytes)?;
            return Ok(decoded.put(&vec![0; size - bytes.len()])?);
        }
        let Some((_flag, bytes)) = rest.split_first().filter(|(_, bytes)| bytes.len() as u64 == size) else {
            return Err(self.refused());
        };
        let fits = bytes.len().min(decoded.remaining());
        decoded.put(if self.is("stops-at-the-limit") { &bytes[..fits] } else { bytes })?;
        if self.is("writes-before-its-place")
            && let (Some(first), Some(byte)) = (decoded.written_mut().first_mut(), bytes.first())
        {
            *first = *byte;
        }
        Ok(())
    }

    fn decode_range(
        &self,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let before = decoded.written().len();
        self.decode(encoded, decoded)?;
        range_within(&range, decoded.written().len() - before)?;
        if self.is("forgets-the-end-of-a-range") && !range.is_empty() {
            decoded.written_mut()[before + range.end - 1] ^= 1;
        }
        Ok(())
    }

    fn in_parts(&self) -> Option<&dyn InParts> {
        (self.is("forgets-the-last-part") || self.is("believes-damaged-parts")).then_some(self)
    }
}

impl InParts for Framed {
    fn part_size(&self, decoded_size: usize) -> Option<usize> {
        (self.is("forgets-the-last-part") && decoded_size > 1).then_some(decoded_size / 2)
    }

    fn encode_parts(&self, decoded: &mut dyn PartSource, encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let mut all = vec![0; decoded.size()];
        let first = all.len() / 2;
        decoded.read(0, &mut all[..first])?;
        self.encode(&all, encoded)
    }

    fn decoded_part_size(&self, encoded: &[u8]) -> Option<usize> {
        let size = encoded.len().checked_sub(9)?;
        (self.is("believes-damaged-parts") && size > 1).then_some(size.div_ceil(2))
    }

    fn decode_parts(&self, encoded: &[u8], decoded: &mut dyn PartTarget) -> Result<(), CodecError> {
        let all = &encoded[9..];
        all.chunks(all.len().div_ceil(2)).try_for_each(|part| decoded.write(part))
    }
}
