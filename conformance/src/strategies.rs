//! [`mod@proptest`] strategies for testing plugins and readers: representations, chunks, documents and selections.
//! They need the feature `proptest`.
//!
//! All generated values are valid. They shrink to fill values, to empty documents and to fewer dimensions. For example,
//! a round trip of a codec:
//!
//! ```
//! use proptest::prelude::*;
//! use zarr_conformance::codecs::{decode, encode};
//! use zarr_conformance::strategies::{arb_chunk, arb_representation};
//! # use std::sync::Arc;
//! # use zarr_spec::codec::BytesToBytesCodec;
//! # use zarr_spec::{Codec, CodecError, Output};
//! # #[derive(Debug)]
//! # struct Reversed;
//! # impl BytesToBytesCodec for Reversed {
//! #     fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
//! #         Ok(encoded.put(&decoded.iter().rev().copied().collect::<Vec<u8>>())?)
//! #     }
//! #     fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
//! #         self.encode(encoded, decoded)
//! #     }
//! # }
//!
//! let both = arb_representation().prop_flat_map(|array| (arb_chunk(&array), Just(array)));
//! proptest!(|((chunk, array) in both)| {
//!     let codec = Codec::BytesToBytes(Arc::new(Reversed));
//!     let encoded = encode(&codec, &array, &chunk).unwrap();
//!     prop_assert_eq!(decode(&codec, &array, &encoded, chunk.len()).unwrap(), chunk);
//! });
//! ```

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use zarr_spec::{ArrayRepresentation, ArraySubset, DataType, FillValue, Format, Key, Mode, NodePath};

use crate::items;
use crate::suite::payloads;
use crate::types::{self, Number};

mod documents;

pub use documents::{arb_attributes, arb_json, arb_metadata};

/// Generates shapes of at most `ranks` dimensions with at most `longest` elements each. Some are empty.
pub fn arb_shape(ranks: usize, longest: u64) -> impl Strategy<Value = Vec<u64>> + Clone {
    vec(prop_oneof![9 => 1..=longest.max(1), 1 => 0..=longest], 0..=ranks)
}

/// Generates the data types of [`types`] with a fixed element size, and bytes of variable length.
pub fn arb_data_type() -> impl Strategy<Value = Arc<dyn DataType>> + Clone {
    const ALL: &[Number] = &[
        types::UINT8,
        types::BOOL,
        types::INT16,
        types::UINT32,
        types::INT64,
        types::FLOAT16,
        types::FLOAT32,
        types::FLOAT64,
        types::COMPLEX64,
        types::RAW3,
        types::VARIABLE_BYTES,
    ];
    select(ALL).prop_map(|number| Arc::new(number) as Arc<dyn DataType>)
}

/// Generates the bytes of an element in native byte order, or the payload of an element of variable size. Both
/// unusual and arbitrary values occur.
pub fn arb_element(data_type: &Arc<dyn DataType>) -> BoxedStrategy<Vec<u8>> {
    let mut known = vec![data_type.default_fill_value().bytes().to_vec()];
    known.extend(payloads(&**data_type));
    let some = select(known.clone());
    let data_type = Arc::clone(data_type);
    let size = data_type.elements().size();
    // Bytes that are not a valid element are replaced by a valid element.
    let any = vec(any::<u8>(), size.map_or(0..=24, |size| size..=size)).prop_map(move |mut bytes| {
        let is_element = data_type.settle(&mut bytes, Mode::Lenient).and_then(|()| data_type.check(&bytes));
        if is_element.is_ok() { bytes } else { known[bytes.len() % known.len()].clone() }
    });
    prop_oneof![some, any].boxed()
}

/// Generates fill values of a data type.
pub fn arb_fill_value(data_type: &Arc<dyn DataType>) -> BoxedStrategy<FillValue> {
    arb_element(data_type).prop_map(FillValue::new).boxed()
}

/// Generates arrays of at most 4 dimensions and 10,000 elements, with the types of [`arb_data_type`].
pub fn arb_representation() -> impl Strategy<Value = ArrayRepresentation> {
    arb_data_type().prop_flat_map(|data_type| arb_representation_of(&data_type))
}

/// Generates arrays as [`arb_representation`] does, with one data type.
pub fn arb_representation_of(data_type: &Arc<dyn DataType>) -> BoxedStrategy<ArrayRepresentation> {
    let fill_value = arb_fill_value(data_type);
    let data_type = Arc::clone(data_type);
    (arb_shape(4, 10), fill_value)
        .prop_map(move |(shape, fill_value)| {
            ArrayRepresentation::new(shape, Arc::clone(&data_type), fill_value)
        })
        .boxed()
}

