//! The rules for data types.

use std::sync::Arc;

use zarr_spec::data_type::{DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, DataType, DataTypeError, Elements, Example, Format, Mode, Reading,
    Registry, Units, Value,
};

use super::elements::{pieces, samples};
use super::tried::{Makes, RuleOf, Tried, suite, text, value};
use super::{Cases, Level, Rule, Suite};
use crate::data_types::OBJECT_ELEMENTS;

pub(super) mod fuzzed;

type TypeOnTrial = Tried<dyn DataType>;

const RULES: &[RuleOf<TypeOnTrial>] = &[
    (
        Rule {
            id: "data-type-document",
            level: Level::L0,
            sentence: "The document that a type writes for a format is read in strict mode as the same type in the same byte \
                       order, and written the same again.",
            source: "`DataType::document`",
            since: "0.1",
        },
        document,
    ),
    (
        Rule {
            id: "data-type-fallback",
            level: Level::L0,
            sentence: "Every fallback in a document of the type has elements of the same size, if both sizes are known.",
            source: "`DataTypeDocument::fallback`; a reader that knows both types refuses the document otherwise",
            since: "0.1",
        },
        fallback,
    ),
    (
        Rule {
            id: "data-type-elements",
            level: Level::L1,
            sentence: "Elements have a size that their kind allows, their units lie within them, and the default fill value \
                       is a valid element.",
            source: "`DataType::elements`, `DataType::kind`, `DataType::default_fill_value`",
            since: "0.1",
        },
        elements,
    ),
    (
        Rule {
            id: "data-type-fill-value",
            level: Level::L1,
            sentence: "The fill value written for an element is read in strict mode with the same bits, and the default fill \
                       value can be written in the format of the example.",
            source: "`DataType::fill_value_json`, `DataType::fill_value`",
            since: "0.1",
        },
        fill_value,
    ),
    (
        Rule {
            id: "data-type-settle",
            level: Level::L1,
            sentence: "Settling bytes results in valid elements, settling again has no effect, and a type that does not settle leaves bytes unchanged.",
            source: "`DataType::settle`, `DataType::check`",
            since: "0.1",
        },
        settle,
    ),
    (
        Rule {
            id: "data-type-print",
            level: Level::L2,
            sentence: "Every element prints as text that is not empty, and foreign bytes never cause a panic.",
            source: "`DataType::print`",
            since: "0.1",
        },
        print,
    ),
    (
        Rule {
            id: "data-type-foreign",
            level: Level::L2,
            sentence: "Bytes and JSON that do not represent an element are an error, never a panic.",
            source: "`DataType::fill_value`, `DataType::fill_value_json`, `DataTypeError::FillValue`",
            since: "0.1",
        },
        foreign,
    ),
];

/// Fill values of many kinds: each is valid for some types, and no type accepts all of them.
const FOREIGN: [&str; 22] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e400",
    "-0.0",
    "18446744073709551616",
    "\"\"",
    "\"NaN\"",
    "\"0x\"",
    "\"0xzz\"",
    "\"0x7fc00000\"",
    "\"AAAA\"",
    "\"é\"",
    "\"-Infinity\"",
    "[]",
    "[1, 2, 3]",
    "[[[[1]]]]",
    "{}",
    "{\"a\": 1}",
    "[256, -1, 1.5, \"x\"]",
];

/// An example and its data type.
struct Use {
    label: String,
    format: Format,
    document: DataTypeDocument,
    data_type: Arc<dyn DataType>,
    order: ByteOrder,
}

