//! Fuzz targets for codecs.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::codec::{BytesToBytesCodec, InParts};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, Elements, Example, Mode, Output, Reading, Registry,
    Representation, Size, Value,
};

use super::promises::{decoded_in_parts, same_in_parts};
use super::robustness::WORKING_MEMORY;
use super::{Answer, CodecOnTrial, Use};
use crate::fuzz::{Aspect, Target, within};
use crate::items;
use crate::suite::Cases;
use crate::suite::elements::{moderate, pieces};
use crate::suite::fuzzed::{chosen, document, is_of};

/// The maximum size of a chunk of elements of variable size, in bytes.
const VARIABLE_LIMIT: usize = 1 << 16;

pub(in crate::suite) fn add(registry: &Arc<Registry>, package: Option<&str>, targets: &mut Vec<Target>) {
    for &plugin in registry.codecs().iter().filter(|plugin| is_of(**plugin, package)) {
        let trial = CodecOnTrial::new(plugin, registry);
        let name = plugin.identifiers.any();
        let mut cases = Cases::default();
        let mut seeded: Option<&Example> = None;
        let mut seeded_in_parts: Option<&Example> = None;
        for used in trial.computing(&mut cases) {
            // Chunks of moderate size cover most code with few bytes; one seed per example suffices.
            let is_moderate =
                !used.example.shape.is_empty() || (6..100).contains(&used.array.element_count().unwrap_or(0));
            let has_seeds = is_moderate && !seeded.is_some_and(|seeded| std::ptr::eq(seeded, used.example));
            seeded = if has_seeds { Some(used.example) } else { seeded };
            // A chunk that consists of a single part does not test decoding in parts.
            let has_parts =
                used.has_parts() && !seeded_in_parts.is_some_and(|seeded| std::ptr::eq(seeded, used.example));
            seeded_in_parts = if has_parts { Some(used.example) } else { seeded_in_parts };
            add_both(&format!("codec `{name}`"), used, has_seeds || has_parts, targets);
        }
        let trial = Arc::new(trial);
        for example in plugin.about.examples {
            add_configuration(&trial, example, targets);
        }
    }
}

/// Adds targets that decode and encode with a codec that is a memory layout.
pub(in crate::suite) fn add_use(
    name: &str,
    example: &'static Example,
    array: ArrayRepresentation,
    codec: Codec,
    targets: &mut Vec<Target>,
) {
    add_both(name, Use { example, array, codec, given: None }, true, targets);
}

fn add_both(name: &str, used: Use<'static>, has_seeds: bool, targets: &mut Vec<Target>) {
    let used = Arc::new(used);
    let label = format!("{name}: {used}");
    let elements = move |used: &Use<'static>| {
        let moderate = moderate(&used.array).filter(|_| used.given.is_none());
        let all = used.samples().into_iter().chain(moderate);
        if has_seeds { all.collect() } else { Vec::new() }
    };
    let runs = Arc::clone(&used);
    let seeds = Arc::clone(&used);
    targets.push(Target {
        aspect: Aspect::Decode,
        name: format!("decode {label}"),
        run: Box::new(move |input| runs.decode_any(input)),
        seeds: Box::new(move || {
            let all = elements(&seeds);
            let encoded = all.iter().filter_map(|sample| seeds.encoded(sample).ok());
            encoded.map(|encoded| [&[0x20, 0xa0][..], &encoded].concat()).collect()
        }),
    });
    if used.given.is_some() {
        return;
    }
    let runs = Arc::clone(&used);
    let seeds = used;
    targets.push(Target {
        aspect: Aspect::RoundTrip,
        name: format!("round trip {label}"),
        run: Box::new(move |input| runs.encode_any(input)),
        seeds: Box::new(move || {
            elements(&seeds).into_iter().map(|sample| as_input(&seeds.array, &sample.bytes)).collect()
        }),
    });
}

