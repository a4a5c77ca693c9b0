//! The codec chain: what turns the elements of a chunk into the bytes of a value.

use std::fmt;
use std::sync::Arc;

use zarr_json::{Object, Value, printable};

use crate::codec::{Codec, CodecError};
use crate::creation::{Creation, Resolve};
use crate::extension::ExtensionDocument;
use crate::format::{Format, Reading};
use crate::host::registry::Unknown;
use crate::representation::{ArrayRepresentation, Representation, Size, Units};

/// Why a chain could not be created: everything that is wrong with it, as far as that can be seen.
#[derive(Debug)]
pub struct ChainError {
    /// In the order of the codecs.
    pub problems: Vec<ChainProblem>,
}

/// What is wrong with one codec of a chain, or with the chain as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainProblem {
    /// No plugin has the identifier.
    #[error("{unknown} (position {position})")]
    Unknown {
        /// Position in the document's list, from 0.
        position: usize,
        /// Who was looked for.
        unknown: Unknown,
    },
    /// The codec cannot be created here.
    #[error("codec `{}` at position {position}: {source}", printable(.identifier))]
    Codec {
        /// Position in the document's list, from 0.
        position: usize,
        /// As the document has it.
        identifier: String,
        /// Why not.
        source: CodecError,
    },
    /// The codecs do not form a chain.
    #[error("{}", printable(.0))]
    Order(String),
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ChainError {}

/// What a chain is created from.
#[derive(Debug, Clone, Copy)]
pub struct ChainCreation<'a> {
    /// The format of the document that names the codecs.
    pub format: Format,
    /// Creates the codecs.
    pub registry: &'a dyn Resolve,
    /// The mode, and where warnings go.
    pub reading: &'a Reading,
}

/// One codec of a chain.
#[derive(Debug, Clone)]
pub struct Link {
    /// What it does.
    pub codec: Codec,
    /// What it is given to encode: after the codecs before it.
    pub decoded: Representation,
    /// The entry it was created from; none for a memory layout, the default binary representation and a storage
    /// transformer that shards.
    pub document: Option<ExtensionDocument>,
}

impl Link {
    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        match (&self.document, &self.codec) {
            (Some(document), _) => &document.identifier,
            (None, Codec::Binary(_)) => "(default binary representation)",
            (None, Codec::Shard(_)) => "(sharding storage transformer)",
            (None, _) => "(chunk memory layout)",
        }
    }
}

/// Codecs in the order in which they encode.
#[derive(Debug, Clone)]
pub struct CodecChain {
    links: Vec<Link>,
    encoded_size: Size,
}

impl CodecChain {
    /// Creates the codecs that `documents` name, each with the representation that the one before leaves.
    ///
    /// `layout` stands before them all. Where an array meets the end or a codec that wants bytes, v2 and the draft
    /// have their default binary representation. Final v3 has no such thing: late documents of early 2023 get it
    /// with a warning, unless they are read strictly (DX-GEN-05).
    ///
    /// # Errors
    ///
    /// Every unknown codec at once, or the first problem of another kind.
    pub fn create(
        creation: &ChainCreation<'_>,
        layout: Option<Codec>,
        documents: &[ExtensionDocument],
        array: &ArrayRepresentation,
    ) -> Result<Self, ChainError> {
        let problems = unknown_codecs(creation, documents);
        if !problems.is_empty() && !creation.registry.has_fallback() {
            return Err(ChainError { problems });
        }
        let mut builder = Builder { creation, links: Vec::new(), now: Representation::Array(array.clone()) };
        if let Some(layout) = layout {
            builder.push(layout, None).map_err(|source| order(format!("chunk memory layout: {source}")))?;
        }
        for (position, document) in documents.iter().enumerate() {
            builder.add(document).map_err(|source| ChainError {
                problems: vec![ChainProblem::Codec {
                    position,
                    identifier: document.identifier.clone(),
                    source,
                }],
            })?;
        }
        builder.finish().map_err(|source| order(source.to_string()))
    }