pub(super) fn add(registry: &Arc<Registry>, linked: &Registry, suites: &mut Vec<Suite>) {
    for &plugin in linked.data_types().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for dyn DataType {
    fn make(
        tried: &TypeOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        tried.create(example.format, entry, reading).map(drop)
    }
}

impl TypeOnTrial {
    /// Creates the data type of `entry`. In v2, the part of the id after `O/` is the object codec.
    fn create(
        &self,
        format: Format,
        entry: &Value,
        reading: &Reading,
    ) -> Result<(Arc<dyn DataType>, ByteOrder), String> {
        let document = self.type_document(format, entry, reading)?;
        let found = self.registry.data_type_plugin(format, &document, reading).map_err(text)?;
        if found.identifiers != self.plugin.identifiers {
            return Err(format!("`{}` names another data type", document.identifier));
        }
        self.registry.data_type(format, &document, reading).map_err(text)
    }

    fn type_document(
        &self,
        format: Format,
        entry: &Value,
        reading: &Reading,
    ) -> Result<DataTypeDocument, String> {
        let object_codec = self.plugin.identifiers.id.and_then(|id| id.strip_prefix("O/"));
        parse(format, entry, object_codec, reading)
    }

    fn uses(&self) -> Vec<Use> {
        let used = |example: &Example| {
            let entry = value(example.document).ok()?;
            let reading = Reading::new(Mode::Strict);
            let document = self.type_document(example.format, &entry, &reading).ok()?;
            let (data_type, order) = self.create(example.format, &entry, &reading).ok()?;
            let label = format!("{} in {}", example.document, example.format);
            Some(Use { label, format: example.format, document, data_type, order })
        };
        self.examples().iter().filter_map(used).collect()
    }
}

fn parse(
    format: Format,
    entry: &Value,
    object_codec: Option<&str>,
    reading: &Reading,
) -> Result<DataTypeDocument, String> {
    let document = match format {
        Format::V2 => DataTypeDocument::v2(entry, object_codec, reading)
            .map(|document| document.with_object_elements(Some(&Value::from(OBJECT_ELEMENTS)))),
        Format::V3Draft => DataTypeDocument::draft(entry, reading),
        Format::V3 => DataTypeDocument::v3(entry, reading),
    };
    document.map_err(text)
}

impl Use {
    /// Returns single elements: unusual ones and the default fill value.
    fn elements(&self) -> Vec<Vec<u8>> {
        let fill_value = self.data_type.default_fill_value();
        let array = ArrayRepresentation::new(vec![12], Arc::clone(&self.data_type), fill_value.clone())
            .with_byte_order(self.order.clone());
        let mut elements = vec![fill_value.bytes().to_vec()];
        for sample in samples(&array) {
            match self.data_type.elements().size() {
                Some(0) => {}
                Some(size) => elements.extend(sample.bytes.chunks(size).map(<[u8]>::to_vec)),
                None => elements.extend(pieces(&sample.bytes, 12)),
            }
        }
        elements.sort_unstable();
        elements.dedup();
        elements
    }

    /// Checks whether documents of `format` can name the type.
    fn is_in(&self, format: Format) -> bool {
        self.data_type.document(format, &self.order).is_ok()
    }

    /// Writes an element to a document of `format` and reads it back. Returns `None` if the format cannot represent
    /// the element.
    fn again(&self, element: &[u8], format: Format) -> Result<Option<Vec<u8>>, String> {
        let written = match self.data_type.fill_value_json(element, format, &self.order) {
            Ok(written) => written,
            // v2 cannot represent some elements, except as the default fill value.
            Err(_) if format != self.format => return Ok(None),
            Err(_) if format == Format::V2 && element != self.data_type.default_fill_value().bytes() => {
                return Ok(None);
            }
            Err(error) => return Err(format!("it cannot be written: {error}")),
        };
        let options = zarr_json::ParseOptions { bare_non_finite: true, ..zarr_json::ParseOptions::default() };
        let parsed = zarr_json::parse(written.to_string().as_bytes(), &options).map_err(text)?.value;
        let undefined = format != Format::V3 && parsed.is_null();
        if undefined {
            // In v2 and the draft, `null` is an undefined fill value, for which a reader uses the default one.
            return Ok(Some(self.data_type.default_fill_value().bytes().to_vec()));
        }
        let reading = Reading::new(Mode::Strict);
        let context = FillContext::new(format, &reading).with_byte_order(&self.order);
        let read = self.data_type.fill_value(&parsed, &context);
        read.map(|fill| Some(fill.bytes().to_vec()))
            .map_err(|error| format!("it is written as {written}, which cannot be read: {error}"))
    }
}

fn document(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let name = used.data_type.name();
        let orders = [used.order.clone(), ByteOrder::Little, ByteOrder::Big];
        for format in Format::ALL {
            for order in &orders {
                let written = match used.data_type.document(format, order) {
                    Ok(written) => written,
                    Err(DataTypeError::NotInFormat { .. }) if format != used.format => {
                        cases.skip(format!("{format} cannot represent some"));
                        continue;
                    }
                    Err(error) => {
                        cases.check(&used.label, Err(error.to_string()));
                        continue;
                    }
                };
                let reading = Reading::new(Mode::Strict);
                let object_codec = written.identifier.strip_prefix("O/");
                let parsed = parse(format, &written.json, object_codec, &reading);
                let is_there = |document| trial.registry.data_type_plugin(format, document, &reading).is_ok();
                if format != used.format && !parsed.as_ref().is_ok_and(is_there) {
                    cases.skip(format!("in {format}, some belong to another type, which is not linked"));
                    continue;
                }
                let result = parsed.and_then(|document| {
                    let (again, declared) =
                        trial.registry.data_type(format, &document, &reading).map_err(text)?;
                    let twice = again.document(format, &declared).map_err(text)?;
                    // Another format may have the same document for two types, so the name may differ.
                    let is_same = match format == used.format {
                        true => again.name() == name,
                        false => again.elements() == used.data_type.elements(),
                    };
                    match (is_same, twice.json == written.json) {
                        (true, true) => Ok(()),
                        (false, _) => Err(format!("it is read as {}", again.name())),
                        (_, false) => Err(format!("it is read and then written as {}", twice.json)),
                    }
                });
                let result = result.and_then(|()| match reading.take_warnings().first() {
                    None => Ok(()),
                    Some(warning) => Err(format!("reading it causes a warning: {warning}")),
                });
                cases.check(format!("{}, as {} in {format}", used.label, written.json), result);
            }
        }
    }
}

