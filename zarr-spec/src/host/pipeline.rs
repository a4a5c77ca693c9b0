//! A codec chain resolved for chunks of one shape: what is left to compute, and where elements lie before that.

use std::sync::Arc;

use crate::codec::{
    ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum, Codec, CodecError, CompositeCodec,
};
use crate::host::chain::{self, CodecChain};
use crate::representation::{ArrayRepresentation, ByteOrder, Elements, Representation, Size, Unit, Units};

/// Where each element of an array lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Elements between neighbours, per dimension of the array.
    pub strides: Vec<usize>,
    /// Which bytes of an element are reversed.
    pub swap: Swap,
}

/// Which bytes of an element stand in reversed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Swap {
    /// None.
    #[default]
    None,
    /// Those of every unit of this many bytes.
    Uniform(usize),
    /// Those of these units.
    Units(Arc<[Unit]>),
}

/// What a chain computes for chunks of one shape.
///
/// Permutations and byte order before the first computed step are not computed: they are `layout`, which the one
/// copy between chunk and array takes into account.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// A chunk as users see it.
    pub array: ArrayRepresentation,
    /// Where each element of `array` lies in what the steps decode to.
    pub layout: Layout,
    /// Computed steps, in the order in which they encode.
    pub steps: Vec<Step>,
    /// Bytes of the encoded chunk.
    pub encoded_size: Size,
}

/// One computed step.
#[derive(Debug, Clone)]
pub struct Step {
    /// What is computed.
    pub work: Work,
    /// Bytes of the decoded side.
    pub decoded_size: Size,
    /// The most bytes of the decoded side where its size is unknown, although the document declares the size of the chunk:
    /// see [`intermediate_limit`].
    pub intermediate_limit: Option<u64>,
    /// What messages call the codec.
    pub name: String,
}

impl Step {
    /// The most bytes of the decoded side. `None` where elements have variable size: the caller then has a limit.
    #[must_use]
    pub fn decoded_limit(&self) -> Option<u64> {
        self.decoded_size.limit().or(self.intermediate_limit)
    }

    /// What exceeded [`Step::intermediate_limit`], if `error` says so.
    #[must_use]
    pub fn intermediate_too_large(&self, error: &CodecError) -> Option<IntermediateTooLarge> {
        let CodecError::TooLarge(exceeded) = error else { return None };
        let limit = self.intermediate_limit.filter(|&limit| limit == exceeded.limit as u64)?;
        Some(IntermediateTooLarge { limit })
    }
}

/// More bytes came out between two codecs than [`intermediate_limit`] allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "more than {limit} bytes came out; an intermediate size that nothing declares may be at most twice the declared size \
     of the chunk plus 1 MiB"
)]
pub struct IntermediateTooLarge {
    /// The most bytes that may come out.
    pub limit: u64,
}

/// The most bytes that may lie between two codecs of a chain where nothing declares their number: twice the declared size
/// of the chunk, plus 1 MiB.
///
/// The declared size is the largest one that the document declares for the chunk before that place: of an array between
/// two codecs, of what a codec leaves if its size is bounded, of a shard with its index.
#[must_use]
pub fn intermediate_limit(declared_size: u64) -> u64 {
    declared_size.saturating_mul(2).saturating_add(1 << 20)
}

/// What one step computes.
#[derive(Debug, Clone)]
pub enum Work {
    /// Array to array; the array is the decoded side.
    ArrayToArray(Arc<dyn ArrayToArrayCodec>, ArrayRepresentation),
    /// Permutation and byte order behind a computed step: a copy of its own from C order to `Layout`.
    Reorder(ArrayRepresentation, Layout),
    /// Array to bytes; the array is the decoded side.
    ArrayToBytes(Arc<dyn ArrayToBytesCodec>, ArrayRepresentation),
    /// Array to bytes, by chains inside of the codec; the array is the decoded side.
    Composite(Arc<dyn CompositeCodec>, ArrayRepresentation),
    /// Array to bytes, by inner chunks.
    Shard(Arc<ShardPipeline>),
    /// Bytes to bytes.
    BytesToBytes(Arc<dyn BytesToBytesCodec>),
    /// A checksum beside the bytes.
    Checksum(Arc<dyn Checksum>),
}

