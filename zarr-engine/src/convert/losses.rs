//! Information that a conversion of metadata loses.

use std::fmt;

use zarr_metadata::ArrayMetadata;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::{Codec, Format, Mode, Object, Reading, Registry, printable};

use super::Conversion;
use super::members::NAMES_ATTRIBUTE;
use super::recipe::{permutation_of, steps_of};

/// A part of the metadata of an array that is missing in its copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ConversionLoss {
    /// The member of the document, such as `extensions[0]`.
    pub member: String,
    /// A description of what is lost and what replaces it in the copy.
    pub reason: String,
}

impl ConversionLoss {
    /// Creates the loss of `member`; `reason` describes what replaces it in the copy.
    pub fn new(member: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { member: member.into(), reason: reason.into() }
    }
}

impl fmt::Display for ConversionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", printable(&self.member), printable(&self.reason))
    }
}

/// Lists the information in the metadata of `source` that `copy`, an array with the same elements, does not contain, in
/// the order of the members of a document. Other chunk shapes and other codecs of the same kind do not count as losses.
#[must_use]
pub fn conversion_losses(
    source: &ArrayMetadata,
    copy: &ArrayMetadata,
    registry: &Registry,
) -> Vec<ConversionLoss> {
    let reading = &Reading::new(Mode::Lenient);
    let of = |source, target| Conversion { source, target, registry, reading };
    let mut comparison = Comparison {
        source: of(source, copy.format),
        copy: of(copy, copy.format),
        target: copy.format,
        losses: Vec::new(),
    };
    comparison.data_type();
    comparison.chunk_grid();
    comparison.memory_layout();
    comparison.order();
    comparison.shards();
    comparison.chunk_key_encoding();
    comparison.fill_value();
    comparison.storage_transformers();
    comparison.extensions();
    comparison.dimension_names();
    comparison.attributes();
    comparison.ignored();
    comparison.losses
}

struct Comparison<'a> {
    source: Conversion<'a>,
    copy: Conversion<'a>,
    target: Format,
    losses: Vec<ConversionLoss>,
}