fn fallback(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let Some(size) = used.data_type.elements().size() else {
            cases.skip("elements of variable size cannot be compared");
            continue;
        };
        for format in Format::ALL {
            let written = used.data_type.document(format, &used.order).ok();
            let named = written.into_iter().chain((format == used.format).then(|| used.document.clone()));
            for other in named.flat_map(|document| document.fallback) {
                let Some(other_size) = size_of(&trial.registry, format, &other) else {
                    cases.skip("a fallback is of an unknown type");
                    continue;
                };
                cases.holds(
                    format!("{}, fallback {} in {format}", used.label, other.json),
                    size == other_size,
                    || format!("elements have {size} bytes, but those of the fallback have {other_size}"),
                );
            }
        }
    }
}

/// Returns the element size of a type that a fallback names, either a linked type or a core type of the formats.
fn size_of(registry: &Registry, format: Format, document: &DataTypeDocument) -> Option<usize> {
    if let Ok((data_type, _)) = registry.data_type(format, document, &Reading::new(Mode::Lenient)) {
        return data_type.elements().size();
    }
    let name = document.identifier.as_str();
    if let Some(bits) = name.strip_prefix('r').and_then(|bits| bits.parse::<usize>().ok()) {
        return Some(bits.div_ceil(8));
    }
    let sizes: [(usize, &[&str]); 5] = [
        (1, &["bool", "int8", "uint8"]),
        (2, &["int16", "uint16", "float16"]),
        (4, &["int32", "uint32", "float32"]),
        (8, &["int64", "uint64", "float64", "complex64"]),
        (16, &["complex128"]),
    ];
    sizes.into_iter().find(|(_, names)| names.contains(&name)).map(|(size, _)| size)
}

fn elements(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let elements = used.data_type.elements();
        let fill = used.data_type.default_fill_value();
        cases.check(&used.label, used.data_type.check(fill.bytes()).map_err(text));
        let Elements::Fixed { size, units } = elements else { continue };
        cases.holds(&used.label, fill.bytes().len() == size, || {
            format!("the fill value has {} bytes, but elements have {size}", fill.bytes().len())
        });
        let fits = match &units {
            Units::Uniform(unit) => *unit > 0 && size.is_multiple_of(*unit),
            Units::Fields(units) => units.iter().all(|unit| unit.offset + unit.size <= size),
        };
        cases.holds(&used.label, fits, || format!("elements of {size} bytes have the units {units:?}"));
        let sizes: &[usize] = match used.data_type.kind() {
            Some(Kind::Bool) => &[1],
            Some(Kind::Int | Kind::UInt) => &[1, 2, 4, 8],
            Some(Kind::Float) => &[2, 4, 8],
            Some(Kind::BFloat) => &[2],
            Some(Kind::Complex) => &[4, 8, 16],
            _ => continue,
        };
        cases.holds(&used.label, sizes.contains(&size), || wrong_kind(used.data_type.kind(), sizes, size));
    }
}