/// Generates all elements of an array in the form that codecs receive: in C order and native byte order, and after an
/// offset table if they have variable sizes. Some chunks repeat one element, for instance the fill value.
///
/// # Panics
///
/// If the array has more elements than fit in memory.
#[expect(clippy::expect_used, reason = "the array is part of a test")]
pub fn arb_chunk(array: &ArrayRepresentation) -> BoxedStrategy<Vec<u8>> {
    let count = array.element_count().expect("the elements fit in memory");
    let is_variable = array.data_type.elements().size().is_none();
    let element = arb_element(&array.data_type);
    let fill_value = Just(array.fill_value.bytes().to_vec());
    let one = prop_oneof![fill_value, element.clone()].prop_map(move |element| vec![element; count]);
    let chunk = prop_oneof![1 => one, 3 => vec(element, count)];
    chunk.prop_map(move |chunk| if is_variable { items(&chunk) } else { chunk.concat() }).boxed()
}

/// Generates array subsets for an array of `shape`. Some are empty.
pub fn arb_subset(shape: &[u64]) -> BoxedStrategy<ArraySubset> {
    let ranges: Vec<_> = shape.iter().map(|&length| arb_range(length)).collect();
    ranges.prop_map(ArraySubset::new).boxed()
}

fn arb_range(length: u64) -> impl Strategy<Value = std::ops::Range<u64>> + Clone {
    prop_oneof![
        Just(0..length),
        (0..=length, 0..=length).prop_map(|(one, other)| one.min(other)..one.max(other)),
    ]
}

/// A selection and the elements it selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The selection in NumPy's notation: `1:7:2,-1,[3,0],...`. Several lists select every combination.
    pub text: String,
    /// The selected indices along each dimension of the array, in the order of the result.
    pub indices: Vec<Vec<u64>>,
    /// The shape of the result, without the dimensions that are selected by a single number.
    pub shape: Vec<u64>,
}

impl Selected {
    /// Returns the position of each element of the result among the elements of an array of `shape` in C order.
    ///
    /// # Panics
    ///
    /// If the array has more elements than fit in memory.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the array is part of a test")]
    pub fn positions(&self, shape: &[u64]) -> Vec<usize> {
        let along = self.indices.iter().zip(shape);
        let positions = along.fold(vec![0], |positions: Vec<u64>, (indices, length)| {
            let further = |position: &u64| {
                let before = position * length;
                indices.iter().map(move |index| before + index).collect::<Vec<_>>()
            };
            positions.iter().flat_map(further).collect()
        });
        let position = |position| usize::try_from(position).expect("the elements fit in memory");
        positions.into_iter().map(position).collect()
    }
}

/// The selection along one dimension: text, indices, and whether the result has the dimension.
type Along = (String, Vec<u64>, bool);

/// Generates selections from an array of `shape`: ranges with steps, numbers from either end, lists in any order, and
/// omitted trailing dimensions.
pub fn arb_selection(shape: &[u64]) -> BoxedStrategy<Selected> {
    let along: Vec<_> = shape.iter().map(|&length| arb_along(length)).collect();
    let lengths = shape.to_vec();
    (along, 0..=shape.len())
        .prop_map(move |(mut along, given)| {
            for (along, &length) in along.iter_mut().zip(&lengths).skip(given) {
                *along = (":".to_owned(), (0..length).collect(), true);
            }
            let texts: Vec<&str> = along.iter().take(given).map(|(text, ..)| text.as_str()).collect();
            let text = if texts.is_empty() { "...".to_owned() } else { texts.join(",") };
            let kept = along.iter().filter(|(.., is_kept)| *is_kept);
            let shape = kept.map(|(_, indices, _)| indices.len() as u64).collect();
            Selected { text, shape, indices: along.into_iter().map(|(_, indices, _)| indices).collect() }
        })
        .boxed()
}

fn arb_along(length: u64) -> BoxedStrategy<Along> {
    let range = (arb_range(length), 1..=length + 1).prop_map(|(range, step)| {
        let text = if step == 1 {
            format!("{}:{}", range.start, range.end)
        } else {
            format!("{}:{}:{step}", range.start, range.end)
        };
        (text, range.step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect(), true)
    });
    if length == 0 {
        return range.boxed();
    }
    let number = (0..length).prop_map(|index| (index.to_string(), vec![index], false));
    let from_end = (1..=length).prop_map(move |number| (format!("-{number}"), vec![length - number], false));
    let list = vec(0..length, 1..=6).prop_map(|list| {
        let texts: Vec<String> = list.iter().map(u64::to_string).collect();
        (format!("[{}]", texts.join(",")), list, true)
    });
    prop_oneof![4 => range, 1 => number, 1 => from_end, 2 => list].boxed()
}

/// Generates node names that are valid in every format.
fn arb_name() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9_-]{0,6}"
}

/// Generates node paths, including the root, whose names are valid in every format.
pub fn arb_node_path() -> impl Strategy<Value = NodePath> {
    vec(arb_name(), 0..4).prop_filter_map("a path", |names| {
        NodePath::parse(&format!("/{}", names.join("/")), Format::V3Draft).ok()
    })
}

/// Generates keys of values in a store, whose names are valid in every format.
pub fn arb_key() -> impl Strategy<Value = Key> {
    let segment = prop_oneof![arb_name(), "[0-9]{1,2}(\\.[0-9]{1,2}){0,2}", "\\.z(array|group|attrs)"];
    vec(segment, 1..5).prop_filter_map("a key", |names| Key::new(names.join("/")).ok())
}