impl Comparison<'_> {
    fn lose(&mut self, member: impl Into<String>, reason: impl Into<String>) {
        self.losses.push(ConversionLoss { member: member.into(), reason: reason.into() });
    }

    fn data_type(&mut self) {
        let fallback = |conversion: &Conversion<'_>| {
            let types = conversion.source.data_type.fallback.iter();
            types.map(|one| one.json.to_string()).collect::<Vec<_>>().join(", ")
        };
        let before = fallback(&self.source);
        let after = fallback(&self.copy);
        if before == after || before.is_empty() {
            return;
        }
        let reason = match (self.target, after.is_empty()) {
            (Format::V3Draft, false) => format!("the fallback {before}; the copy has {after}"),
            (Format::V3Draft, true) => format!("the fallback {before}; the copy has none"),
            (target, _) => format!("the fallback {before}; {target} does not support fallbacks"),
        };
        self.lose("data_type", reason);
    }

    fn chunk_grid(&mut self) {
        let (Ok(before), Ok(after)) = (self.source.grid(), self.copy.grid()) else { return };
        let document = &self.source.source.chunk_grid;
        let moved = |grid: &dyn ChunkGrid| grid.moved(&vec![0; grid.grid_shape().len()]);
        // If the origin cannot be determined, assume that it is lost.
        let loses_origin = !matches!(moved(&*before), Ok(None)) && !matches!(moved(&*after), Ok(Some(_)));
        let name = &document.identifier;
        let configuration = &document.configuration;
        if loses_origin {
            self.lose(
                "chunk_grid",
                format!(
                    "the origin of grid `{name}` {configuration}; chunks of the copy start at the first element"
                ),
            );
        } else if before.chunk_shape().is_none() && after.chunk_shape().is_some() {
            self.lose("chunk_grid", format!("grid `{name}`; all chunks of the copy have the same shape"));
        }
    }

    fn memory_layout(&mut self) {
        let Some(layout) = &self.source.source.memory_layout else { return };
        let name = &layout.identifier;
        let after = self.copy.source.memory_layout.as_ref();
        let is_letter = matches!(name.as_str(), "C" | "F");
        if !is_letter && after.is_none_or(|after| after.identifier != *name) {
            let reason = format!("layout `{name}`; chunks of the copy are in C order");
            self.lose("chunk_memory_layout", reason);
        }
    }

    /// Reports an order of dimensions other than C and F, which v2 does not support.
    fn order(&mut self) {
        let before = permutation(&self.source);
        let after = permutation(&self.copy);
        if let (Some(before), Some(after)) = (before, after)
            && self.target == Format::V2
            && before != after
            && after.is_sorted()
        {
            let reason =
                format!("the order of dimensions {before:?}; v2 supports only C and F, and the copy uses C");
            self.lose("codecs", reason);
        }
    }

    fn shards(&mut self) {
        if has_shards(&self.source) && !has_shards(&self.copy) {
            let member = if self.source.source.storage_transformers.is_empty() {
                "codecs"
            } else {
                "storage_transformers"
            };
            let reason = match self.target {
                Format::V3Draft => "shards of this kind (the v3 draft requires a plain index at the end)",
                Format::V2 => "shards, which v2 does not support",
                Format::V3 => "shards",
            };
            self.lose(member, format!("{reason}; their inner chunks are the chunks of the copy"));
        }
    }

    fn chunk_key_encoding(&mut self) {
        let before = &self.source.source.chunk_key_encoding;
        let after = &self.copy.source.chunk_key_encoding;
        if !["default", "v2"].contains(&before.identifier.as_str()) && before.identifier != after.identifier {
            let before = &before.identifier;
            let after = &after.identifier;
            let reason = format!("encoding `{before}`; the copy uses `{after}`");
            self.lose("chunk_key_encoding", reason);
        }
    }

    fn fill_value(&mut self) {
        if !self.source.is_fill_defined() && self.copy.is_fill_defined() {
            let after = &self.copy.source.fill_value;
            let reason = format!("it is undefined; in the copy it is {after}, the value of missing chunks");
            self.lose("fill_value", reason);
        }
    }

    fn storage_transformers(&mut self) {
        let is_shard = |document: &ExtensionDocument| self.source.shards_by(document);
        let before = &self.source.source.storage_transformers;
        let after = &self.copy.source.storage_transformers;
        let gone = before.iter().enumerate().filter(|(_, one)| !is_shard(one) && !after.contains(one));
        let gone: Vec<_> = gone
            .map(|(position, one)| {
                let reason = format!("transformer `{}`; the copy does not have it", one.identifier);
                (format!("storage_transformers[{position}]"), reason)
            })
            .collect();
        gone.into_iter().for_each(|(member, reason)| self.lose(member, reason));
    }

    fn extensions(&mut self) {
        let source = self.source.source;
        for (position, document) in source.extensions.iter().enumerate() {
            let has_names = self.source.extension(position, document).ok().flatten();
            let has_names = has_names.is_some_and(|extension| extension.dimension_names().is_some());
            if !has_names && !self.copy.source.extensions.contains(document) {
                let name = &document.identifier;
                let whose = if document.must_understand { "must understand" } else { "may ignore" };
                let reason = format!("extension `{name}`, which readers {whose}; the copy does not have it");
                self.lose(format!("extensions[{position}]"), reason);
            }
        }
    }

    fn dimension_names(&mut self) {
        let Ok(Some(before)) = self.source.dimension_names() else { return };
        if self.copy.dimension_names().is_ok_and(|after| after.as_ref() == Some(&before)) {
            return;
        }
        let kept = self.source.source.attributes.get(NAMES_ATTRIBUTE);
        let reason = match kept {
            Some(kept) => {
                format!("dimension names; the attribute `{NAMES_ATTRIBUTE}` of the copy stays {kept}")
            }
            None => format!("dimension names; the copy has them in its attribute `{NAMES_ATTRIBUTE}`"),
        };
        self.lose("dimension_names", reason);
    }

    fn attributes(&mut self) {
        let before = &self.source.source.attributes;
        let after = &self.copy.source.attributes;
        let is_named = self.copy.source.dimension_names.is_some();
        let is_gone = |name: &str| after.get(name) != before.get(name);
        let gone: Vec<_> =
            before.keys().filter(|name| is_gone(name) && !(is_named && *name == NAMES_ATTRIBUTE)).collect();
        for name in gone {
            self.lose("attributes", format!("attribute `{name}`; the copy does not have it"));
        }
    }

    fn ignored(&mut self) {
        let before = &self.source.source.ignored;
        let after = &self.copy.source.ignored;
        for name in ignored_members(before, after) {
            self.lose(name, "a member that readers may ignore; the copy does not have it");
        }
    }
}

fn ignored_members<'a>(before: &'a Object, after: &Object) -> Vec<&'a str> {
    before.keys().filter(|name| !after.contains(name)).collect()
}

fn permutation(conversion: &Conversion<'_>) -> Option<Vec<usize>> {
    let chunk = conversion.chunk().ok()?;
    let chain = conversion.chain(&chunk).ok()?;
    let steps = steps_of(conversion.source.format, conversion.registry, &chain).ok()?;
    Some(permutation_of(chunk.shape.len(), &steps))
}

fn has_shards(conversion: &Conversion<'_>) -> bool {
    if conversion.chunks_per_shard().is_ok_and(|counts| counts.is_some()) {
        return true;
    }
    let chain = conversion.chunk().and_then(|chunk| conversion.chain(&chunk));
    chain.is_ok_and(|chain| chain.links().iter().any(|link| matches!(link.codec, Codec::Shard(_))))
}
