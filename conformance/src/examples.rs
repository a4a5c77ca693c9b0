//! What every plugin says of itself: one sentence, and examples that do what they promise.

use std::sync::Arc;

use zarr_spec::chain::inner_grid_shape;
use zarr_spec::codec::numbers::{AnyNumber, Number, Operand, cast_each};
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::{ExtensionDocument, ExtensionPlace, ExtensionPlugin};
use zarr_spec::grid::ChunkGridPlugin;
use zarr_spec::json;
use zarr_spec::json::ParseOptions;
use zarr_spec::key_encoding::ChunkKeyEncodingPlugin;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::metadata::parse_entry;
use zarr_spec::metadata_encoding::MetadataEncodingPlugin;
use zarr_spec::registry::{Plugin, Table};
use zarr_spec::store::StoreConfiguration;
use zarr_spec::{
    About, ArrayRepresentation, ByteOrder, Codec, CodecPlugin, Creation, DataType, DataTypePlugin, Example,
    Format, Loss, Mode, Reading, Registry, Representation, Value,
};

use crate::codecs::{decode, encode};
use crate::data_types::Subject;
use crate::items;

/// The most characters of a summary.
const SUMMARY_LENGTH: usize = 120;

/// What an example without data types is tried with.
const ANY_TYPE: [&str; 7] = ["uint8", "bool", "int16", "float32", "float64", "complex64", "string"];

/// What an example without a shape is tried with.
const ANY_SHAPE: [u64; 2] = [4, 6];

/// A member that no plugin has.
const UNKNOWN: &str = "member that nobody knows";

/// Holds all plugins of a registry to this: each has a summary of one sentence, and an example at least for each format
/// that names it. Each example is in the words of its format: it is read strictly and without a warning, works with its
/// data types and shapes, and keeps what it says of loss. Of v3 and the draft, it is refused with one more member.
///
/// # Errors
///
/// Everything that is wrong, one line each.
pub fn check(registry: &Registry) -> Result<(), String> {
    let mut all = All { registry, wrong: Vec::new() };
    all.table(registry.codecs(), codec);
    all.table(registry.data_types(), data_type);
    all.table(registry.chunk_grids(), chunk_grid);
    all.table(registry.chunk_key_encodings(), chunk_key_encoding);
    all.table(registry.memory_layouts(), memory_layout);
    all.table(registry.metadata_encodings(), metadata_encoding);
    all.table(registry.storage_transformers(), |plugin, at| {
        let document = at.document(at.registry.storage_transformers(), plugin)?;
        (plugin.create)(&at.creation(&document), at.shape()).map(drop).map_err(text)
    });
    all.table(registry.extensions(), extension);
    for store in registry.stores() {
        let examples = store.about.examples.iter().filter_map(|example| value(example.document).ok());
        let is_there = examples.into_iter().any(|example| has_type(&example, store.name));
        let complete = if is_there { Ok(()) } else { Err("there is no example of this type".to_owned()) };
        all.about(&format!("store `{}`", store.name), &store.about, complete, |at| {
            let store: Box<dyn StoreConfiguration> = json::from_value(at.entry).map_err(text)?;
            store.open().map(drop).map_err(text)
        });
    }
    if all.wrong.is_empty() { Ok(()) } else { Err(all.wrong.join("\n")) }
}

/// All plugins, and what is wrong with them.
struct All<'a> {
    registry: &'a Registry,
    wrong: Vec<String>,
}