    /// The codecs, in the order in which they encode.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What the codec at `position` of [`CodecChain::links`] was created for, and is to be translated for.
    ///
    /// Directly behind [`Codec::Binary`] that is the array whose elements the bytes are: some codecs encode bytes
    /// better when they know how long an element is. Everywhere else it is [`Link::decoded`].
    ///
    /// # Panics
    ///
    /// If there is no such codec.
    #[must_use]
    pub fn created_for(&self, position: usize) -> &Representation {
        let before = position.checked_sub(1).map(|before| &self.links[before]);
        created_for(before, &self.links[position].decoded)
    }

    /// Bytes of the encoded form of the array that the chain was created for.
    #[must_use]
    pub fn encoded_size(&self) -> Size {
        self.encoded_size
    }

    /// The shard that the planner can go down into: nothing is computed outside of it.
    #[must_use]
    pub fn shard(&self) -> Option<&Arc<crate::codec::Shard>> {
        let (last, before) = self.links.split_last()?;
        let Codec::Shard(shard) = &last.codec else { return None };
        before.iter().all(|link| matches!(link.codec, Codec::Permutation(_))).then_some(shard)
    }
}

fn unknown_codecs(creation: &ChainCreation<'_>, documents: &[ExtensionDocument]) -> Vec<ChainProblem> {
    let problem = |(position, document): (usize, &ExtensionDocument)| {
        let unknown = creation.registry.unknown_codec(creation.format, &document.identifier)?;
        Some(ChainProblem::Unknown { position, unknown })
    };
    documents.iter().enumerate().filter_map(problem).collect()
}

fn created_for<'a>(before: Option<&'a Link>, decoded: &'a Representation) -> &'a Representation {
    match before {
        Some(link) if matches!(link.codec, Codec::Binary(_)) => &link.decoded,
        _ => decoded,
    }
}

fn order(what: String) -> ChainError {
    ChainError { problems: vec![ChainProblem::Order(what)] }
}

struct Builder<'a> {
    creation: &'a ChainCreation<'a>,
    links: Vec<Link>,
    now: Representation,
}

impl Builder<'_> {
    fn add(&mut self, document: &ExtensionDocument) -> Result<(), CodecError> {
        let creation = Creation {
            format: self.creation.format,
            identifier: &document.identifier,
            configuration: &document.configuration,
            type_name: document.type_name.as_ref(),
            registry: self.creation.registry,
            reading: self.creation.reading,
        };
        let decoded = created_for(self.links.last(), &self.now);
        let codec = self.creation.registry.codec(&creation, decoded)?;
        let wants_bytes = matches!(codec, Codec::BytesToBytes(_) | Codec::Checksum(_));
        if wants_bytes && matches!(self.now, Representation::Array(_)) {
            self.insert_default_binary(Some(&document.identifier))?;
        }
        self.push(codec, Some(document.clone()))
    }

    fn push(&mut self, codec: Codec, document: Option<ExtensionDocument>) -> Result<(), CodecError> {
        let next = encoded(&codec, &self.now)?;
        let decoded = std::mem::replace(&mut self.now, next);
        self.links.push(Link { codec, decoded, document });
        Ok(())
    }

    fn insert_default_binary(&mut self, before: Option<&str>) -> Result<(), CodecError> {
        let Representation::Array(array) = &self.now else { return Ok(()) };
        if self.creation.format == Format::V3 {
            let place = before.map_or_else(|| "the end".to_owned(), |codec| format!("`{codec}`"));
            self.creation.reading.tolerate(format!(
                "no codec turns the array into bytes before {place}: little endian `bytes` is assumed, \
                 as documents of early 2023 have it"
            ))?;
        }
        let order = array.byte_order.clone();
        self.push(Codec::Binary(order), None)
    }

    fn finish(mut self) -> Result<CodecChain, CodecError> {
        self.insert_default_binary(None)?;
        let encoded_size = match self.now {
            Representation::Bytes(size) => size,
            Representation::Array(array) => array.size(),
        };
        Ok(CodecChain { links: self.links, encoded_size })
    }
}

