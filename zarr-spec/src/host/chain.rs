//! The codec chain, which converts the elements of a chunk to the bytes of a value.

use std::fmt;
use std::sync::Arc;

use zarr_json::{Object, Value, printable};

use crate::codec::{Codec, CodecError, CodecResult};
use crate::creation::{Creation, Resolve};
use crate::extension::ExtensionDocument;
use crate::format::{Format, Reading};
use crate::host::registry::Unknown;
use crate::representation::{ArrayRepresentation, Representation, Size, Units};

/// Why a chain could not be created, with all problems that can be found.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChainError {
    /// The problems, in the order of the codecs.
    pub problems: Vec<ChainProblem>,
}

/// A problem of one codec of a chain, or of the chain as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainProblem {
    /// The identifier is unknown.
    #[error("{unknown}, at position {position}")]
    Unknown {
        /// Position in the document's list, from 0.
        position: usize,
        /// The missing plugin.
        unknown: Unknown,
    },
    /// The codec cannot be created.
    #[error("codec `{}` at position {position}: {source}", printable(.identifier))]
    Codec {
        /// Position in the document's list, from 0.
        position: usize,
        /// The identifier in the document.
        identifier: String,
        /// The error of the codec.
        source: CodecError,
    },
    /// The codecs do not form a chain.
    #[error("{}", printable(.0))]
    Order(String),
}

impl ChainError {
    /// Returns the unknown identifiers, including those in chains inside of codecs.
    #[must_use]
    pub fn unknown(&self) -> Vec<&Unknown> {
        self.problems.iter().flat_map(ChainProblem::unknown).collect()
    }
}

impl ChainProblem {
    fn unknown(&self) -> Vec<&Unknown> {
        match self {
            Self::Unknown { unknown, .. } => vec![unknown],
            Self::Codec { source, .. } => source.unknown(),
            Self::Order(_) => Vec::new(),
        }
    }
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

/// The arguments for creating a chain.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ChainCreation<'a> {
    /// The format of the document that names the codecs.
    pub format: Format,
    /// Creates the codecs.
    pub registry: &'a dyn Resolve,
    /// The mode, and the receiver of warnings.
    pub reading: &'a Reading,
}

impl<'a> ChainCreation<'a> {
    /// Creates the arguments for a chain in a document of `format`.
    #[must_use]
    pub const fn new(format: Format, registry: &'a dyn Resolve, reading: &'a Reading) -> Self {
        Self { format, registry, reading }
    }

    /// Creates the arguments for a chain in the configuration of `creation`.
    #[must_use]
    pub const fn of(creation: &Creation<'a>) -> Self {
        Self::new(creation.format, creation.registry, creation.reading)
    }
}

/// One codec of a chain.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Link {
    /// The codec.
    pub codec: Codec,
    /// The representation that the codec encodes, after the preceding codecs.
    pub decoded: Representation,
    /// The entry in the document; `None` for a memory layout, the default binary representation and a sharding
    /// storage transformer.
    pub document: Option<ExtensionDocument>,
}

impl Link {
    /// Returns the name for messages.
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

/// Codecs in the order of encoding.
#[derive(Debug, Clone)]
pub struct CodecChain {
    links: Vec<Link>,
    encoded_size: Size,
}

impl CodecChain {
    /// Creates the codecs in `documents`, each for the output of the previous one.
    ///
    /// `layout` precedes all of them. If an array reaches the end of the chain, or a codec that expects bytes,
    /// v2 and the draft insert their default binary representation. Final v3 does not have one: documents of
    /// early 2023 get it with a warning, except in strict mode (DX-GEN-05).
    ///
    /// # Errors
    ///
    /// All unknown codecs, or the first problem of another kind.
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

    /// Returns the codecs in the order of encoding.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the representation that the codec at `position` of [`CodecChain::links`] was created for and
    /// must be translated for.
    ///
    /// Directly after [`Codec::Binary`], it is the array whose elements the bytes contain, since some codecs encode
    /// bytes better if they know the element size. A codec that would encode the array is created again for the bytes.
    /// Otherwise it is [`Link::decoded`].
    ///
    /// # Panics
    ///
    /// If there is no such codec.
    #[must_use]
    pub fn created_for(&self, position: usize) -> &Representation {
        let before = position.checked_sub(1).map(|before| &self.links[before]);
        created_for(before, &self.links[position].decoded)
    }

    /// Returns the encoded size of the array that the chain was created for.
    #[must_use]
    pub fn encoded_size(&self) -> Size {
        self.encoded_size
    }

    /// Returns the shard whose inner chunks a planner can access: no computed codec surrounds it.
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
    fn add(&mut self, document: &ExtensionDocument) -> CodecResult {
        let creation =
            Creation::of(document, self.creation.format, self.creation.registry, self.creation.reading);
        let registry = self.creation.registry;
        let takes_bytes = |codec: &Codec| matches!(codec, Codec::BytesToBytes(_) | Codec::Checksum(_));
        let is_array = matches!(self.now, Representation::Array(_));
        let mut codec = registry.codec(&creation, created_for(self.links.last(), &self.now))?;
        if !is_array && !takes_bytes(&codec) {
            codec = registry.codec(&creation, &self.now).ok().filter(takes_bytes).unwrap_or(codec);
        }
        if is_array && takes_bytes(&codec) {
            self.insert_default_binary(Some(&document.identifier))?;
        }
        self.push(codec, Some(document.clone()))
    }

