//! Codecs and any bytes at all.

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
use crate::suite::elements::{moderate, pieces, samples};
use crate::suite::fuzzed::{chosen, document, is_of};
use crate::suite::tried::Tried;

/// The most bytes that elements of variable size may come to.
const VARIABLE_LIMIT: usize = 1 << 16;

pub(in crate::suite) fn add(registry: &Arc<Registry>, package: Option<&str>, targets: &mut Vec<Target>) {
    for &plugin in registry.codecs().iter().filter(|plugin| is_of(**plugin, package)) {
        let trial = CodecOnTrial { plugin, registry: Arc::clone(registry) };
        let name = plugin.identifiers.any();
        let mut cases = Cases::default();
        let mut seeded: Option<&Example> = None;
        let mut seeded_in_parts: Option<&Example> = None;
        for used in trial.computing(&mut cases) {
            // Chunks of a moderate size say most in few bytes; one for each example is enough to begin with.
            let is_moderate =
                !used.example.shape.is_empty() || (6..100).contains(&used.array.element_count().unwrap_or(0));
            let has_seeds = is_moderate && !seeded.is_some_and(|seeded| std::ptr::eq(seeded, used.example));
            seeded = if has_seeds { Some(used.example) } else { seeded };
            // Chunks of one part say nothing of parts.
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

/// Decoding and encoding with a codec that is a memory layout.
pub(in crate::suite) fn add_use(
    name: &str,
    example: &'static Example,
    array: ArrayRepresentation,
    codec: Codec,
    targets: &mut Vec<Target>,
) {
    add_both(name, Use { example, array, codec }, true, targets);
}

fn add_both(name: &str, used: Use<'static>, has_seeds: bool, targets: &mut Vec<Target>) {
    let used = Arc::new(used);
    let label = format!("{name}: {used}");
    let elements = move |used: &Use<'static>| {
        let all = samples(&used.array).into_iter().chain(moderate(&used.array));
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
    /// The most bytes that a chunk has.
    fn most(&self) -> usize {
        let size = self.array.size().limit().and_then(|size| usize::try_from(size).ok());
        size.unwrap_or(VARIABLE_LIMIT)
    }

    /// Whether a chunk is encoded in parts.
    fn has_parts(&self) -> bool {
        match &self.codec {
            Codec::BytesToBytes(codec) => {
                codec.in_parts().is_some_and(|codec| codec.part_size(self.most()).is_some())
            }
            _ => false,
        }
    }

    /// Decodes what follows the two bytes that choose a range.
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
            && self.loses_nothing()
            && is_chunk(&self.array, &decoded)
        {
            self.there_and_back(&decoded);
        }
    }

    /// The same comes out where the memory is that of the chunk alone, and nothing before it changes.
    fn decode_to_exactly(&self, encoded: &[u8], wanted: Option<&[u8]>) {
        let mut memory = vec![0xa5; self.most() + 3];
        let mut output = Output::to(&mut memory);
        let room = output.put(&[0xa5; 3]);
        assert!(room.is_ok(), "there is room for three bytes");
        let result = self.decode_to(encoded, &mut output);
        let end = output.written().len();
        assert_eq!(memory[..3], [0xa5; 3], "{self}: bytes before the chunk changed");
        match (result, wanted) {
            (Ok(()), Some(wanted)) => assert_eq!(&memory[3..end], wanted, "{self}: not what a buffer gets"),
            (Err(_), None) => {}
            (result, wanted) => panic!(
                "{self}: into the chunk it is {result:?}, into a buffer {:?} bytes",
                wanted.map(<[u8]>::len)
            ),
        }
    }

    /// Encodes elements made of `input`.
    fn encode_any(&self, input: &[u8]) {
        if let Some(decoded) = elements(&self.array, input) {
            self.there_and_back(&decoded);
        }
    }

    /// What is encoded decodes, to the same bytes where that is promised.
    fn there_and_back(&self, decoded: &[u8]) {
        let encoded = match self.encode(decoded) {
            Ok(Ok(encoded)) => encoded,
            // Not every element has an encoded form.
            Ok(Err(CodecError::Encode(_))) => return,
            Ok(Err(error)) => panic!("{self}: the elements are to blame, and the error is {error:?}"),
            Err(panic) => panic!("{self}: encoding: {panic}"),
        };
        let size = encoded.len() as u64;
        match self.promised() {
            Ok(Size::Exact(promised)) => assert_eq!(size, promised, "{self}: it said another size"),
            Ok(Size::AtMost(most)) => assert!(size <= most, "{self}: {size} bytes, and at most {most} said"),
            Ok(Size::Unknown) => {}
            Err(error) => panic!("{self}: no size: {error}"),
        }
        if let Codec::BytesToBytes(codec) = &self.codec
            && let Some(codec) = codec.in_parts()
        {
            assert_eq!(same_in_parts(codec, &encoded, decoded), Ok(()), "{self}");
        }
        let limit = decoded.len().max(self.most());
        match self.decode(&encoded, limit) {
            Ok(Ok(again)) if self.loses_nothing() => {
                assert_eq!(again, decoded, "{self}: other bytes came back");
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => panic!("{self}: what was encoded does not decode: {error:?}"),
            Err(panic) => panic!("{self}: decoding what was encoded: {panic}"),
        }
    }
}

/// What was decoded; nothing for what is corrupt or too large, as it should be.
fn outcome(answer: Answer) -> Option<Vec<u8>> {
    match answer {
        Ok(Ok(decoded)) => Some(decoded),
        Ok(Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))) => None,
        Ok(Err(error)) => panic!("the bytes are to blame, and the error is {error:?}"),
        Err(panic) => panic!("{panic}"),
    }
}

/// A range is the same bytes as those of the whole.
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
            assert_eq!(written, whole.len(), "{codec:?}: as many bytes for {range:?}");
            assert_eq!(memory.get(range.clone()), whole.get(range.clone()), "{codec:?}: bytes {range:?}");
        }
        (Ok(()), None) => assert!(range.end <= written, "{codec:?}: {range:?} of {written} bytes"),
        (Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)), None) => {}
        (Err(error), Some(whole)) => {
            assert!(range.end > whole.len(), "{codec:?}: {range:?} of {} bytes: {error:?}", whole.len());
        }
        (Err(error), None) => panic!("{codec:?}: the bytes are to blame, and the error is {error:?}"),
    }
}