/// What a codec leaves of what it is given.
pub(crate) fn encoded(codec: &Codec, decoded: &Representation) -> Result<Representation, CodecError> {
    let bytes_wanted =
        || CodecError::Unsupported("expected an array, but the preceding codec produces bytes".into());
    let array = match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(size) => Err(*size),
    };
    Ok(match codec {
        Codec::Permutation(order) => {
            Representation::Array(permuted(array.map_err(|_| bytes_wanted())?, order)?)
        }
        Codec::Binary(_) => {
            let array = array.map_err(|_| bytes_wanted())?;
            if array.data_type.elements().size().is_none() {
                return Err(CodecError::Unsupported(format!(
                    "elements of data type {} have no fixed size: a codec for them is needed, such as `vlen-utf8`",
                    array.data_type.name()
                )));
            }
            Representation::Bytes(array.size())
        }
        Codec::ArrayToArray(codec) => {
            Representation::Array(codec.encoded(array.map_err(|_| bytes_wanted())?)?)
        }
        Codec::ArrayToBytes(codec) => {
            Representation::Bytes(codec.encoded_size(array.map_err(|_| bytes_wanted())?)?)
        }
        Codec::Composite(codec) => {
            Representation::Bytes(codec.encoded_size(array.map_err(|_| bytes_wanted())?)?)
        }
        Codec::Shard(shard) => {
            inner_grid_shape(&array.map_err(|_| bytes_wanted())?.shape, &shard.inner_shape)?;
            Representation::Bytes(Size::Unknown)
        }
        Codec::BytesToBytes(codec) => Representation::Bytes(codec.encoded_size(bytes_of(array)?)),
        Codec::Checksum(checksum) => {
            let more = |size: u64| size.checked_add(checksum.size() as u64);
            Representation::Bytes(match bytes_of(array)? {
                Size::Exact(size) => more(size).map_or(Size::Unknown, Size::Exact),
                Size::AtMost(size) => more(size).map_or(Size::Unknown, Size::AtMost),
                Size::Unknown => Size::Unknown,
            })
        }
    })
}

fn bytes_of(array: Result<&ArrayRepresentation, Size>) -> Result<Size, CodecError> {
    match array {
        Err(size) => Ok(size),
        Ok(_) => {
            Err(CodecError::Unsupported("expected bytes, but the preceding codec produces an array".into()))
        }
    }
}

fn permuted(array: &ArrayRepresentation, order: &[usize]) -> Result<ArrayRepresentation, CodecError> {
    let rank = array.shape.len();
    let mut seen = vec![false; rank];
    for &dimension in order {
        match seen.get_mut(dimension) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(CodecError::configuration(format!(
                    "order {order:?} is not a permutation of 0 to {rank}"
                )));
            }
        }
    }
    if order.len() != rank {
        return Err(CodecError::configuration(format!("order {order:?} does not have {rank} entries")));
    }
    Ok(ArrayRepresentation {
        shape: order.iter().map(|&dimension| array.shape[dimension]).collect(),
        ..array.clone()
    })
}

/// Inner chunks per dimension of a shard, both given in elements per dimension.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`] if inner chunks of that shape do not divide the shard (V3-SHARD-02).
pub fn inner_grid_shape(shard_shape: &[u64], inner_shape: &[u64]) -> Result<Vec<u64>, CodecError> {
    let count = |(&outer, &inner): (&u64, &u64)| (inner > 0 && outer % inner == 0).then(|| outer / inner);
    let counts: Option<Vec<u64>> = shard_shape.iter().zip(inner_shape).map(count).collect();
    counts.filter(|_| shard_shape.len() == inner_shape.len()).ok_or_else(|| {
        CodecError::configuration(format!(
            "inner chunks of shape {inner_shape:?} do not divide a shard of shape {shard_shape:?}"
        ))
    })
}

/// The units of one element that have more than one byte.
#[must_use]
pub fn has_byte_order(units: &Units) -> bool {
    match units {
        Units::Uniform(size) => *size > 1,
        Units::Fields(fields) => !fields.is_empty(),
    }
}

/// The members of a v2 codec object without its `id`, as the configuration of an [`ExtensionDocument`].
#[must_use]
pub fn v2_codec(object: &Object, id: &str) -> ExtensionDocument {
    let members = object.iter().filter(|(name, _)| *name != "id");
    let members = members.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    ExtensionDocument::new(id, Value::Object(members))
}