/// A shard, resolved.
#[derive(Debug, Clone)]
pub struct ShardPipeline {
    /// The shard as an array: after the permutations before it.
    pub array: ArrayRepresentation,
    /// Dimension `i` of the shard is dimension `order[i]` of the chunk as users see it, when the shard is the
    /// first step.
    pub order: Vec<usize>,
    /// Inner chunks per dimension of the shard.
    pub grid_shape: Vec<u64>,
    /// One inner chunk.
    pub inner: Arc<Pipeline>,
    /// The index.
    pub index: Arc<Pipeline>,
    /// Bytes of the encoded index.
    pub index_size: u64,
    /// Whether the index comes first.
    pub index_at_start: bool,
}

impl Pipeline {
    /// The shard that a planner can go down into: the only step.
    #[must_use]
    pub fn shard(&self) -> Option<&Arc<ShardPipeline>> {
        match self.steps.as_slice() {
            [Step { work: Work::Shard(shard), .. }] => Some(shard),
            _ => None,
        }
    }
}

impl CodecChain {
    /// Everything that depends on the shape of the chunk.
    ///
    /// # Errors
    ///
    /// When a codec cannot work with that shape, or the chunk is larger than this machine can address.
    pub fn resolve(&self, chunk: &ArrayRepresentation) -> Result<Pipeline, CodecError> {
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

/// A walk along a chain. `base` is what the last computed step left; `order` and `swap` were not yet done to it.
struct Resolving {
    base: ArrayRepresentation,
    order: Vec<usize>,
    swap: Swap,
    layout: Option<Layout>,
    steps: Vec<Step>,
    /// Whether bytes have been reached, so that nothing is pending any more.
    bytes: bool,
    /// The largest size that was declared so far. `None` once elements have variable size.
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
    ) -> Result<(), CodecError> {
        let decoded_size = match decoded {
            Representation::Array(array) => array.size(),
            Representation::Bytes(size) => *size,
        };
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
        let intermediate_limit = match (decoded, self.declared_size) {
            (Representation::Bytes(Size::Unknown), Some(size)) => Some(intermediate_limit(size)),
            _ => None,
        };
        self.steps.push(Step { work, decoded_size, intermediate_limit, name: name.to_owned() });
        match encoded {
            Representation::Array(array) => {
                self.order = (0..array.shape.len()).collect();
                self.base = array.clone();
            }
            Representation::Bytes(_) => self.bytes = true,
        }
        Ok(())
    }

    /// Takes note of a size that the document declares, or of elements that have none.
    fn declare(&mut self, decoded: &Representation) {
        let size = match decoded {
            Representation::Array(array) => array.size().limit(),
            Representation::Bytes(size) => Some(size.limit().unwrap_or(0)),
        };
        self.declared_size = self.declared_size.zip(size).map(|(largest, size)| largest.max(size));
    }

    /// Puts what is pending before the next computed step: to the copy, if nothing was computed yet.
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
) -> Result<ShardPipeline, CodecError> {
    let inner = ArrayRepresentation { shape: shard.inner_shape.clone(), ..array.clone() };
    let grid_shape: Vec<u64> =
        array.shape.iter().zip(&shard.inner_shape).map(|(outer, inner)| outer / inner).collect();
    let index_array = match shard.index_codecs.links().first().map(|link| &link.decoded) {
        Some(Representation::Array(index)) => {
            let shape = grid_shape.iter().copied().chain([2]).collect();
            ArrayRepresentation { shape, ..index.clone() }
        }
        _ => return Err(CodecError::configuration("the index has no codecs")),
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

/// Elements between neighbours per dimension of an array of `shape` that is stored in C order with its dimensions
/// in `order`. All lengths were checked to fit.
fn strides(shape: &[u64], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1usize;
    for &dimension in order.iter().rev() {
        strides[dimension] = stride;
        stride = stride.saturating_mul(usize::try_from(shape[dimension]).unwrap_or(usize::MAX));
    }
    strides
}

/// Which bytes differ between native order and `order`.
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