/// Part by part, a chunk of `size` bytes is the same, or refused if it is not whole.
fn parts_of(codec: &dyn InParts, encoded: &[u8], whole: Option<&[u8]>, size: usize) {
    let Some(decoded) = decoded_in_parts(codec, encoded, size) else { return };
    let in_parts = match &decoded {
        Ok(decoded) => Some(&decoded[..]),
        Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)) => None,
        Err(error) => panic!("{codec:?}: the bytes are to blame, and the error is {error:?}"),
    };
    let chunk = |bytes: Option<&[u8]>| bytes.filter(|bytes| bytes.len() == size).map(<[u8]>::to_vec);
    let at_once = chunk(whole);
    let in_parts = chunk(in_parts);
    assert_eq!(in_parts, at_once, "{codec:?}: in parts it is not what it is at once");
}

/// Whether these bytes are a whole chunk of elements.
fn is_chunk(array: &ArrayRepresentation, bytes: &[u8]) -> bool {
    match array.size() {
        Size::Exact(size) => bytes.len() as u64 == size && array.data_type.check(bytes).is_ok(),
        _ => {
            let count = array.element_count().unwrap_or_default();
            pieces(bytes, count).iter().all(|piece| array.data_type.check(piece).is_ok())
        }
    }
}

/// A chunk whose elements are made of `input`, again and again; of variable size with a byte before each that says how long
/// it is.
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

/// What [`elements`] makes a chunk of.
fn as_input(array: &ArrayRepresentation, chunk: &[u8]) -> Vec<u8> {
    if array.data_type.elements().size().is_some() {
        return chunk.to_vec();
    }
    let all = pieces(chunk, array.element_count().unwrap_or_default());
    let short =
        all.into_iter().filter_map(|piece| Some([vec![u8::try_from(piece.len()).ok()?], piece].concat()));
    short.flatten().collect()
}

impl Tried<Codec> {
    /// Makes a codec of whatever a document says, and uses it.
    fn create_any(&self, example: &'static Example, array: &ArrayRepresentation, entry: &Value) {
        let reading = Reading::new(Mode::Lenient);
        let Ok(document) = self.parse(example, entry, &reading) else { return };
        let made = || self.create(example, &document, array, &reading);
        let Ok(codec) = within(WORKING_MEMORY, entry, made) else { return };
        let used = Use { example, array: array.clone(), codec };
        if let Some(sample) = moderate(array)
            && let Ok(Ok(encoded)) = used.encode(&sample.bytes)
        {
            let limit = sample.bytes.len();
            let decoded = used.decode(&encoded, limit);
            assert!(decoded.is_ok(), "{entry}: {decoded:?}");
        }
        self.write_any(example, array, entry);
    }

    /// What is read strictly is written to a document again, the same each time.
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
            Err(error) => panic!("{entry} is read, and cannot be written: {error}"),
        };
        let creation = self.creation(format, &written, &reading);
        let made = (self.plugin.create)(&creation, &decoded);
        assert!(made.is_ok(), "{entry} is written as {written:?}, and that is {made:?}");
        let twice = self.registry.translated_codec(&creation, &decoded, format);
        let is_same = twice.as_ref().is_ok_and(|twice| *twice == written);
        assert!(is_same, "{entry} is written as {written:?}, and then {twice:?}");
    }
}