impl All<'_> {
    fn table<P: Plugin>(&mut self, table: &Table<P>, try_one: fn(&P, &Attempt<'_>) -> Result<(), String>) {
        for plugin in table.iter() {
            let identifiers = plugin.identifiers();
            let names = [Some(identifiers.name), identifiers.id, identifiers.uri];
            let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
            let has_example =
                |format: &Format| plugin.about().examples.iter().any(|example| example.format == *format);
            let mut named = Format::ALL.into_iter().filter(|f| self.registry.name_in(plugin, *f).is_some());
            let missing = named.find(|format| !has_example(format));
            let complete = missing.map_or(Ok(()), |format| Err(format!("there is no example of {format}")));
            self.about(&format!("{} `{name}`", P::POINT), plugin.about(), complete, |at| try_one(plugin, at));
        }
    }

    fn about(
        &mut self,
        name: &str,
        about: &About,
        complete: Result<(), String>,
        try_one: impl Fn(&Attempt<'_>) -> Result<(), String>,
    ) {
        let mut results = vec![complete, check_summary(about.summary)];
        for example in about.examples {
            let result = self.example(example, &try_one);
            results.push(result.map_err(|what| format!("{}: {what}", example.document)));
        }
        self.wrong.extend(results.into_iter().filter_map(Result::err).map(|what| format!("{name}: {what}")));
    }

    fn example(
        &self,
        example: &Example,
        try_one: impl Fn(&Attempt<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let entry = value(example.document)?;
        let reading = Reading::new(Mode::Strict);
        try_one(&Attempt { registry: self.registry, example, entry: &entry, reading: &reading })?;
        if let Some(warning) = reading.take_warnings().first() {
            return Err(format!("a warning: {warning}"));
        }
        let reading = Reading::new(Mode::Lenient);
        match with_unknown_member(example.format, &entry) {
            Some(entry) => {
                match try_one(&Attempt { registry: self.registry, example, entry: &entry, reading: &reading })
                {
                    Ok(()) => Err(format!("{entry} is not refused")),
                    Err(_refused) => Ok(()),
                }
            }
            None => Ok(()),
        }
    }
}

fn check_summary(summary: &str) -> Result<(), String> {
    let Some(sentence) = summary.strip_suffix('.') else {
        return Err(format!("the summary is no sentence with a full stop: {summary:?}"));
    };
    if sentence.trim().is_empty() || sentence.contains(". ") || sentence.contains('\n') {
        return Err(format!("the summary is not one sentence: {summary:?}"));
    }
    match summary.chars().count() {
        0..=SUMMARY_LENGTH => Ok(()),
        length => Err(format!("the summary has {length} characters, more than {SUMMARY_LENGTH}")),
    }
}

/// An example, and how it is read.
struct Attempt<'a> {
    registry: &'a Registry,
    example: &'a Example,
    entry: &'a Value,
    reading: &'a Reading,
}

impl Attempt<'_> {
    fn shape(&self) -> &[u64] {
        if self.example.shape.is_empty() { &ANY_SHAPE } else { self.example.shape }
    }

    /// What the document says, by the name that is written for `plugin`.
    fn document<P: Plugin>(&self, table: &Table<P>, plugin: &P) -> Result<ExtensionDocument, String> {
        let format = self.example.format;
        let document = parse_entry(P::POINT, format, self.entry, self.shape(), self.reading).map_err(text)?;
        let found = table.find(format, &document.identifier, self.reading).map_err(text)?;
        let is_written = [plugin.identifiers().in_format(format), Some(plugin.identifiers().name)]
            .contains(&Some(document.identifier.as_str()));
        if found.identifiers() != plugin.identifiers() || !is_written {
            return Err(format!("`{}` is not what {format} calls it", document.identifier));
        }
        Ok(document)
    }

    fn creation<'c>(&'c self, document: &'c ExtensionDocument) -> Creation<'c> {
        Creation {
            format: self.example.format,
            identifier: &document.identifier,
            configuration: &document.configuration,
            type_name: document.type_name.as_ref(),
            registry: self.registry,
            reading: self.reading,
        }
    }

    /// The data types that it says it works with. Of any type, those that the registry has.
    fn types(&self) -> Result<Vec<Arc<dyn DataType>>, String> {
        let named = self.example.data_types;
        let of_name = |name: &&str| {
            // What has no name without a configuration is an object.
            let json = if name.starts_with('{') { value(name)? } else { Value::from(*name) };
            let document = DataTypeDocument::v3(&json, self.reading).map_err(text)?;
            let created = self.registry.data_type(Format::V3, &document, self.reading);
            created.map(|(data_type, _order)| data_type).map_err(text)
        };
        if named.is_empty() {
            return Ok(ANY_TYPE.iter().flat_map(of_name).collect());
        }
        named.iter().map(of_name).collect()
    }

    fn array(&self, data_type: &Arc<dyn DataType>) -> ArrayRepresentation {
        ArrayRepresentation {
            shape: self.shape().to_vec(),
            data_type: Arc::clone(data_type),
            fill_value: data_type.default_fill_value(),
            byte_order: ByteOrder::Little,
        }
    }
}

