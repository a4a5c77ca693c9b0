//! The encoding of chunks, independent of the format that describes it.

use std::sync::Arc;

use zarr_spec::codec::{CodecPlugin, Shard};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::has_byte_order;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, Creation, DataType, Elements, Format, Mode, Object,
    Reading, Registry, Representation, Value,
};

use super::members::{invalid, not_in_format, unknown};
use crate::error::Error;

/// The v3 names of codecs. Other formats have other members of the document instead of these codecs.
pub(crate) const BYTES: &str = "bytes";
const TRANSPOSE: &str = "transpose";

#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) array: ArrayRepresentation,
    pub(crate) steps: Vec<RecipeStep>,
}

#[derive(Debug)]
pub(crate) enum RecipeStep {
    /// A permutation of dimensions: encoded dimension `i` is decoded dimension `order[i]`.
    Permutation(Vec<usize>),
    Binary(ByteOrder),
    Codec(Box<SourceCodec>),
}

#[derive(Debug)]
pub(crate) struct SourceCodec {
    pub(crate) codec: Codec,
    pub(crate) plugin: CodecPlugin,
    pub(crate) format: Format,
    pub(crate) document: ExtensionDocument,
    pub(crate) decoded: Representation,
}

#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) memory_layout: Option<ExtensionDocument>,
    pub(crate) codecs: Vec<ExtensionDocument>,
    pub(crate) has_compressor: bool,
    pub(crate) byte_order: ByteOrder,
}

impl Recipe {
    /// Replaces shards by their inner chunks, if `target` is not v3.
    pub(crate) fn take_shards_apart(&mut self, registry: &Registry, target: Format) -> Result<(), Error> {
        if target == Format::V3 {
            return Ok(());
        }
        while let Some((place, shard, format)) = self.first_shard() {
            for (position, &length) in shard.inner_shape.iter().enumerate() {
                let mut dimension = position;
                for step in self.steps[..place].iter().rev() {
                    let RecipeStep::Permutation(order) = step else {
                        return Err(not_in_format(
                            target,
                            "a shard after a codec that changes the whole chunk",
                        ));
                    };
                    dimension = order[dimension];
                }
                self.array.shape[dimension] = length;
            }
            let inner = steps_of(format, registry, &shard.inner_codecs)?;
            self.steps.splice(place..=place, inner);
        }
        Ok(())
    }

    /// Replaces an order of dimensions other than C and F, which v2 does not support, with C. Elements do not change.
    pub(crate) fn use_an_order_of_v2(&mut self) {
        let rank = self.array.shape.len();
        let is_reversed = permutation_of(rank, &self.steps) == reversal(rank);
        self.steps.retain(|step| !matches!(step, RecipeStep::Permutation(_)));
        if is_reversed {
            self.steps.insert(0, RecipeStep::Permutation(reversal(rank)));
        }
    }

    fn first_shard(&self) -> Option<(usize, Arc<Shard>, Format)> {
        self.steps.iter().enumerate().find_map(|(place, step)| match step {
            RecipeStep::Codec(codec) => match &codec.codec {
                Codec::Shard(shard) => Some((place, Arc::clone(shard), codec.format)),
                _ => None,
            },
            _ => None,
        })
    }
}

pub(crate) fn steps_of(
    format: Format,
    registry: &Registry,
    chain: &CodecChain,
) -> Result<Vec<RecipeStep>, Error> {
    let step = |(position, link): (usize, &zarr_spec::host::chain::Link)| match (&link.codec, &link.document)
    {
        (Codec::Permutation(order), _) => Ok(RecipeStep::Permutation(order.clone())),
        (Codec::Binary(order), _) => Ok(RecipeStep::Binary(order.clone())),
        (_, Some(document)) => {
            Ok(RecipeStep::Codec(Box::new(source_codec(format, registry, chain, position, document)?)))
        }
        (_, None) => Err(invalid("chunk_memory_layout", "it is not a permutation of the dimensions")),
    };
    chain.links().iter().enumerate().map(step).collect()
}

fn source_codec(
    format: Format,
    registry: &Registry,
    chain: &CodecChain,
    position: usize,
    document: &ExtensionDocument,
) -> Result<SourceCodec, Error> {
    let plugin = registry.codecs().find(format, &document.identifier, &Reading::new(Mode::Lenient));
    let plugin = *plugin.map_err(|error| unknown("codecs", error))?;
    let codec = chain.links()[position].codec.clone();
    let decoded = chain.created_for(position).clone();
    Ok(SourceCodec { codec, plugin, format, document: document.clone(), decoded })
}