fn wrong_kind(kind: Option<Kind>, sizes: &[usize], size: usize) -> String {
    let kind = kind.map_or_else(|| "nothing".to_owned(), |kind| format!("{kind:?}"));
    let (last, others) = sizes.split_last().map_or((0, &[][..]), |(last, others)| (*last, others));
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    let sizes = if others.is_empty() { last.to_string() } else { format!("{} or {last}", others.join(", ")) };
    format!("`kind` is {kind}, which requires elements of {sizes} bytes, but they have {size}; return None")
}

fn fill_value(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        for element in used.elements() {
            for format in Format::ALL.into_iter().filter(|format| used.is_in(*format)) {
                let result = match used.again(&element, format) {
                    Ok(None) => {
                        cases.skip(format!("{format} cannot represent some"));
                        continue;
                    }
                    Ok(Some(again)) if again == element => Ok(()),
                    Ok(Some(again)) => Err(format!("it is read back as {again:02x?}")),
                    Err(what) => Err(what),
                };
                cases.check(format!("{}, element {element:02x?} in {format}", used.label), result);
            }
        }
    }
}

impl Use {
    /// Returns the printed form; `None` if printing fails.
    fn printed(&self, element: &[u8]) -> Option<String> {
        let mut text = String::new();
        self.data_type.print(element, &mut text).ok()?;
        Some(text)
    }
}

fn settle(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let Some(size) = used.data_type.elements().size() else {
            cases.skip("elements of variable size are checked individually");
            continue;
        };
        if size > 1024 {
            cases.skip("elements are too large");
            continue;
        }
        for byte in 0..=u8::MAX {
            let stored = vec![byte; size * 2];
            let mut once = stored.clone();
            let result = used.data_type.settle(&mut once, Mode::Lenient).map_err(text).and_then(|()| {
                let mut twice = once.clone();
                used.data_type.settle(&mut twice, Mode::Lenient).map_err(text)?;
                match () {
                    () if twice != once => Err(format!("settling {once:02x?} again results in {twice:02x?}")),
                    () if once != stored && !used.data_type.settles() => {
                        Err(format!("settling changes them to {once:02x?}, but `settles` returns false"))
                    }
                    () => Ok(()),
                }
            });
            cases.check(format!("{}, bytes {byte:#04x}", used.label), result);
        }
    }
}

fn print(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        for element in used.elements() {
            let is_text = used.data_type.elements().size().is_none() || element.iter().all(|byte| *byte == 0);
            let holds = used.printed(&element).is_some_and(|text| is_text || !text.is_empty());
            cases.holds(format!("{}, element {element:02x?}", used.label), holds, || {
                "the printed text is empty".to_owned()
            });
        }
        let size = used.data_type.elements().size().unwrap_or(7);
        for length in [0, 1, size.saturating_sub(1), size + 1] {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let _any = (used.printed(&vec![byte; length]), used.data_type.check(&vec![byte; length]));
            }
        }
    }
}

fn foreign(trial: &TypeOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let size = used.data_type.elements().size();
        for length in [0, 1, size.unwrap_or(7) + 1, size.unwrap_or(7).saturating_sub(1)] {
            for byte in [0, 0x7f, 0x80, 0xff] {
                let written = used.data_type.fill_value_json(&vec![byte; length], used.format, &used.order);
                if size.is_none_or(|size| size == length) {
                    continue;
                }
                cases.holds(format!("{}, {length} bytes {byte:#04x}", used.label), written.is_err(), || {
                    format!("expected an error, but they are written as {written:?}")
                });
            }
        }
        let reading = Reading::new(Mode::Lenient);
        let context = FillContext::new(used.format, &reading).with_byte_order(&used.order);
        for json in FOREIGN.iter().flat_map(|text| value(text)) {
            if used.format != Format::V3 && json.is_null() {
                continue;
            }
            let result = match used.data_type.fill_value(&json, &context) {
                Ok(fill) if size.is_some_and(|size| size != fill.bytes().len()) => {
                    Err(format!("it has {} bytes", fill.bytes().len()))
                }
                Ok(fill) => used.data_type.check(fill.bytes()).map_err(text),
                Err(DataTypeError::FillValue(_)) => Ok(()),
                Err(error) => Err(format!("unexpected error {error:?}")),
            };
            cases.check(format!("{}, fill value {json}", used.label), result);
        }
    }
}