fn codec(plugin: &CodecPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.codecs(), plugin)?;
    for data_type in at.types()? {
        let array = at.array(&data_type);
        let (creation, bytes) = (at.creation(&document), Representation::Bytes(array.size()));
        let created = (plugin.create)(&creation, &Representation::Array(array.clone()));
        let created = created.or_else(|error| (plugin.create)(&creation, &bytes).map_err(|_| error));
        let result = created.map_err(text).and_then(|codec| round_trip(&codec, &array, at.example.loss));
        result.map_err(|what| format!("{}: {what}", data_type.name()))?;
    }
    Ok(())
}

fn chunk_grid(plugin: &ChunkGridPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.chunk_grids(), plugin)?;
    let grid = (plugin.create)(&at.creation(&document), at.shape()).map_err(text)?;
    for (dimension, &length) in at.shape().iter().enumerate() {
        for element in 0..length {
            let chunk = grid.chunk_of(dimension, element).map_err(text)?;
            let range = grid.chunk_range(dimension, chunk).map_err(text)?;
            if !range.contains(&element) {
                return Err(format!("element {element} of dimension {dimension} is not in chunk {chunk}"));
            }
        }
    }
    Ok(())
}

fn chunk_key_encoding(plugin: &ChunkKeyEncodingPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.chunk_key_encodings(), plugin)?;
    let encoding = (plugin.create)(&at.creation(&document)).map_err(text)?;
    for index in [vec![], vec![7], vec![0, 0], vec![10, 2]] {
        let mut key = String::new();
        encoding.encode(&index, &mut key);
        let again = encoding.decode(&key, index.len());
        if again.as_ref() != Some(&index) {
            return Err(format!("{index:?} is {key:?}, and that is {again:?}"));
        }
    }
    Ok(())
}

fn memory_layout(plugin: &MemoryLayoutPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.memory_layouts(), plugin)?;
    let layout = (plugin.create)(&at.creation(&document), at.shape().len()).map_err(text)?;
    at.types()?
        .into_iter()
        .filter(|data_type| data_type.elements().size().is_some())
        .try_for_each(|data_type| round_trip(&layout, &at.array(&data_type), at.example.loss))
}

fn metadata_encoding(plugin: &MetadataEncodingPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.metadata_encodings(), plugin)?;
    let encoding = (plugin.create)(&at.creation(&document)).map_err(text)?;
    let bytes = encoding.encode(at.entry).map_err(text)?;
    let again = encoding.decode(&bytes, at.reading).map_err(text)?;
    if again == *at.entry { Ok(()) } else { Err(format!("as a document it comes back as {again}")) }
}

fn extension(plugin: &ExtensionPlugin, at: &Attempt<'_>) -> Result<(), String> {
    let document = at.document(at.registry.extensions(), plugin)?;
    // What fits any shape is not about an array.
    let place = match at.example.shape {
        [] => ExtensionPlace::EntryPoint,
        shape => ExtensionPlace::Array(shape),
    };
    (plugin.create)(&at.creation(&document), place).map(drop).map_err(text)
}

fn has_type(store: &Value, name: &str) -> bool {
    member(store, "type").and_then(Value::as_str) == Some(name)
}

fn data_type(plugin: &DataTypePlugin, at: &Attempt<'_>) -> Result<(), String> {
    let format = at.example.format;
    let object_codec = plugin.identifiers.id.and_then(|id| id.strip_prefix("O/"));
    let document = match format {
        Format::V2 => DataTypeDocument::v2(at.entry, object_codec, at.reading),
        Format::V3Draft => DataTypeDocument::draft(at.entry, at.reading),
        Format::V3 => DataTypeDocument::v3(at.entry, at.reading),
    };
    let document = document.map_err(text)?;
    let found = at.registry.data_type_plugin(format, &document, at.reading).map_err(text)?;
    if found.identifiers != plugin.identifiers {
        return Err(format!("`{}` is another data type", document.identifier));
    }
    let mode = at.reading.mode();
    let subject = Subject::with_object_codec(at.registry, format, mode, &at.entry.to_string(), object_codec)
        .map_err(text)?;
    if let Some(warning) = subject.warnings.first() {
        at.reading.warn(warning.as_str());
    }
    let fill = subject.json(subject.data_type.default_fill_value().bytes()).map_err(text)?;
    subject.check(at.registry, &[&fill])
}