fn add_configuration(trial: &Arc<CodecOnTrial>, example: &'static Example, targets: &mut Vec<Target>) {
    let arrays = trial.arrays(example, &mut Cases::default());
    let trial = Arc::clone(trial);
    targets.push(Target {
        aspect: Aspect::Configuration,
        name: format!(
            "configuration codec `{}`: {} in {}",
            trial.plugin.identifiers.any(),
            example.document,
            example.format
        ),
        run: Box::new(move |input| {
            let Some((first, text)) = input.split_first() else { return };
            if let (Some(array), Some(entry)) = (chosen(&arrays, *first), document(text)) {
                trial.create_any(example, array, &entry);
            }
        }),
        seeds: Box::new(|| vec![[&[0][..], example.document.as_bytes()].concat()]),
    });
}

impl Use<'_> {
    /// Returns the maximum size of a chunk in bytes.
    fn most(&self) -> usize {
        let size = self.array.size().limit().and_then(|size| usize::try_from(size).ok());
        size.unwrap_or(VARIABLE_LIMIT)
    }

    /// Checks whether the codec encodes the chunk in parts.
    fn has_parts(&self) -> bool {
        match &self.codec {
            Codec::BytesToBytes(codec) => {
                codec.in_parts().is_some_and(|codec| codec.part_size(self.most()).is_some())
            }
            _ => false,
        }
    }

    /// Decodes the input after its first two bytes, which select a range.
    fn decode_any(&self, input: &[u8]) {
        let Some((&[start, end], encoded)) = input.split_first_chunk::<2>() else { return };
        let limit = self.most();
        let memory = limit.saturating_add(WORKING_MEMORY);
        let decoded = within(memory, self, || outcome(self.decode(encoded, limit)));
        self.decode_to_exactly(encoded, decoded.as_deref());
        if let Codec::BytesToBytes(codec) = &self.codec {
            let place = |fraction: u8| limit * usize::from(fraction) / usize::from(u8::MAX);
            let range = place(start.min(end))..place(start.max(end));
            within(memory, self, || range_of(&**codec, encoded, decoded.as_deref(), range, limit));
            if let Some(codec) = codec.in_parts() {
                within(memory, self, || parts_of(codec, encoded, decoded.as_deref(), limit));
            }
        }
        if let Some(decoded) = decoded
            && self.given.is_none()
            && self.loses_nothing()
            && is_chunk(&self.array, &decoded)
        {
            self.there_and_back(&decoded);
        }
    }

    /// Checks that decoding into memory of the chunk's size gives the same result as decoding into a growing buffer,
    /// and does not change the bytes before the chunk.
    fn decode_to_exactly(&self, encoded: &[u8], wanted: Option<&[u8]>) {
        let mut memory = vec![0xa5; self.most() + 3];
        let mut output = Output::to(&mut memory);
        let room = output.put(&[0xa5; 3]);
        assert!(room.is_ok(), "three bytes fit");
        let result = self.decode_to(encoded, &mut output);
        let end = output.written().len();
        assert_eq!(memory[..3], [0xa5; 3], "{self}: bytes before the chunk changed");
        match (result, wanted) {
            (Ok(()), Some(wanted)) => assert_eq!(
                &memory[3..end],
                wanted,
                "{self}: decoding into a growing buffer gives other bytes"
            ),
            (Err(_), None) => {}
            (result, wanted) => panic!(
                "{self}: decoding into the chunk gives {result:?}, into a growing buffer {:?} bytes",
                wanted.map(<[u8]>::len)
            ),
        }
    }

    /// Encodes elements derived from `input`.
    fn encode_any(&self, input: &[u8]) {
        if let Some(decoded) = elements(&self.array, input) {
            self.there_and_back(&decoded);
        }
    }

    /// Checks that encoded bytes decode, to the same bytes if the codec is lossless.
    fn there_and_back(&self, decoded: &[u8]) {
        let encoded = match self.encode(decoded) {
            Ok(Ok(encoded)) => encoded,
            // Some elements cannot be encoded.
            Ok(Err(CodecError::Encode(_))) => return,
            Ok(Err(error)) => panic!("{self}: expected an `Encode` error, got {error:?}"),
            Err(panic) => panic!("{self}: encoding: {panic}"),
        };
        let size = encoded.len() as u64;
        match self.promised() {
            Ok(Size::Exact(promised)) => assert_eq!(size, promised, "{self}: the declared size is wrong"),
            Ok(Size::AtMost(most)) => {
                assert!(size <= most, "{self}: encoded to {size} bytes, but declared at most {most}")
            }
            Ok(Size::Unknown) => {}
            Err(error) => panic!("{self}: the encoded size cannot be computed: {error}"),
        }
        if let Codec::BytesToBytes(codec) = &self.codec
            && let Some(codec) = codec.in_parts()
        {
            assert_eq!(same_in_parts(codec, &encoded, decoded), Ok(()), "{self}");
        }
        let limit = decoded.len().max(self.most());
        match self.decode(&encoded, limit) {
            Ok(Ok(again)) if self.loses_nothing() => {
                assert_eq!(again, decoded, "{self}: decoding gives other bytes");
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => panic!("{self}: the encoded bytes do not decode: {error:?}"),
            Err(panic) => panic!("{self}: decoding the encoded bytes: {panic}"),
        }
    }
}

