//! Property tests: documents are read and written back, chunks pass through codec chains of plugins, and
//! selections return the right elements.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use zarr_conformance::chains::StepByStep;
use zarr_conformance::strategies::{
    arb_chunk, arb_metadata, arb_representation_of, arb_selection, arb_shape, arb_subset,
};
use zarr_interop::raw;
use zarr_kit::json;
use zarr_kit::metadata::draft::{self, Generation};
use zarr_kit::metadata::{
    ArrayMetadata, DocumentError, DocumentKind, NodeMetadata, parse_json, parse_json_member, v2, v3,
};
use zarr_kit::spec::codec::RunChain;
use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::host::chain::ChainCreation;
use zarr_kit::spec::{ArrayRepresentation, CodecChain, DataType, Output, Reading, Value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Mode, Registry, Selection, open_store};

fn runner(cases: u32) -> TestRunner {
    // The message contains the seed of a failure, so no file is written.
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

fn read(format: Format, document: &Value) -> Result<ArrayMetadata, DocumentError> {
    let reading = Reading::new(Mode::Strict);
    let array = match format {
        Format::V2 => v2::parse_array(document, None, &reading)?,
        Format::V3Draft => draft::parse_array(document, Generation::B, &reading)?,
        Format::V3 => match v3::parse_node(document, &reading)? {
            NodeMetadata::Array(array) => *array,
            NodeMetadata::Group(_) => return Err(DocumentError::document("is the document of a group")),
        },
    };
    let warnings = reading.take_warnings();
    if warnings.is_empty() { Ok(array) } else { Err(DocumentError::document(warnings.join("; "))) }
}

fn written(array: &ArrayMetadata) -> Result<Value, DocumentError> {
    match array.format {
        Format::V2 => v2::array_document(array),
        Format::V3Draft => draft::array_document(array),
        Format::V3 => v3::array_document(array),
    }
}

/// Tests V2-ARR-03, D3-ARR-02, V3-ARR-01.
#[test]
fn documents_of_each_format_round_trip_in_strict_mode() {
    for format in Format::ALL {
        let tested = runner(150).run(&arb_metadata(format), |document| {
            let array = read(format, &document).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let again = written(&array).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(read(format, &again), Ok(array.clone()), "{}", again);
            // Writing normalizes the form, so a second round trip changes nothing, and no member is lost.
            prop_assert_eq!(written(&read(format, &again).unwrap()), Ok(again.clone()));
            for (name, member) in document.as_object().unwrap() {
                let is_said = again.as_object().unwrap().get(name).is_some();
                let is_empty = member.as_array().is_some_and(<[Value]>::is_empty);
                prop_assert!(is_said || is_empty, "{} is missing in {}", name, again);
            }
            Ok(())
        });
        tested.unwrap_or_else(|failure| panic!("{format}: {failure}"));
    }
}

/// Generates JSON, sometimes with typical mistakes: duplicate names, bare `NaN`, trailing commas.
fn arb_nearly_json() -> impl Strategy<Value = String> {
    const WORDS: &str = r#"null|true|false|0|-0|1e400|-1.5E+3|""|"array"|"a\u00e9"|[]|{}"#;
    const WRONG: &str = "NaN|Infinity|-Infinity|nul|01|1.|+1|\"\\ud800\"|\"\\x\"|\"\n\"|/**/1||\"";
    let one_of = |words: &'static str| prop::sample::select(words.split('|').collect::<Vec<_>>());
    let word = prop_oneof![40 => one_of(WORDS), 1 => one_of(WRONG)].prop_map(str::to_owned);
    let name = prop_oneof![
        60 => (0..1000).prop_map(|number| format!("\"{number}\"")),
        3 => one_of(r#""node_type"|"attributes"|"\u0031"|""|"metadata""#).prop_map(str::to_owned),
    ];
    let value = word.prop_recursive(4, 60, 24, move |inner| {
        let member = (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        let comma = || prop_oneof![40 => Just(""), 1 => Just(",")];
        prop_oneof![
            1 => (prop::collection::vec(inner, 0..4), comma())
                .prop_map(|(elements, comma)| format!("[{}{comma}]", elements.join(", "))),
            3 => (prop::collection::vec(member, 0..24), comma())
                .prop_map(|(members, comma)| format!("{{{}{comma}}}", members.join(","))),
        ]
    });
    let around = |odd: &'static str| prop_oneof![30 => Just(""), 1 => Just(odd)];
    (around("\u{feff}"), value, around(" x"))
        .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

/// Tests V2-ARR-21, D3-DOC-06.
#[test]
fn reading_one_member_of_a_document_is_as_strict_as_reading_all() {
    let kinds =
        [DocumentKind::V2, DocumentKind::V2Attributes, DocumentKind::V2Consolidated, DocumentKind::V3];
    let read = Cell::new(0);
    let odd = Cell::new(0);
    let refused = Cell::new(0);
    let count = |cell: &Cell<usize>| cell.set(cell.get() + 1);
    let tested = runner(1500).run(&arb_nearly_json(), |text| {
        for (kind, mode) in kinds.into_iter().flat_map(|kind| [(kind, Mode::Strict), (kind, Mode::Lenient)]) {
            let whole = Reading::new(mode);
            let alone = Reading::new(mode);
            let document = parse_json(text.as_bytes(), kind, &whole);
            let wanted = document
                .map(|document| document.as_object().and_then(|members| members.get("node_type")).cloned());
            let found = parse_json_member(text.as_bytes(), kind, "node_type", &alone);
            prop_assert_eq!(&found, &wanted, "{}", text);
            let warnings = whole.take_warnings();
            count(match found {
                Ok(_) if warnings.is_empty() => &read,
                Ok(_) => &odd,
                Err(_) => &refused,
            });
            prop_assert_eq!(alone.take_warnings(), warnings, "{}", text);
        }
        Ok(())
    });
    tested.unwrap();
    let counts = [read, odd, refused].map(Cell::into_inner);
    assert!(counts.into_iter().all(|count| count > 200), "{counts:?}");
}

/// The name of a data type in v3, and the codecs of a chunk with that type.
const CHAINS: &[(&str, &str)] = &[
    ("int16", r#"[{"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]"#),
    (
        "float64",
        r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": true}}]"#,
    ),
    (
        "complex64",
        r#"[{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 1}}]"#,
    ),
    (
        "uint32",
        r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}, {"name": "numcodecs.fletcher32"}]"#,
    ),
    ("int4", r#"["bytes"]"#),
    ("bool", r#"["packbits"]"#),
    ("string", r#"["vlen-utf8", {"name": "gzip", "configuration": {"level": 9}}]"#),
    ("bytes", r#"["vlen-bytes", {"name": "zstd", "configuration": {"level": 0, "checksum": false}}]"#),
];

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::ParseOptions::default()).unwrap().value
}

fn type_of(registry: &Registry, name: &str) -> Arc<dyn DataType> {
    let reading = Reading::new(Mode::Strict);
    registry.data_type(Format::V3, &DataTypeDocument::named(name), &reading).unwrap().0
}

fn round_trip(
    registry: &Registry,
    codecs: &Value,
    array: &ArrayRepresentation,
    chunk: &[u8],
) -> Result<Vec<u8>, TestCaseError> {
    let failed = |error: &dyn std::fmt::Display| TestCaseError::fail(error.to_string());
    let reading = Reading::new(Mode::Strict);
    let documents = v3::extensions("codecs", codecs, &reading).map_err(|error| failed(&error))?;
    let creation = ChainCreation::new(Format::V3, registry, &reading);
    let chain = CodecChain::create(&creation, None, &documents, array).map_err(|error| failed(&error))?;
    let mut encoded = Output::at_most(usize::MAX);
    let mut decoded = Output::at_most(chunk.len());
    StepByStep.encode(&chain, array, chunk, &mut encoded).map_err(|error| failed(&error))?;
    StepByStep.decode(&chain, array, encoded.written(), &mut decoded).map_err(|error| failed(&error))?;
    Ok(decoded.into_written())
}

#[test]
fn chunks_round_trip_through_codec_chains_of_plugins() {
    let registry = Registry::linked().unwrap();
    for (name, codecs) in CHAINS {
        let codecs = parsed(codecs);
        let array = arb_representation_of(&type_of(&registry, name));
        let both = array.prop_flat_map(|array| (arb_chunk(&array), Just(array)));
        let tested = runner(64).run(&both, |(chunk, array)| {
            prop_assert_eq!(round_trip(&registry, &codecs, &array, &chunk)?, chunk);
            Ok(())
        });
        tested.unwrap_or_else(|failure| panic!("{name}, {codecs}: {failure}"));
    }
}

#[test]
fn a_selection_returns_the_same_elements_as_a_simple_list() {
    let shapes = arb_shape(3, 9);
    let all = shapes.prop_flat_map(|shape| {
        let chunks: Vec<_> = shape.iter().map(|&length| 1..=length.max(1)).collect();
        (chunks, arb_selection(&shape), arb_subset(&shape), Just(shape))
    });
    let context = Context::linked().unwrap();
    let tested = runner(200).run(&all, |(chunks, selected, subset, shape)| {
        let store = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
        let builder = ArrayBuilder::new(shape.clone(), "uint16").chunks(chunks);
        let array = hierarchy.create_array("/a", &builder).unwrap();
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
        let elements: Vec<u16> = (0..=u16::MAX).take(count).collect();
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        array.write(&Selection::All, &bytes).unwrap();

        let read = array.read(Selection::parse(&selected.text, &shape).unwrap()).unwrap();
        prop_assert_eq!(read.shape(), &selected.shape[..]);
        let wanted: Vec<u8> = selected
            .positions(&shape)
            .into_iter()
            .flat_map(|position| elements[position].to_ne_bytes())
            .collect();
        prop_assert_eq!(raw::of(&read), wanted, "{}", selected.text);

        let part = array.read(Selection::from(subset.clone())).unwrap();
        prop_assert_eq!(part.shape(), &subset.shape()[..]);
        let inside = |position: &usize| {
            let mut rest = *position as u64;
            let mut point: Vec<u64> = shape
                .iter()
                .rev()
                .map(|&length| {
                    let index = rest % length;
                    rest /= length;
                    index
                })
                .collect();
            point.reverse();
            point.iter().zip(subset.ranges()).all(|(index, range)| range.contains(index))
        };
        let wanted: Vec<u8> = (0..elements.len())
            .filter(inside)
            .flat_map(|position| elements[position].to_ne_bytes())
            .collect();
        prop_assert_eq!(raw::of(&part), wanted, "{}", subset);
        Ok(())
    });
    tested.unwrap();
}