/// Encodes a chunk, decodes it, and looks at what was lost.
fn round_trip(codec: &Codec, array: &ArrayRepresentation, loss: Loss) -> Result<(), String> {
    match codec {
        Codec::ArrayToArray(codec) => drop(codec.encoded(array).map_err(text)?),
        Codec::ArrayToBytes(codec) => drop(codec.encoded_size(array).map_err(text)?),
        Codec::BytesToBytes(_) => {}
        Codec::Permutation(order) => {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let is_one = sorted.into_iter().eq(0..array.shape.len());
            return is_one.then_some(()).ok_or_else(|| format!("{order:?} is no permutation of dimensions"));
        }
        Codec::Shard(shard) => {
            return inner_grid_shape(&array.shape, &shard.inner_shape).map(drop).map_err(text);
        }
        Codec::Checksum(checksum) => {
            let mut written = [vec![0x00; checksum.size()], vec![0xff; checksum.size()]];
            written.iter_mut().for_each(|written| checksum.checksum(b"123456789", written));
            let is_whole = written[0] == written[1];
            return is_whole.then_some(()).ok_or_else(|| "not all of the checksum is written".to_owned());
        }
        // The engine runs all others.
        _ => return Ok(()),
    }
    let elements = elements(array)?;
    let again = |decoded: &[u8]| -> Result<Vec<u8>, String> {
        let encoded = encode(codec, array, decoded).map_err(|error| format!("encoding: {error}"))?;
        decode(codec, array, &encoded, decoded.len().max(elements.len()))
            .map_err(|error| format!("decoding what was encoded: {error}"))
    };
    let decoded = again(&elements)?;
    let lost = match loss {
        Loss::Nothing => decoded != elements,
        Loss::Absolute(bound) => exceeds(array, &elements, &decoded, |_| bound)?,
        Loss::Relative(bound) => exceeds(array, &elements, &decoded, |element| bound * element.abs())?,
        Loss::Unbounded => again(&decoded)? != decoded,
    };
    if lost { Err(format!("more is lost than it says, which is {loss:?}")) } else { Ok(()) }
}

/// Whether numbers differ by more than `bound` says for what they were; parts of complex ones each for itself.
fn exceeds(
    array: &ArrayRepresentation,
    before: &[u8],
    after: &[u8],
    bound: impl Fn(f64) -> f64,
) -> Result<bool, String> {
    let of = <AnyNumber as Operand>::of(&*array.data_type).ok_or("only numbers have a loss with a bound")?;
    if before.len() != after.len() {
        return Ok(true);
    }
    let real = |bytes: &[u8]| -> Vec<f64> {
        let (AnyNumber::Number(number) | AnyNumber::Narrow(number, _)) = of else {
            let (elements, _none) = bytes.as_chunks::<2>();
            // The upper half of the bits of a binary32.
            let widened = elements.iter().map(|element| u32::from(u16::from_ne_bytes(*element)) << 16);
            return widened.map(|bits| f64::from(f32::from_bits(bits))).collect();
        };
        let mut complex = vec![0; bytes.len() / number.size() * Number::C128.size()];
        cast_each((number, bytes), (Number::C128, &mut complex));
        let (parts, _none) = complex.as_chunks::<8>();
        parts.iter().map(|part| f64::from_ne_bytes(*part)).collect()
    };
    let (before, after) = (real(before), real(after));
    Ok(before.iter().zip(&after).any(|(before, after)| {
        let difference = (before - after).abs();
        // Not a number exceeds everything.
        difference.is_nan() || difference > bound(*before)
    }))
}

/// A chunk of elements that are not all the same, as far as the data type has some.
fn elements(array: &ArrayRepresentation) -> Result<Vec<u8>, String> {
    let reading = Reading::new(Mode::Strict);
    let context = FillContext { format: Format::V3, reading: &reading, byte_order: &array.byte_order };
    let integers = (-20..20).map(|n| Value::from(n * 5));
    let floats = (-20..20).map(|n| Value::from(f64::from(n) * 1.37));
    let texts = ["", "a", "zwölf", "{}"].map(Value::from);
    let others = [Value::Bool(true), Value::Bool(false), Value::from(1), Value::Array(vec![])];
    let complex = (0..5).map(|n| [f64::from(n) * 0.7, -1.5].into_iter().collect());
    let all = floats.chain(integers).chain(others).chain(texts).chain(complex);
    let mut elements: Vec<_> = all.flat_map(|json| array.data_type.fill_value(&json, &context)).collect();
    elements.push(array.data_type.default_fill_value());
    let count = array.element_count().ok_or("the chunk is too large")?;
    let mut chunk = elements.iter().map(zarr_spec::FillValue::bytes).cycle();
    Ok(match array.data_type.elements().size() {
        Some(_) => chunk.by_ref().take(count).flatten().copied().collect(),
        None => items(&chunk.by_ref().take(count).collect::<Vec<_>>()),
    })
}

