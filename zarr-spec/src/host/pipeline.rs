//! A codec chain resolved for chunks of one shape: its computed steps, and the layout of elements before them.
#![expect(clippy::exhaustive_enums, reason = "an engine runs every kind of step")]

use std::sync::Arc;

use crate::codec::{
    ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum, Codec, CodecError, CodecResult,
    CompositeCodec,
};
use crate::host::chain::{self, CodecChain};
use crate::representation::{ArrayRepresentation, ByteOrder, Elements, Representation, Size, Unit, Units};

/// The position of each element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The distance between neighbours in elements, per dimension of the array.
    pub strides: Vec<usize>,
    /// The bytes of an element that are stored in reversed order.
    pub swap: Swap,
}

impl Layout {
    /// Creates a layout with these strides, in which the bytes that `swap` selects are reversed.
    #[must_use]
    pub const fn new(strides: Vec<usize>, swap: Swap) -> Self {
        Self { strides, swap }
    }
}

/// The bytes of an element that are stored in reversed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Swap {
    /// No bytes.
    #[default]
    None,
    /// The bytes of every unit of this size.
    Uniform(usize),
    /// The bytes of these units.
    Units(Arc<[Unit]>),
}

/// The computation of a chain for chunks of one shape.
///
/// Permutations and byte order before the first computed step do not need a computation: they form `layout`,
/// which the copy between chunk and array applies.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Pipeline {
    /// The chunk from the perspective of users.
    pub array: ArrayRepresentation,
    /// The position of each element of `array` in the bytes that the steps decode.
    pub layout: Layout,
    /// The computed steps in the order of encoding.
    pub steps: Vec<Step>,
    /// The size of the encoded chunk.
    pub encoded_size: Size,
}

/// One computed step.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Step {
    /// The computation.
    pub work: Work,
    /// The size of the decoded side.
    pub decoded_size: Size,
    /// The maximum size of the decoded side, if its size is unknown but the document declares the size of the
    /// chunk: see [`intermediate_limit`].
    pub intermediate_limit: Option<u64>,
    /// The name of the codec in messages.
    pub name: String,
}

impl Step {
    /// Returns the maximum size of the decoded side, or `None` if elements have a variable size. The caller
    /// then sets a limit.
    #[must_use]
    pub fn decoded_limit(&self) -> Option<u64> {
        self.decoded_size.limit().or(self.intermediate_limit)
    }

    /// Returns the exceeded limit if `error` means that the output exceeds [`Step::intermediate_limit`].
    #[must_use]
    pub fn intermediate_too_large(&self, error: &CodecError) -> Option<IntermediateTooLarge> {
        let CodecError::TooLarge(exceeded) = error else { return None };
        let limit = self.intermediate_limit.filter(|&limit| limit == exceeded.limit as u64)?;
        Some(IntermediateTooLarge { limit })
    }
}

/// The output of a codec exceeds [`intermediate_limit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it produces more than {limit} bytes; an undeclared intermediate size may be at most twice the declared size \
     of the chunk plus 1 MiB"
)]
#[non_exhaustive]
pub struct IntermediateTooLarge {
    /// The maximum number of bytes.
    pub limit: u64,
}

/// Returns the maximum number of bytes between two codecs of a chain if their number is not declared: twice the
/// declared size of the chunk, plus 1 MiB.
///
/// The declared size is the largest size that the document declares for the chunk at any earlier point of the chain:
/// the size of an array between two codecs, of the output of a codec with a bounded size, or of a shard with its index.
#[must_use]
pub fn intermediate_limit(declared_size: u64) -> u64 {
    declared_size.saturating_mul(2).saturating_add(1 << 20)
}

/// The computation of one step.
#[derive(Debug, Clone)]
pub enum Work {
    /// Array to array; the array is the decoded side.
    ArrayToArray(Arc<dyn ArrayToArrayCodec>, ArrayRepresentation),
    /// Permutation and byte order after a computed step, as a separate copy from C order to `Layout`.
    Reorder(ArrayRepresentation, Layout),
    /// Array to bytes; the array is the decoded side.
    ArrayToBytes(Arc<dyn ArrayToBytesCodec>, ArrayRepresentation),
    /// Array to bytes, by inner chains of the codec; the array is the decoded side.
    Composite(Arc<dyn CompositeCodec>, ArrayRepresentation),
    /// Array to bytes, by inner chunks.
    Shard(Arc<ShardPipeline>),
    /// Bytes to bytes.
    BytesToBytes(Arc<dyn BytesToBytesCodec>),
    /// A checksum before or after the bytes.
    Checksum(Arc<dyn Checksum>),
}

