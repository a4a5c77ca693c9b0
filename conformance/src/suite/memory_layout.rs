//! The rules for chunk memory layouts.

use std::sync::Arc;

use zarr_spec::layout::MemoryLayout;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Example, Mode, Output, Reading, Registry, Value};

use super::elements::samples;
use super::tried::{Makes, RuleOf, Tried, shape_of, suite, text};
use super::{Cases, Level, Rule, Suite};
use crate::{codecs, types};

type LayoutOnTrial = Tried<MemoryLayout>;

const RULES: &[RuleOf<LayoutOnTrial>] = &[
    (
        Rule {
            id: "layout-bijection",
            level: Level::L1,
            sentence: "Every element of a chunk has exactly one place, and every place exactly one element.",
            source: "`zarr_spec::layout::CreateMemoryLayout`; D3-LAYOUT-01",
            since: "0.1",
        },
        bijection,
    ),
    (
        Rule {
            id: "layout-inverse",
            level: Level::L1,
            sentence: "Decoding restores the elements in C order.",
            source: "`zarr_spec::layout::CreateMemoryLayout`",
            since: "0.1",
        },
        inverse,
    ),
    (
        Rule {
            id: "layout-all-types",
            level: Level::L1,
            sentence: "The place of an element does not depend on its data type.",
            source: "`zarr_spec::layout::CreateMemoryLayout`",
            since: "0.1",
        },
        all_types,
    ),
    (
        Rule {
            id: "layout-damaged",
            level: Level::L2,
            sentence: "A chunk with too few or too many bytes is corrupt or too large, and never causes a panic.",
            source: "`ArrayToArrayCodec::decode`",
            since: "0.1",
        },
        damaged,
    ),
];

const SHAPES: [&[u64]; 8] = [&[], &[1], &[5], &[0, 4], &[4, 6], &[8, 8], &[3, 1, 5], &[2, 3, 4, 5]];

/// Numbers of every element size from 1 to 16 bytes.
const NUMBERS: [types::Number; 5] =
    [types::UINT8, types::UINT16, types::UINT32, types::UINT64, types::COMPLEX128];

struct Use {
    label: String,
    shape: Vec<u64>,
    layout: Codec,
}

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.memory_layouts().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for MemoryLayout {
    fn make(
        tried: &LayoutOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        let document = tried.parse(example, entry, reading)?;
        let creation = tried.creation(example.format, &document, reading);
        (tried.plugin.create)(&creation, shape_of(example).len()).map(drop).map_err(text)
    }
}

impl LayoutOnTrial {
    fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for example in self.examples() {
            let Ok(document) = self.document(example) else { continue };
            let one = [example.shape];
            for shape in if example.shape.is_empty() { &SHAPES[..] } else { &one } {
                let reading = Reading::new(Mode::Strict);
                let creation = self.creation(example.format, &document, &reading);
                if let Ok(layout) = (self.plugin.create)(&creation, shape.len()) {
                    let label = format!("{} in {}, {shape:?}", example.document, example.format);
                    uses.push(Use { label, shape: shape.to_vec(), layout });
                }
            }
        }
        uses
    }

    /// Returns the uses that compute something.
    fn computing(&self, cases: &mut Cases) -> Vec<Use> {
        let mut uses = self.uses();
        uses.retain(|used| !matches!(used.layout, Codec::Permutation(_)));
        if uses.is_empty() {
            cases.skip("the engine permutes the dimensions itself");
        }
        uses
    }
}

impl Use {
    fn array(&self, number: types::Number) -> ArrayRepresentation {
        crate::array(&self.shape, number)
    }

    /// Returns the element numbers in the order of their places. Every byte of an element is its number.
    fn places(&self, number: types::Number) -> Result<Vec<u8>, String> {
        let array = self.array(number);
        let count = array.element_count().unwrap_or_default();
        let elements = (0..count).flat_map(|place| {
            let mut element = vec![0; number.size()];
            element.fill(u8::try_from(place).unwrap_or(u8::MAX));
            element
        });
        let elements: Vec<u8> = elements.collect();
        let encoded = codecs::encode(&self.layout, &array, &elements).map_err(text)?;
        if encoded.len() != elements.len() {
            return Err(format!("{} bytes were encoded to {}", elements.len(), encoded.len()));
        }
        let whole = |element: &[u8]| element.iter().all(|byte| *byte == element[0]).then(|| element[0]);
        let places: Option<Vec<u8>> = encoded.chunks(number.size()).map(whole).collect();
        places.ok_or_else(|| "the bytes of an element were separated".to_owned())
    }

    /// Checks that each element has exactly one place.
    fn is_bijection(&self, number: types::Number) -> Result<(), String> {
        if let Codec::Permutation(order) = &self.layout {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let is_one = sorted.into_iter().eq(0..self.shape.len());
            return is_one
                .then_some(())
                .ok_or_else(|| format!("{order:?} is not a permutation of the dimensions"));
        }
        let mut places = self.places(number)?;
        places.sort_unstable();
        match places.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("element {} has two places", pair[0])),
            None => Ok(()),
        }
    }
}

fn bijection(trial: &LayoutOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        for number in NUMBERS {
            cases.check(format!("{}, {} bytes each", used.label, number.size()), used.is_bijection(number));
        }
    }
}

fn inverse(trial: &LayoutOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        for number in NUMBERS {
            if used.is_bijection(number).is_err() {
                continue;
            }
            let array = used.array(number);
            for sample in samples(&array) {
                let again = codecs::encode(&used.layout, &array, &sample.bytes)
                    .and_then(|laid_out| codecs::decode(&used.layout, &array, &laid_out, sample.bytes.len()));
                let result = match again {
                    Ok(again) if again == sample.bytes => Ok(()),
                    Ok(_) => Err("the decoded elements differ".to_owned()),
                    Err(error) => Err(error.to_string()),
                };
                cases
                    .check(format!("{}, {} bytes each, {}", used.label, number.size(), sample.label), result);
            }
        }
    }
}

fn all_types(trial: &LayoutOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let Ok(wanted) = used.places(NUMBERS[0]) else { continue };
        for number in &NUMBERS[1..] {
            let result = used.places(*number).and_then(|places| {
                if places == wanted {
                    Ok(())
                } else {
                    Err("the places differ from those of single bytes".to_owned())
                }
            });
            cases.check(format!("{}, {} bytes each", used.label, number.size()), result);
        }
    }
}

fn damaged(trial: &LayoutOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let array = used.array(types::UINT16);
        let size = 2 * array.element_count().unwrap_or_default();
        for wrong in [0, 1, size.saturating_sub(1), size + 1, 2 * size + 7] {
            if wrong == size {
                continue;
            }
            let result = match codecs::decode(&used.layout, &array, &vec![7; wrong], size) {
                Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)) => Ok(()),
                Err(error) => Err(format!("unexpected error {error:?}")),
                Ok(_) => Err("expected an error".to_owned()),
            };
            cases.check(format!("{}, {wrong} bytes instead of {size}", used.label), result);
        }
        if let (Codec::ArrayToArray(layout), Some(short)) = (&used.layout, size.checked_sub(1)) {
            let result = match layout.decode(&array, &vec![7; size], &mut Output::at_most(short)) {
                Err(CodecError::TooLarge(_)) => Ok(()),
                other => Err(format!("expected a `TooLarge` error, got {other:?}")),
            };
            cases.check(format!("{}, an output for {short} of {size} bytes", used.label), result);
        }
    }
}