/// Returns the decoded bytes, or nothing if they are reported as corrupt or too large.
fn outcome(answer: Answer) -> Option<Vec<u8>> {
    match answer {
        Ok(Ok(decoded)) => Some(decoded),
        Ok(Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))) => None,
        Ok(Err(error)) => panic!("expected a `Corrupt` or `TooLarge` error, got {error:?}"),
        Err(panic) => panic!("{panic}"),
    }
}

/// Checks that decoding a range gives the same bytes as decoding the whole chunk.
fn range_of(
    codec: &dyn BytesToBytesCodec,
    encoded: &[u8],
    whole: Option<&[u8]>,
    range: Range<usize>,
    limit: usize,
) {
    let mut memory = vec![0x5a; limit];
    let mut output = Output::to(&mut memory);
    let result = codec.decode_range(encoded, range.clone(), &mut output);
    let written = output.written().len();
    match (result, whole) {
        (Ok(()), Some(whole)) => {
            assert_eq!(written, whole.len(), "{codec:?}: size of the output for {range:?}");
            assert_eq!(memory.get(range.clone()), whole.get(range.clone()), "{codec:?}: bytes {range:?}");
        }
        (Ok(()), None) => assert!(range.end <= written, "{codec:?}: {range:?} of {written} bytes"),
        (Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)), None) => {}
        (Err(error), Some(whole)) => {
            assert!(range.end > whole.len(), "{codec:?}: {range:?} of {} bytes: {error:?}", whole.len());
        }
        (Err(error), None) => panic!("{codec:?}: expected a `Corrupt` or `TooLarge` error, got {error:?}"),
    }
}

/// Checks that decoding a chunk of `size` bytes in parts gives the same bytes as decoding it in one call, or an error
/// if the chunk is not whole.
fn parts_of(codec: &dyn InParts, encoded: &[u8], whole: Option<&[u8]>, size: usize) {
    let Some(decoded) = decoded_in_parts(codec, encoded, size) else { return };
    let in_parts = match &decoded {
        Ok(decoded) => Some(&decoded[..]),
        Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)) => None,
        Err(error) => panic!("{codec:?}: expected a `Corrupt` or `TooLarge` error, got {error:?}"),
    };
    let chunk = |bytes: Option<&[u8]>| bytes.filter(|bytes| bytes.len() == size).map(<[u8]>::to_vec);
    let at_once = chunk(whole);
    let in_parts = chunk(in_parts);
    assert_eq!(in_parts, at_once, "{codec:?}: decoding in parts differs from decoding in one call");
}

/// Checks whether the bytes are a whole chunk of elements.
fn is_chunk(array: &ArrayRepresentation, bytes: &[u8]) -> bool {
    match array.size() {
        Size::Exact(size) => bytes.len() as u64 == size && array.data_type.check(bytes).is_ok(),
        _ => {
            let count = array.element_count().unwrap_or_default();
            pieces(bytes, count).iter().all(|piece| array.data_type.check(piece).is_ok())
        }
    }
}