/// Returns the documents of the codecs of a chain as a strict writer of `format` writes them.
pub(crate) fn rewritten_codecs(
    format: Format,
    registry: &Registry,
    chain: &CodecChain,
) -> Result<Vec<ExtensionDocument>, Error> {
    let rewrite =
        |(position, link): (usize, &zarr_spec::host::chain::Link)| match (&link.document, &link.codec) {
            (Some(document), _) => {
                translate_codec(registry, &source_codec(format, registry, chain, position, document)?, format)
                    .map(Some)
            }
            // Documents of early 2023 do not name the `bytes` codec, which a strict writer adds.
            (None, Codec::Binary(order)) if format == Format::V3 => {
                let concerns = match &link.decoded {
                    Representation::Array(array) => concerns(&*array.data_type),
                    Representation::Bytes(_) => false,
                };
                binary(format, registry, order, concerns)
            }
            (None, _) => Ok(None),
        };
    chain.links().iter().enumerate().map(rewrite).filter_map(Result::transpose).collect()
}

pub(crate) fn translate_recipe(
    target: Format,
    registry: &Registry,
    recipe: &Recipe,
) -> Result<Translated, Error> {
    let order = permutation_of(recipe.array.shape.len(), &recipe.steps);
    let steps = &recipe.steps[leading(&recipe.steps)..];
    let mut translated = Translated {
        memory_layout: None,
        codecs: Vec::new(),
        has_compressor: false,
        byte_order: ByteOrder::Little,
    };
    translated.codecs.extend(match target {
        Format::V3 => transposition(target, registry, &order)?,
        Format::V2 | Format::V3Draft => {
            // The layout `F` of the draft requires elements of fixed size (D3-LAYOUT-04).
            let has_letter = target == Format::V2 || recipe.array.data_type.elements().size().is_some();
            let is_reversed = has_letter && !is_identity(&order) && order == reversal(order.len());
            let letter = if is_reversed { "F" } else { "C" };
            translated.memory_layout = Some(ExtensionDocument::new(letter, Value::Null));
            if is_reversed { None } else { transposition(target, registry, &order)? }
        }
    });
    let mut is_computed = false;
    for step in steps {
        match step {
            RecipeStep::Permutation(order) => {
                translated.codecs.extend(transposition(target, registry, order)?)
            }
            // The byte order of v2 is part of the data type. After an array-to-array codec, which determines its own
            // output type, the array of the recipe determines the order.
            RecipeStep::Binary(order) if target == Format::V2 => {
                translated.byte_order =
                    if is_computed { recipe.array.byte_order.clone() } else { order.clone() };
            }
            RecipeStep::Binary(order) => {
                let concerns = is_computed || concerns(&*recipe.array.data_type);
                translated.codecs.extend(binary(target, registry, order, concerns)?);
            }
            RecipeStep::Codec(codec) => {
                is_computed |= matches!(codec.codec, Codec::ArrayToArray(_));
                translated.codecs.push(translate_codec(registry, codec, target)?);
            }
        }
    }
    let last = steps
        .last()
        .and_then(|step| if let RecipeStep::Codec(codec) = step { Some(&codec.codec) } else { None });
    translated.has_compressor = target == Format::V2 && matches!(last, Some(Codec::BytesToBytes(_)));
    Ok(translated)
}

/// Returns an error for each step that `target` cannot represent. [`translate_recipe`] returns only the first one.
pub(crate) fn untranslatable_steps(target: Format, registry: &Registry, recipe: &Recipe) -> Vec<Error> {
    let behind = &recipe.steps[leading(&recipe.steps)..];
    let failure = |step: &RecipeStep| match step {
        RecipeStep::Permutation(order) => transposition(target, registry, order).err(),
        RecipeStep::Binary(_) => None,
        RecipeStep::Codec(codec) => translate_codec(registry, codec, target).err(),
    };
    behind.iter().filter_map(failure).collect()
}