/// A resolved shard.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShardPipeline {
    /// The shard as an array, after the permutations that precede it.
    pub array: ArrayRepresentation,
    /// If the shard is the first step, dimension `i` of the shard is dimension `order[i]` of [`Pipeline::array`].
    pub order: Vec<usize>,
    /// Inner chunks per dimension of the shard.
    pub grid_shape: Vec<u64>,
    /// The pipeline of an inner chunk.
    pub inner: Arc<Pipeline>,
    /// The pipeline of the index.
    pub index: Arc<Pipeline>,
    /// The encoded size of the index.
    pub index_size: u64,
    /// Whether the index precedes the inner chunks.
    pub index_at_start: bool,
}

impl Pipeline {
    /// Returns the shard if it is the only step, so that a planner can access its inner chunks.
    #[must_use]
    pub fn shard(&self) -> Option<&Arc<ShardPipeline>> {
        match self.steps.as_slice() {
            [Step { work: Work::Shard(shard), .. }] => Some(shard),
            _ => None,
        }
    }
}

impl CodecChain {
    /// Resolves everything that depends on the shape of the chunk.
    ///
    /// # Errors
    ///
    /// If a codec does not support this shape, or this machine cannot address the chunk.
    pub fn resolve(&self, chunk: &ArrayRepresentation) -> CodecResult<Pipeline> {
        if chunk.element_count().is_none() {
            return Err(CodecError::Unsupported(format!("a chunk of shape {:?} is too large", chunk.shape)));
        }
        let mut resolving = Resolving::new(chunk);
        let mut now = Representation::Array(chunk.clone());
        for link in self.links() {
            let next = chain::encoded(&link.codec, &now)?;
            resolving.add(&link.codec, &now, &next, link.name())?;
            now = next;
        }
        let encoded_size = match &now {
            Representation::Bytes(size) => *size,
            Representation::Array(array) => array.size(),
        };
        resolving.flush("(end of the chain)");
        let layout = resolving.layout.unwrap_or_else(|| Layout { strides: Vec::new(), swap: Swap::None });
        Ok(Pipeline { array: chunk.clone(), layout, steps: resolving.steps, encoded_size })
    }
}

/// The state while resolving a chain. `base` is the output of the last computed step; `order` and `swap` are the
/// reordering after it that is still pending.
struct Resolving {
    base: ArrayRepresentation,
    order: Vec<usize>,
    swap: Swap,
    layout: Option<Layout>,
    steps: Vec<Step>,
    /// Whether the output of the last codec is bytes. Then no reordering is pending.
    bytes: bool,
    /// The largest declared size so far. `None` after elements of variable size.
    declared_size: Option<u64>,
}

impl Resolving {
    fn new(chunk: &ArrayRepresentation) -> Self {
        Self {
            order: (0..chunk.shape.len()).collect(),
            base: chunk.clone(),
            swap: Swap::None,
            layout: None,
            steps: Vec::new(),
            bytes: false,
            declared_size: Some(0),
        }
    }

    fn add(
        &mut self,
        codec: &Codec,
        decoded: &Representation,
        encoded: &Representation,
        name: &str,
    ) -> CodecResult {
        self.declare(decoded);
        let work = match (codec, decoded) {
            (Codec::Permutation(order), _) => {
                self.order = order.iter().map(|&dimension| self.order[dimension]).collect();
                return Ok(());
            }
            (Codec::Binary(order), _) => {
                self.swap = swap(&self.base.data_type.elements(), order);
                self.flush(name);
                self.bytes = true;
                return Ok(());
            }
            (Codec::ArrayToArray(codec), Representation::Array(array)) => {
                self.flush(name);
                Work::ArrayToArray(Arc::clone(codec), array.clone())
            }
            (Codec::ArrayToBytes(codec), Representation::Array(array)) => {
                self.flush(name);
                Work::ArrayToBytes(Arc::clone(codec), array.clone())
            }
            (Codec::Composite(codec), Representation::Array(array)) => {
                self.flush(name);
                Work::Composite(Arc::clone(codec), array.clone())
            }
            (Codec::Shard(shard), Representation::Array(array)) => {
                let order = self.order.clone();
                self.flush(name);
                let shard = shard_pipeline(shard, array, order)?;
                let with_index = |size: u64| size.checked_add(shard.index_size);
                self.declared_size = self.declared_size.and_then(with_index);
                Work::Shard(Arc::new(shard))
            }
            (Codec::BytesToBytes(codec), _) => Work::BytesToBytes(Arc::clone(codec)),
            (Codec::Checksum(checksum), _) => Work::Checksum(Arc::clone(checksum)),
            (_, Representation::Bytes(_)) => {
                return Err(CodecError::Unsupported(
                    "expected an array, but the preceding codec produces bytes".into(),
                ));
            }
        };
        self.push(work, decoded, name);
        match encoded {
            Representation::Array(array) => {
                self.order = (0..array.shape.len()).collect();
                self.base = array.clone();
            }
            Representation::Bytes(_) => self.bytes = true,
        }
        Ok(())
    }