/// Returns a chunk that repeats the elements derived from `input`. In the input, a length byte precedes each element
/// of variable size.
fn elements(array: &ArrayRepresentation, input: &[u8]) -> Option<Vec<u8>> {
    let count = array.element_count()?;
    let data_type = &array.data_type;
    let Elements::Fixed { size, .. } = data_type.elements() else {
        let mut rest = input;
        let mut all = Vec::new();
        while let Some((&length, after)) = rest.split_first() {
            let (element, after) = after.split_at_checked(length.into()).unwrap_or((after, &[]));
            all.extend(data_type.check(element).is_ok().then(|| element.to_vec()));
            rest = after;
        }
        let one = vec![data_type.default_fill_value().bytes().to_vec()];
        let all = if all.is_empty() { one } else { all };
        let chunk: Vec<_> = all.iter().cycle().take(count).collect();
        return Some(items(&chunk));
    };
    let bytes = if input.is_empty() { &[0] } else { input };
    let mut chunk: Vec<u8> = bytes.iter().copied().cycle().take(count * size).collect();
    data_type.settle(&mut chunk, Mode::Lenient).ok()?;
    data_type.check(&chunk).ok()?;
    Some(chunk)
}

/// Returns the input from which [`elements`] creates `chunk`.
fn as_input(array: &ArrayRepresentation, chunk: &[u8]) -> Vec<u8> {
    if array.data_type.elements().size().is_some() {
        return chunk.to_vec();
    }
    let all = pieces(chunk, array.element_count().unwrap_or_default());
    let short =
        all.into_iter().filter_map(|piece| Some([vec![u8::try_from(piece.len()).ok()?], piece].concat()));
    short.flatten().collect()
}

impl CodecOnTrial {
    /// Creates a codec from any document, and uses it.
    fn create_any(&self, example: &'static Example, array: &ArrayRepresentation, entry: &Value) {
        let reading = Reading::new(Mode::Lenient);
        let Ok(document) = self.parse(example, entry, &reading) else { return };
        let made = || self.create(example, &document, array, &reading);
        let Ok(codec) = within(WORKING_MEMORY, entry, made) else { return };
        let used = Use { example, array: array.clone(), codec, given: None };
        if let Some(sample) = moderate(array)
            && let Ok(Ok(encoded)) = used.encode(&sample.bytes)
        {
            let limit = sample.bytes.len();
            let decoded = used.decode(&encoded, limit);
            assert!(decoded.is_ok(), "{entry}: {decoded:?}");
        }
        self.write_any(example, array, entry);
    }

    /// Checks that a document accepted in strict mode can be written, and that the written document does not change
    /// when it is read and written again.
    fn write_any(&self, example: &'static Example, array: &ArrayRepresentation, entry: &Value) {
        let reading = Reading::new(Mode::Strict);
        let format = example.format;
        let decoded = Representation::Array(array.clone());
        let Ok(document) = self.parse(example, entry, &reading) else { return };
        let creation = self.creation(format, &document, &reading);
        if (self.plugin.create)(&creation, &decoded).is_err() {
            return;
        }
        if self.plugin.identifiers.in_format(format).is_none() {
            return;
        }
        let written = match self.registry.translated_codec(&creation, &decoded, format) {
            Ok(written) => written,
            Err(error) => panic!("{entry} can be read but not written: {error}"),
        };
        let creation = self.creation(format, &written, &reading);
        let made = (self.plugin.create)(&creation, &decoded);
        assert!(made.is_ok(), "{entry} is written as {written:?}, which results in {made:?}");
        let twice = self.registry.translated_codec(&creation, &decoded, format);
        let is_same = twice.as_ref().is_ok_and(|twice| *twice == written);
        assert!(is_same, "{entry} is written as {written:?}, but then as {twice:?}");
    }
}