pub(crate) fn translate_codec(
    registry: &Registry,
    codec: &SourceCodec,
    target: Format,
) -> Result<ExtensionDocument, Error> {
    let SourceCodec { plugin, format, document, decoded, .. } = codec;
    let name = &document.identifier;
    if plugin.identifiers.in_format(target).is_none() {
        return Err(not_in_format(target, format!("codec `{name}`")));
    }
    let reading = &Reading::new(Mode::Lenient);
    let creation = Creation::of(document, *format, registry, reading);
    let translated = registry.translated_codec(&creation, decoded, target);
    let mut translated =
        translated.map_err(|error| not_in_format(target, format!("codec `{name}`: {error}")))?;
    if translated.configuration.as_object().is_some_and(Object::is_empty) {
        translated.configuration = Value::Null;
    }
    Ok(translated)
}

pub(crate) fn reversal(rank: usize) -> Vec<usize> {
    (0..rank).rev().collect()
}

fn leading(steps: &[RecipeStep]) -> usize {
    steps.iter().take_while(|step| matches!(step, RecipeStep::Permutation(_))).count()
}

pub(crate) fn permutation_of(rank: usize, steps: &[RecipeStep]) -> Vec<usize> {
    combined(rank, &steps[..leading(steps)])
}

fn combined(rank: usize, permutations: &[RecipeStep]) -> Vec<usize> {
    let mut combined: Vec<usize> = (0..rank).collect();
    for step in permutations {
        if let RecipeStep::Permutation(order) = step {
            combined = order.iter().map(|&dimension| combined[dimension]).collect();
        }
    }
    combined
}

fn is_identity(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(position, &dimension)| position == dimension)
}

fn transposition(
    target: Format,
    registry: &Registry,
    order: &[usize],
) -> Result<Option<ExtensionDocument>, Error> {
    if is_identity(order) {
        return Ok(None);
    }
    if target == Format::V2 {
        let reason = format!("the order of dimensions {order:?}, only C and F");
        return Err(not_in_format(target, reason));
    }
    let order: Value = order.iter().copied().collect();
    let configuration = [("order", order)].into_iter().collect();
    Ok(Some(ExtensionDocument::new(identifier(target, registry, TRANSPOSE)?, configuration)))
}

/// Returns the codec for a byte order; `None` for the default order in the draft.
fn binary(
    target: Format,
    registry: &Registry,
    order: &ByteOrder,
    concerns: bool,
) -> Result<Option<ExtensionDocument>, Error> {
    let is_big = *order == ByteOrder::Big && concerns;
    if target == Format::V3Draft && !is_big {
        return Ok(None);
    }
    let endian = [("endian", if is_big { "big" } else { "little" })].into_iter().collect();
    let configuration = if concerns { endian } else { Value::Null };
    Ok(Some(ExtensionDocument::new(identifier(target, registry, BYTES)?, configuration)))
}

fn identifier(target: Format, registry: &Registry, name: &str) -> Result<String, Error> {
    if target == Format::V3 {
        return Ok(name.to_owned());
    }
    let plugin = registry.codecs().find(Format::V3, name, &Reading::new(Mode::Lenient));
    let plugin = plugin.map_err(|error| unknown("codecs", error))?;
    let identifier = plugin.identifiers.in_format(target);
    let identifier = identifier.ok_or_else(|| not_in_format(target, format!("codec `{name}`")))?;
    Ok(identifier.to_owned())
}

fn concerns(data_type: &dyn DataType) -> bool {
    match data_type.elements() {
        Elements::Fixed { units, .. } => has_byte_order(&units),
        Elements::Variable => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combines_consecutive_permutations() {
        let steps = [RecipeStep::Permutation(vec![1, 2, 0]), RecipeStep::Permutation(vec![0, 2, 1])];
        // Shape (a, b, c) becomes (b, c, a), then (b, a, c).
        assert_eq!(combined(3, &steps), [1, 0, 2]);
        assert_eq!(combined(2, &[]), [0, 1]);
        assert!(is_identity(&[]) && is_identity(&[0, 1]) && !is_identity(&reversal(2)));
    }

    #[test]
    fn v2_supports_only_c_and_f_order() {
        let registry = Registry::empty();
        assert_eq!(transposition(Format::V2, &registry, &[0, 1, 2]).unwrap(), None);
        let error = transposition(Format::V2, &registry, &[1, 0, 2]).unwrap_err().to_string();
        assert!(error.starts_with("v2 does not support the order of dimensions [1, 0, 2]"), "{error}");
        let transpose = transposition(Format::V3, &registry, &[1, 0]).unwrap().unwrap();
        assert_eq!(transpose.configuration.to_string(), r#"{"order":[1,0]}"#);
    }
}