    fn push(&mut self, work: Work, decoded: &Representation, name: &str) {
        let decoded_size = match decoded {
            Representation::Array(array) => array.size(),
            Representation::Bytes(size) => *size,
        };
        let intermediate_limit = match (decoded, self.declared_size) {
            (Representation::Bytes(Size::Unknown), Some(size)) => Some(intermediate_limit(size)),
            _ => None,
        };
        self.steps.push(Step { work, decoded_size, intermediate_limit, name: name.to_owned() });
    }

    /// Raises `declared_size` to the size of `decoded` if that is larger. Elements of variable size make it `None`
    /// permanently.
    fn declare(&mut self, decoded: &Representation) {
        let size = match decoded {
            Representation::Array(array) => array.size().limit(),
            Representation::Bytes(size) => Some(size.limit().unwrap_or(0)),
        };
        self.declared_size = self.declared_size.zip(size).map(|(largest, size)| largest.max(size));
    }

    /// Applies pending reordering before the next computed step. Before the first computed step, the copy applies it.
    fn flush(&mut self, name: &str) {
        if self.bytes {
            return;
        }
        let swap = std::mem::take(&mut self.swap);
        let layout = Layout { strides: strides(&self.base.shape, &self.order), swap };
        let is_plain = layout.swap == Swap::None && self.order.is_sorted();
        let rank = self.base.shape.len();
        self.order = (0..rank).collect();
        if self.layout.is_none() {
            self.layout = Some(layout);
        } else if !is_plain {
            let work = Work::Reorder(self.base.clone(), layout);
            let decoded_size = self.base.size();
            self.steps.push(Step { work, decoded_size, intermediate_limit: None, name: name.to_owned() });
        }
    }
}

fn shard_pipeline(
    shard: &crate::codec::Shard,
    array: &ArrayRepresentation,
    order: Vec<usize>,
) -> CodecResult<ShardPipeline> {
    let inner = array.clone().with_shape(shard.inner_shape.clone());
    let grid_shape: Vec<u64> =
        array.shape.iter().zip(&shard.inner_shape).map(|(outer, inner)| outer / inner).collect();
    let index_array = match shard.index_codecs.links().first().map(|link| &link.decoded) {
        Some(Representation::Array(index)) => {
            let shape = grid_shape.iter().copied().chain([2]).collect();
            index.clone().with_shape(shape)
        }
        _ => return Err(CodecError::configuration("the index does not have codecs")),
    };
    let index = shard.index_codecs.resolve(&index_array)?;
    let Size::Exact(index_size) = index.encoded_size else {
        return Err(CodecError::configuration("the encoded size of the index is not fixed"));
    };
    Ok(ShardPipeline {
        array: array.clone(),
        order,
        grid_shape,
        inner: Arc::new(shard.inner_codecs.resolve(&inner)?),
        index: Arc::new(index),
        index_size,
        index_at_start: shard.index_at_start,
    })
}

/// Returns the strides in elements of an array of `shape` that is stored in C order with its dimensions in
/// `order`. The lengths have been checked for overflow.
fn strides(shape: &[u64], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1usize;
    for &dimension in order.iter().rev() {
        strides[dimension] = stride;
        stride = stride.saturating_mul(usize::try_from(shape[dimension]).unwrap_or(usize::MAX));
    }
    strides
}

/// Returns the bytes that differ between native order and `order`.
fn swap(elements: &Elements, order: &ByteOrder) -> Swap {
    let Elements::Fixed { units, .. } = elements else { return Swap::None };
    let native_is_big = cfg!(target_endian = "big");
    let all = |big: bool| match units {
        Units::Uniform(0 | 1) => Swap::None,
        _ if big == native_is_big => Swap::None,
        Units::Uniform(size) => Swap::Uniform(*size),
        Units::Fields(fields) if fields.is_empty() => Swap::None,
        Units::Fields(fields) => Swap::Units(Arc::clone(fields)),
    };
    match (order, units) {
        (ByteOrder::Little, _) => all(false),
        (ByteOrder::Big, _) => all(true),
        (ByteOrder::Mixed(big), Units::Fields(fields)) => {
            let reversed = fields.iter().zip(big.iter()).filter(|&(_, &big)| big != native_is_big);
            let reversed: Arc<[Unit]> = reversed.map(|(field, _)| *field).collect();
            if reversed.is_empty() { Swap::None } else { Swap::Units(reversed) }
        }
        (ByteOrder::Mixed(big), Units::Uniform(_)) => all(big.first().copied().unwrap_or(native_is_big)),
    }
}