    fn push(&mut self, codec: Codec, document: Option<ExtensionDocument>) -> CodecResult {
        let next = encoded(&codec, &self.now)?;
        let decoded = std::mem::replace(&mut self.now, next);
        self.links.push(Link { codec, decoded, document });
        Ok(())
    }

    fn insert_default_binary(&mut self, before: Option<&str>) -> CodecResult {
        let Representation::Array(array) = &self.now else { return Ok(()) };
        if self.creation.format == Format::V3 {
            let place = before.map_or_else(|| "the end".to_owned(), |codec| format!("`{codec}`"));
            self.creation.reading.tolerate(format!(
                "no codec turns the array into bytes before {place}; expected one such as `bytes`; without it, elements \
                 are read as little endian, as in documents of early 2023"
            ))?;
        }
        let order = array.byte_order.clone();
        self.push(Codec::Binary(order), None)
    }

    fn finish(mut self) -> CodecResult<CodecChain> {
        self.insert_default_binary(None)?;
        let encoded_size = match self.now {
            Representation::Bytes(size) => size,
            Representation::Array(array) => array.size(),
        };
        Ok(CodecChain { links: self.links, encoded_size })
    }
}

/// Returns the output of a codec for an input.
///
/// # Errors
///
/// [`CodecError`] for an input of the wrong kind, and if the codec does not support it.
pub fn encoded(codec: &Codec, decoded: &Representation) -> CodecResult<Representation> {
    let array = || match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(_) => {
            Err(CodecError::Unsupported("expected an array, but the preceding codec produces bytes".into()))
        }
    };
    let bytes = || match decoded {
        Representation::Bytes(size) => Ok(*size),
        Representation::Array(_) => {
            Err(CodecError::Unsupported("expected bytes, but the preceding codec produces an array".into()))
        }
    };
    Ok(match codec {
        Codec::Permutation(order) => Representation::Array(permuted(array()?, order)?),
        Codec::Binary(_) => {
            let array = array()?;
            if array.data_type.elements().size().is_none() {
                return Err(CodecError::Unsupported(format!(
                    "elements of data type {} have a variable size and need a codec such as `vlen-utf8`",
                    array.data_type.name()
                )));
            }
            Representation::Bytes(array.size())
        }
        Codec::ArrayToArray(codec) => Representation::Array(codec.encoded(array()?)?),
        Codec::ArrayToBytes(codec) => Representation::Bytes(codec.encoded_size(array()?)?),
        Codec::Composite(codec) => Representation::Bytes(codec.encoded_size(array()?)?),
        Codec::Shard(shard) => {
            inner_grid_shape(&array()?.shape, &shard.inner_shape)?;
            Representation::Bytes(Size::Unknown)
        }
        Codec::BytesToBytes(codec) => Representation::Bytes(codec.encoded_size(bytes()?)),
        Codec::Checksum(checksum) => {
            let more = |size: u64| size.checked_add(checksum.size() as u64);
            Representation::Bytes(match bytes()? {
                Size::Exact(size) => more(size).map_or(Size::Unknown, Size::Exact),
                Size::AtMost(size) => more(size).map_or(Size::Unknown, Size::AtMost),
                Size::Unknown => Size::Unknown,
            })
        }
    })
}

fn permuted(array: &ArrayRepresentation, order: &[usize]) -> CodecResult<ArrayRepresentation> {
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
    Ok(array.clone().with_shape(order.iter().map(|&dimension| array.shape[dimension]).collect()))
}

/// Returns the number of inner chunks per dimension of a shard.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`] if the inner chunks do not divide the shard (V3-SHARD-02).
pub fn inner_grid_shape(shard_shape: &[u64], inner_shape: &[u64]) -> CodecResult<Vec<u64>> {
    let count = |(&outer, &inner): (&u64, &u64)| (inner > 0 && outer % inner == 0).then(|| outer / inner);
    let counts: Option<Vec<u64>> = shard_shape.iter().zip(inner_shape).map(count).collect();
    counts.filter(|_| shard_shape.len() == inner_shape.len()).ok_or_else(|| {
        CodecError::configuration(format!(
            "inner chunks of shape {inner_shape:?} do not divide a shard of shape {shard_shape:?}"
        ))
    })
}

/// Returns whether an element contains units of more than one byte.
#[must_use]
pub fn has_byte_order(units: &Units) -> bool {
    match units {
        Units::Uniform(size) => *size > 1,
        Units::Fields(fields) => !fields.is_empty(),
    }
}

/// Reads a v2 codec object: its members without `id` are the configuration of the [`ExtensionDocument`].
#[must_use]
pub fn v2_codec(object: &Object, id: &str) -> ExtensionDocument {
    let members = object.iter().filter(|(name, _)| *name != "id");
    let members = members.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    ExtensionDocument::new(id, Value::Object(members))
}