/// The same with a member too many, where the format refuses that.
fn with_unknown_member(format: Format, entry: &Value) -> Option<Value> {
    if format == Format::V2 {
        return None;
    }
    if let Some(name) = entry.as_str() {
        // The draft has no configuration of what it calls by a plain name.
        return (format == Format::V3)
            .then(|| json!({"name": name, "configuration": {"member that nobody knows": 1}}));
    }
    let mut entry = entry.clone();
    let is_uri =
        |name: &str| member(&entry, name).and_then(Value::as_str).is_some_and(|name| name.contains(':'));
    let is_nested = is_uri("extension") || is_uri("type") || member(&entry, "name").is_some();
    let members = entry.as_object_mut()?;
    if !is_nested {
        members.insert(UNKNOWN, 1);
        return Some(entry);
    }
    let mut configuration = members.remove("configuration").unwrap_or(Value::Object(json::Object::new()));
    configuration.as_object_mut()?.insert(UNKNOWN, 1);
    members.insert("configuration", configuration);
    Some(entry)
}

fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.as_object()?.get(name)
}

fn value(document: &str) -> Result<Value, String> {
    let parsed = json::parse(document.as_bytes(), &ParseOptions::default()).map_err(text)?;
    match parsed.remarks.first() {
        Some(remark) => Err(remark.to_string()),
        None => Ok(parsed.value),
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use zarr_spec::codec::BytesToBytesCodec;
    use zarr_spec::{CodecError, Identifiers, Output};

    use super::*;

    /// Keeps all bytes but the last bits of each.
    #[derive(Debug)]
    struct Masked;

    impl BytesToBytesCodec for Masked {
        fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
            decoded.iter().try_for_each(|byte| Ok(encoded.put(&[byte & 0xfe])?))
        }

        fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
            Ok(decoded.put(encoded)?)
        }
    }

    fn create(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
        Ok(Codec::BytesToBytes(Arc::new(Masked)))
    }

    /// What is wrong with a codec that says this of itself.
    fn wrong(summary: &'static str, examples: &'static [Example]) -> String {
        let mut registry = crate::registry();
        registry.register(CodecPlugin::new(Identifiers::name("a"), create).about(summary, examples)).unwrap();
        let all = check(&registry).unwrap_err();
        all.lines().filter(|line| line.starts_with("codec")).collect()
    }

    #[test]
    fn a_codec_that_says_nothing_is_wrong() {
        let wrong = wrong("", &[]);
        assert!(wrong.contains("there is no example of v3"), "{wrong}");
        assert!(wrong.contains("the summary is no sentence with a full stop"), "{wrong}");
    }

    #[test]
    fn a_codec_that_loses_more_than_it_says_is_wrong() {
        const EXAMPLES: &[Example] = &[Example::v3(r#""a""#)];
        let wrong = wrong("Clears bits.", EXAMPLES);
        assert!(wrong.ends_with("more is lost than it says, which is Nothing"), "{wrong}");
    }

    #[test]
    fn a_codec_that_takes_any_member_is_wrong() {
        const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "a"}"#).with_loss(Loss::Unbounded)];
        let wrong = wrong("Clears bits.", EXAMPLES);
        assert!(wrong.ends_with(r#"{"member that nobody knows":1}} is not refused"#), "{wrong}");
    }

    #[test]
    fn a_summary_is_one_sentence() {
        assert_eq!(check_summary("Does this, and that (RFC 1)."), Ok(()));
        for wrong in
            ["", ".", "No full stop", "Two. Sentences.", "Two\nlines.", &format!("{}.", "long ".repeat(30))]
        {
            assert!(check_summary(wrong).is_err(), "{wrong}");
        }
    }
}
