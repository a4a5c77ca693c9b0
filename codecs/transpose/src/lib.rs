//! The `transpose` codec: changes the order of the dimensions of a chunk.
//!
//! Array to array. Encoded dimension `i` is decoded dimension `order[i]`. The codec does not compute anything:
//! it is a [`Codec::Permutation`], which an engine combines with the copy that it makes anyway.
//!
//! In the v3 draft, `order` may also be `"C"` (unchanged) or `"F"` (reversed). Early writers of final v3 use
//! these strings too: they are read with a warning and never written.
//!
//! Source: `transpose` in the Zarr extension registry; "Transpose codec", version 1.0, of the v3 draft.

use serde::Deserialize;
use zarr_spec::codec::CodecEntry;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object,
    Representation, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("transpose").with_uri("https://purl.org/zarr/spec/codecs/transpose/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<TransposeConfiguration>()
    .about("Stores the dimensions of a chunk in another order.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "transpose", "configuration": {"order": [1, 0]}}"#).with_shape(&[4, 6]),
    Example::v3(r#"{"name": "transpose", "configuration": {"order": [2, 0, 1]}}"#).with_shape(&[2, 3, 4]),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/transpose/1.0",
            "configuration": {"order": "F"}}"#,
    ),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/transpose/1.0",
            "configuration": {"order": [2, 0, 1]}}"#,
    )
    .with_shape(&[2, 3, 4]),
];

/// Stores the dimensions of each chunk in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transpose(Vec<usize>);

impl Transpose {
    /// Stores dimension `order[i]` of a chunk as its dimension `i`.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if `order` is not a permutation of the dimensions, counted from 0.
    pub fn new(order: impl AsRef<[usize]>) -> Result<Self, CodecError> {
        let order: Vec<Value> = order.as_ref().iter().copied().map(Value::from).collect();
        permutation(&order, order.len()).map(Self)
    }
}

impl From<Transpose> for CodecEntry {
    fn from(codec: Transpose) -> Self {
        Self::new("transpose", json!({"order": codec.0.into_iter().collect::<Value>()}))
    }
}

#[derive(Deserialize)]
struct TransposeConfiguration {
    order: Value,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::Permutation(order(creation, decoded)?))
}

fn order(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Vec<usize>> {
    let Representation::Array(array) = decoded else {
        return Err(CodecError::Unsupported(
            "expected an array, but the preceding codec produces bytes".into(),
        ));
    };
    let rank = array.shape.len();
    match creation.parse::<TransposeConfiguration>()?.order {
        Value::Array(list) => permutation(&list, rank),
        Value::String(name) if name == "C" || name == "F" => {
            if creation.format == Format::V3 {
                creation.reading.tolerate(format!(
                    "order \"{name}\" of codec `transpose` is from a draft: final v3 expects a list"
                ))?;
            }
            Ok(if name == "C" { (0..rank).collect() } else { (0..rank).rev().collect() })
        }
        other => Err(CodecError::configuration(format!("`order` is {other}; expected a list of dimensions"))),
    }
}

/// Parses `list` as a permutation of the numbers below `rank`.
fn permutation(list: &[Value], rank: usize) -> CodecResult<Vec<usize>> {
    let wrong = || {
        let list: Vec<String> = list.iter().map(Value::to_string).collect();
        CodecError::configuration(format!(
            "`order` is [{}]; expected a permutation of the {rank} dimensions, counted from 0",
            list.join(", ")
        ))
    };
    if list.len() != rank {
        return Err(wrong());
    }
    let mut seen = vec![false; rank];
    let mut order = Vec::with_capacity(rank);
    for dimension in list {
        let dimension =
            dimension.as_u64().and_then(|number| usize::try_from(number).ok()).ok_or_else(wrong)?;
        match seen.get_mut(dimension) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(wrong()),
        }
        order.push(dimension);
    }
    Ok(order)
}

/// Writes a list, in v3 and in the draft.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    if to == Format::V2 {
        return Err(CodecError::Unsupported(
            "v2 does not have a codec for the order of dimensions, only its member `order`".into(),
        ));
    }
    let mut configuration = Object::new();
    configuration.insert("order", order(creation, decoded)?.into_iter().collect::<Value>());
    Ok(configuration)
}
