//! The `reshape` codec of Zarr: changes the shape of a chunk without changing the C order of its elements.
//!
//! Array to array. The bytes do not change; following codecs see the new shape.
//!
//! Source: `codecs/reshape` in the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("reshape"), &create)
        .configuration::<ReshapeConfiguration>()
        .about("Changes the shape of chunks for the following codecs.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "reshape", "configuration": {"shape": [[0, 1], [2]]}}"#).with_shape(&[4, 3, 2]),
    Example::v3(r#"{"name": "reshape", "configuration": {"shape": [-1]}}"#),
    Example::v3(r#"{"name": "reshape", "configuration": {"shape": [2, -1, [2]]}}"#).with_shape(&[4, 3, 2]),
];

/// A dimension of the encoded shape.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dimension {
    /// A fixed number of elements, at least 1.
    Size(u64),
    /// The product of these dimensions of the decoded shape, counted from 0.
    Of(Vec<usize>),
    /// All remaining elements.
    Rest,
}

/// Changes the shape of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reshape {
    shape: Vec<Dimension>,
}

impl Reshape {
    /// Changes the shape of chunks to `shape`, whose number of elements must be that of each chunk.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if a size is 0, if more than one dimension is the rest, or if
    /// dimensions are listed out of order.
    pub fn new(shape: impl Into<Vec<Dimension>>) -> Result<Self, CodecError> {
        let reshape = Self { shape: shape.into() };
        reshape.check()?;
        Ok(reshape)
    }
}

impl From<Reshape> for CodecEntry {
    fn from(codec: Reshape) -> Self {
        let entries = codec.shape.into_iter().map(|dimension| match dimension {
            Dimension::Size(size) => Value::from(size),
            Dimension::Of(dimensions) => dimensions.into_iter().collect(),
            Dimension::Rest => Value::from(-1),
        });
        Self::new("reshape", json!({"shape": entries.collect::<Value>()}))
    }
}

#[derive(Deserialize)]
struct ReshapeConfiguration {
    shape: Vec<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let ReshapeConfiguration { shape } = creation.parse()?;
    let shape = shape.iter().enumerate().map(|(at, entry)| dimension(at, entry));
    let reshape = Reshape::new(shape.collect::<Result<Vec<_>, _>>()?)?;
    reshape.shape_of(&zarr_plugin_kit::array(decoded)?.shape)?;
    Ok(Codec::ArrayToArray(Arc::new(reshape)))
}

fn dimension(position: usize, entry: &Value) -> Result<Dimension, CodecError> {
    let wrong = || {
        CodecError::configuration(format!(
            "shape[{position}] is {entry}; expected a positive number of elements, a list of dimensions \
             or -1"
        ))
    };
    match entry {
        Value::Array(dimensions) => {
            let dimension = |dimension: &Value| usize::try_from(dimension.as_u64()?).ok();
            dimensions.iter().map(dimension).collect::<Option<_>>().map(Dimension::Of).ok_or_else(wrong)
        }
        Value::Number(number) => match number.as_i128() {
            Some(-1) => Ok(Dimension::Rest),
            Some(size @ 1..) => u64::try_from(size).map(Dimension::Size).map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

impl Reshape {
    /// Checks the part of the configuration that does not depend on the chunk.
    fn check(&self) -> Result<(), CodecError> {
        if self.shape.contains(&Dimension::Size(0)) {
            return Err(CodecError::configuration("`shape` has a size of 0; expected at least 1"));
        }
        if self.shape.iter().filter(|dimension| **dimension == Dimension::Rest).count() > 1 {
            return Err(CodecError::configuration("`shape` has more than one -1"));
        }
        let named = self.shape.iter().filter_map(|dimension| match dimension {
            Dimension::Of(dimensions) => Some(dimensions),
            _ => None,
        });
        if named.flatten().is_sorted_by(|one, next| one < next) {
            return Ok(());
        }
        Err(CodecError::configuration(
            "`shape` lists dimensions out of order, but `reshape` cannot transpose",
        ))
    }

    /// Returns the encoded shape.
    fn shape_of(&self, decoded: &[u64]) -> Result<Vec<u64>, CodecError> {
        let wrong = |what: String| {
            CodecError::configuration(format!("`shape` does not fit chunks of shape {decoded:?}: {what}"))
        };
        let too_large = || wrong("the result has too many elements".to_owned());
        let size = |dimension: &Dimension| match dimension {
            Dimension::Size(size) => Ok(Some(*size)),
            Dimension::Rest => Ok(None),
            Dimension::Of(dimensions) => {
                let sizes = dimensions.iter().map(|&dimension| {
                    let rank = decoded.len();
                    let missing =
                        || wrong(format!("dimension {dimension} does not exist in {rank} dimensions"));
                    decoded.get(dimension).copied().ok_or_else(missing)
                });
                let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
                product(&sizes).map(Some).ok_or_else(too_large)
            }
        };
        let sizes = self.shape.iter().map(size).collect::<Result<Vec<_>, _>>()?;
        let known: Vec<u64> = sizes.iter().copied().flatten().collect();
        let (elements, known) = product(decoded).zip(product(&known)).ok_or_else(too_large)?;
        let rest = elements.checked_div(known).unwrap_or(0);
        let has_rest = sizes.contains(&None);
        let encoded: Vec<u64> = sizes.into_iter().map(|size| size.unwrap_or(rest)).collect();
        if product(&encoded) != Some(elements) {
            return Err(wrong(match has_rest {
                true => format!("{known} does not divide {elements} elements"),
                false => format!("it has {known} elements instead of {elements}"),
            }));
        }
        self.check_places(decoded, &encoded, wrong)?;
        Ok(encoded)
    }

    /// Checks that listed dimensions keep their position: the sizes before them have the same product in both shapes,
    /// and so do the sizes after them.
    fn check_places(
        &self,
        decoded: &[u64],
        encoded: &[u64],
        wrong: impl Fn(String) -> CodecError,
    ) -> Result<(), CodecError> {
        for (position, dimension) in self.shape.iter().enumerate() {
            let Dimension::Of(dimensions) = dimension else { continue };
            let (Some(&first), Some(&last)) = (dimensions.first(), dimensions.last()) else { continue };
            let outside = product(&encoded[..position]) == product(&decoded[..first]);
            let inside = product(&encoded[position + 1..]) == product(&decoded[last + 1..]);
            if !outside || !inside {
                return Err(wrong(format!(
                    "the entries around shape[{position}] do not match the sizes around dimensions {dimensions:?}"
                )));
            }
        }
        Ok(())
    }
}

fn product(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size))
}

impl ArrayToArrayCodec for Reshape {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        Ok(decoded.clone().with_shape(self.shape_of(&decoded.shape)?))
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
}
