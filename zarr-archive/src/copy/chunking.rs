//! The chunks, shards and codecs of the copy of each array.

use std::cell::RefCell;
use std::collections::BTreeSet;

use strsim::damerau_levenshtein;
use zarr_engine::{Array, ArrayBuilder};
use zarr_json::counted;
use zarr_spec::Format;

use super::CopyRequest;
use super::error::CopyError;
use super::lengths::{Choice, Codec, CodecFor, Length, Lengths};
use super::options::{Caller, CopyOption};
use super::source::Source;
use super::text::shape;
use crate::logical::dimension_names;

/// The name of a codec that stands for no codecs.
const NO_CODEC: &str = "none";

/// The chunk grid whose chunks have one shape.
const REGULAR: &str = "regular";

/// The chunks and codecs of the copy of one array. A member is `None` or empty if the copy takes this member from the
/// source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chunking {
    /// The shape of a chunk, or of an inner chunk if there are shards.
    pub(crate) chunks: Option<Vec<u64>>,
    pub(crate) shards: Shards,
    pub(crate) codecs: Vec<Codec>,
}

impl Chunking {
    /// Returns whether the copy has the chunks and codecs of the source.
    pub(crate) fn is_as_before(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Shards {
    /// The shards of the source, if the format of the copy has shards.
    #[default]
    AsBefore,
    None,
    Of(Vec<u64>),
}

/// Resolves the options for each array, and remembers which options had an effect.
pub(crate) struct Choices<'a> {
    chunks: OptionValues<'a>,
    shards: OptionValues<'a>,
    codecs: &'a [CodecFor],
    codec_paths: RefCell<BTreeSet<&'a str>>,
    /// The caller, for messages.
    caller: Caller,
    /// The dimension names of all arrays.
    names: RefCell<BTreeSet<String>>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(request: &'a CopyRequest) -> Self {
        Self {
            chunks: OptionValues::new(CopyOption::Chunks, &request.chunks, request.caller),
            shards: OptionValues::new(CopyOption::Shards, &request.shards, request.caller),
            codecs: &request.codecs,
            caller: request.caller,
            codec_paths: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// Returns the chunks and codecs of the copy of `array`.
    ///
    /// # Errors
    ///
    /// Returns a failure if an option that names this array has another number of dimensions.
    pub(crate) fn of(&self, source: &Source, format: Format) -> Result<Chunking, CopyError> {
        let array = &source.array;
        let names = dimension_names(array);
        self.names.borrow_mut().extend(names.iter().flatten().cloned());
        let path = array.path().to_string();
        let target = Target { path: &path, names: &names, shape: source.shape() };
        let outer = chunk_shape(array);
        let inner = array.inner_chunk_shape()?;
        let before = inner.clone().unwrap_or_else(|| outer.clone());
        let chunks = self.chunks_of(&target, source, &before, inner.is_some())?;
        let has_shards = inner.is_some() && format == Format::V3;
        let inner_chunks = chunks.clone().unwrap_or(before);
        let base = if has_shards { outer.clone() } else { inner_chunks.clone() };
        let shards = match self.shards.last_is_without(&target) {
            true if inner.is_some() => Shards::None,
            true => Shards::AsBefore,
            false => match self.shards.apply(&target, base)? {
                Some(shards) if has_shards && shards == outer => Shards::AsBefore,
                Some(shards) => Shards::Of(shards),
                None => Shards::AsBefore,
            },
        };
        if has_shards && let (Some(chunks), Shards::AsBefore) = (&chunks, &shards) {
            check_shards(&outer, chunks, self.caller)?;
        }
        // The builder of the copy finds all other shards that do not fit, with all other reasons.
        if let Shards::Of(shards) = &shards
            && let Err(error) = check_shards(shards, &inner_chunks, self.caller)
            && let Some(error) = self.shards.limited(&target, &error)
        {
            return Err(error);
        }
        Ok(Chunking { chunks, shards, codecs: self.codecs_of(&path) })
    }

    /// Returns the chunk shape of the copy, or `None` if the copy has the chunks of the source.
    fn chunks_of(
        &self,
        target: &Target<'_>,
        source: &Source,
        before: &[u64],
        is_sharded: bool,
    ) -> Result<Option<Vec<u64>>, CopyError> {
        // Along a dimension that the selection shortens, chunks are at most as long as the selection.
        let lengths = source.shape().iter().zip(source.array.shape());
        let own: Vec<u64> = match is_sharded {
            true => before.to_vec(),
            false => before
                .iter()
                .zip(lengths)
                .map(|(&own, (&all, &array))| if all == array { own } else { own.min(all.max(1)) })
                .collect(),
        };
        // Only a regular grid is valid for every shape, so the copy of a selection replaces other grids.
        let is_regular = source.array.metadata().chunk_grid.identifier == REGULAR;
        let must_change = !source.is_whole() && !is_regular;
        let chunks = self.chunks.apply(target, own.clone())?.unwrap_or(own);
        Ok((must_change || chunks != before).then_some(chunks))
    }

    /// Returns the codecs for the most specific path.
    fn codecs_of(&self, path: &str) -> Vec<Codec> {
        let fitting = self.codecs.iter().filter(|codec| contains(codec.path.as_deref(), path));
        let Some(most) = fitting.clone().map(|codec| depth(codec.path.as_deref())).max() else {
            return Vec::new();
        };
        self.codec_paths.borrow_mut().extend(fitting.clone().filter_map(|codec| codec.path.as_deref()));
        fitting
            .filter(|codec| depth(codec.path.as_deref()) == most)
            .map(|codec| codec.codec.clone())
            .collect()
    }

    /// Returns a message for each option that applied to no array.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let names = self.names.borrow();
        let mut messages = self.chunks.without_effect(&names);
        messages.extend(self.shards.without_effect(&names));
        let used = self.codec_paths.borrow();
        let paths = self.codecs.iter().filter_map(|codec| codec.path.as_deref());
        let option = self.caller.name(CopyOption::Codecs);
        messages.extend(
            paths
                .filter(|path| !used.contains(path))
                .map(|path| format!("{option}: there is no array to copy at or below `{path}`")),
        );
        messages
    }
}

/// An array that options are resolved for.
struct Target<'t> {
    path: &'t str,
    names: &'t [Option<String>],
    shape: &'t [u64],
}

/// All values of the chunks or of the shards.
struct OptionValues<'a> {
    option: CopyOption,
    caller: Caller,
    /// Values for deeper paths come later, so that they take precedence.
    values: Vec<&'a Lengths>,
    /// The positions of values that applied, each with the used dimension name.
    used: RefCell<BTreeSet<(usize, Option<&'a str>)>>,
}

impl<'a> OptionValues<'a> {
    fn new(option: CopyOption, values: &'a [Lengths], caller: Caller) -> Self {
        let mut values: Vec<_> = values.iter().collect();
        values.sort_by_key(|value| depth(value.path.as_deref()));
        Self { option, caller, values, used: RefCell::default() }
    }

    /// Changes the shape `lengths`. Returns `None` if no value applies.
    fn apply(&self, target: &Target<'_>, mut lengths: Vec<u64>) -> Result<Option<Vec<u64>>, CopyError> {
        let mut applies = false;
        for (position, value) in self.values.iter().enumerate() {
            if !contains(value.path.as_deref(), target.path) {
                continue;
            }
            match &value.choice {
                Choice::Each(each) if each.len() == target.shape.len() => {
                    lengths =
                        each.iter().zip(target.shape).map(|(length, &whole)| length.of(whole)).collect();
                    self.used.borrow_mut().insert((position, None));
                    applies = true;
                }
                // Lengths for all arrays or for a group skip arrays with another number of dimensions, but lengths for
                // this array must fit.
                Choice::Each(each) if value.path.as_deref() == Some(target.path) => {
                    return Err(self.other_rank(each.len(), target));
                }
                Choice::Named(named) => applies |= self.apply_named(position, named, target, &mut lengths),
                Choice::Each(_) | Choice::Without => {}
            }
        }
        Ok(applies.then_some(lengths))
    }

    /// Changes the lengths of the named dimensions. Returns whether the array has one of them.
    fn apply_named(
        &self,
        position: usize,
        named: &'a [(String, Length)],
        target: &Target<'_>,
        lengths: &mut [u64],
    ) -> bool {
        let mut applies = false;
        for (name, length) in named {
            let dimensions = target.names.iter().zip(target.shape).zip(&mut *lengths);
            for ((_, &whole), own) in dimensions.filter(|((own, _), _)| own.as_deref() == Some(name)) {
                *own = length.of(whole);
                self.used.borrow_mut().insert((position, Some(name)));
                applies = true;
            }
        }
        applies
    }

    /// Returns whether the value that takes precedence asks for no shards.
    fn last_is_without(&self, target: &Target<'_>) -> bool {
        let fitting = self.values.iter().enumerate().rev();
        let Some((position, value)) =
            fitting.clone().find(|(_, value)| contains(value.path.as_deref(), target.path))
        else {
            return false;
        };
        if value.choice == Choice::Without {
            self.used.borrow_mut().insert((position, None));
        }
        value.choice == Choice::Without
    }

    /// Adds to an error the options that set the lengths of a dimension for some arrays only. Returns `None` if the
    /// option does not name dimensions.
    fn limited(&self, target: &Target<'_>, error: &CopyError) -> Option<CopyError> {
        let used = self.used.borrow();
        let named = self.values.iter().enumerate().find_map(|(position, value)| match &value.choice {
            Choice::Named(named) if value.path.as_deref() != Some(target.path) => {
                let is_own = |name: &str| target.names.iter().flatten().any(|own| own == name);
                let name = named.iter().map(|(name, _)| &**name).find(|name| is_own(name))?;
                used.contains(&(position, Some(name))).then_some(name)
            }
            _ => None,
        });
        let name = named?;
        let [limited, without] = self.examples(name, target.path);
        Some(CopyError::message(format!(
            "{error}; `{name}=` applies to every array with this dimension: `{limited}` limits it to an array or a \
             group, and `{without}` leaves this array out",
        )))
    }

    /// Returns the option for the dimension `name` at and below a path, and the option that leaves out an array.
    fn examples(&self, name: &str, path: &str) -> [String; 2] {
        match self.caller {
            Caller::Program => [format!("/PATH={name}=..."), format!("{path}=none")],
            Caller::Python => {
                [format!("{{\"/PATH\": {{\"{name}\": ...}}}}"), format!("{{\"{path}\": None}}")]
            }
        }
        .map(|value| self.caller.with(self.option, value))
    }

    fn other_rank(&self, lengths: usize, target: &Target<'_>) -> CopyError {
        CopyError::message(format!(
            "{}: found lengths for {}, but the array has {}",
            self.caller.name(self.option),
            dimensions(lengths),
            dimensions(target.shape.len())
        ))
    }

    /// Returns a message for each value that applied to no array.
    fn without_effect(&self, names: &BTreeSet<String>) -> Vec<String> {
        let used = self.used.borrow();
        let option = self.caller.name(self.option);
        let mut messages = Vec::new();
        for (position, value) in self.values.iter().enumerate() {
            let below = value.path.as_ref().map_or_else(String::new, |path| format!(" at or below `{path}`"));
            match &value.choice {
                Choice::Named(named) => {
                    let unused = named.iter().filter(|(name, _)| !used.contains(&(position, Some(name))));
                    messages.extend(unused.map(|(name, _)| {
                        let hint = similar(name, names.iter().map(String::as_str));
                        let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                        format!("{option}: no array to copy{below} has a dimension `{name}`{hint}")
                    }));
                }
                Choice::Each(each) if !used.contains(&(position, None)) => messages.push(format!(
                    "{option}: no array to copy{below} has {}, one for each length",
                    dimensions(each.len())
                )),
                Choice::Each(_) | Choice::Without => {}
            }
        }
        messages
    }
}

/// Returns an error if the new `chunks` do not divide `shards`. The copy has the same shards as the source.
fn check_shards(shards: &[u64], chunks: &[u64], caller: Caller) -> Result<(), CopyError> {
    if shards.iter().zip(chunks).all(|(shard, &chunk)| chunk > 0 && shard.is_multiple_of(chunk)) {
        return Ok(());
    }
    Err(CopyError::message(format!(
        "shards of {} cannot hold chunks of {}: expected a multiple along each dimension; choose others with {}, or \
         none with {}",
        shape(shards),
        shape(chunks),
        caller.given(CopyOption::Shards),
        caller.with(CopyOption::Shards, no_shards(caller))
    )))
}

/// Returns the value of the option for arrays without shards.
fn no_shards(caller: Caller) -> &'static str {
    match caller {
        Caller::Program => "none",
        Caller::Python => "None",
    }
}

/// Formats a number of dimensions: `1 dimension`, `2 dimensions`.
fn dimensions(count: usize) -> String {
    counted(count, "dimension", "dimensions")
}

/// Returns whether `path` is the node at `scope` or below it; `None` is the root.
fn contains(scope: Option<&str>, path: &str) -> bool {
    let Some(scope) = scope else { return true };
    let rest = path.strip_prefix(scope.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns one more than the number of names in the path of an option, or 0 if the option has no path.
fn depth(path: Option<&str>) -> usize {
    path.map_or(0, |path| 1 + path.split('/').filter(|name| !name.is_empty()).count())
}

/// Adds codecs. `none` requests an array without codecs, not even the default ones.
pub(crate) fn with_codecs(builder: ArrayBuilder, codecs: Vec<Codec>) -> ArrayBuilder {
    if codecs.iter().all(|codec| codec.name == NO_CODEC) && !codecs.is_empty() {
        return builder.uncompressed();
    }
    codecs.into_iter().fold(builder, |builder, codec| builder.codec((codec.name, codec.configuration)))
}

/// Returns the usual shape of a chunk, or the largest one if shapes differ.
pub(crate) fn chunk_shape(array: &Array) -> Vec<u64> {
    let grid = array.chunk_grid();
    grid.chunk_shape().map_or_else(|| grid.largest_chunk(), <[u64]>::to_vec)
}

/// Returns the name that is most similar to `given`, if it differs by few characters. Ignores case.
fn similar<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let given = given.to_lowercase();
    let most = (given.chars().count() / 3).clamp(1, 3);
    let distances = names.into_iter().map(|name| (damerau_levenshtein(&given, &name.to_lowercase()), name));
    let near = distances.filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["time", "lat", "lon"];

    fn applied(options: &[&str], path: &str, before: [u64; 3]) -> Option<Vec<u64>> {
        let values: Vec<_> = options.iter().map(|text| Lengths::chunks(text).unwrap()).collect();
        let names = NAMES.map(|name| Some(name.to_owned()));
        let target = Target { path, names: &names, shape: &[100, 181, 360] };
        OptionValues::new(CopyOption::Chunks, &values, Caller::Program)
            .apply(&target, before.to_vec())
            .unwrap()
    }

    #[test]
    fn lengths_apply_by_position_by_name_and_by_path() {
        let before = [1, 181, 360];
        assert_eq!(applied(&[], "/t2m", before), None);
        assert_eq!(applied(&["10,20,30"], "/t2m", before), Some(vec![10, 20, 30]));
        assert_eq!(applied(&["10,20"], "/t2m", before), None);
        assert_eq!(applied(&["-1,20,-1"], "/t2m", before), Some(vec![100, 20, 360]));
        assert_eq!(applied(&["time=10, lon=90"], "/t2m", before), Some(vec![10, 181, 90]));
        assert_eq!(applied(&["time=10", "lon=-1"], "/t2m", before), Some(vec![10, 181, 360]));
        assert_eq!(applied(&["level=10"], "/t2m", before), None);
        assert_eq!(applied(&["/g=time=10"], "/g/t2m", before), Some(vec![10, 181, 360]));
        assert_eq!(applied(&["/g/=time=10"], "/g/t2m", before), Some(vec![10, 181, 360]));
        assert_eq!(applied(&["/=time=10"], "/g/t2m", before), Some(vec![10, 181, 360]));
        assert_eq!(applied(&["/g=time=10"], "/gg", before), None);
    }

    #[test]
    fn deeper_paths_take_precedence() {
        let options = ["/g/t2m=5,5,5", "10,20,30", "/g=time=7"];
        assert_eq!(applied(&options, "/g/t2m", [1, 1, 1]), Some(vec![5, 5, 5]));
        assert_eq!(applied(&options, "/g/u", [1, 1, 1]), Some(vec![7, 20, 30]));
        assert_eq!(applied(&options, "/u", [1, 1, 1]), Some(vec![10, 20, 30]));
    }

    #[test]
    fn values_without_effect_are_named() {
        let values = ["time=1,lats=2", "1,2", "/x=3"].map(|text| Lengths::chunks(text).unwrap());
        let names = NAMES.map(|name| Some(name.to_owned()));
        let options = OptionValues::new(CopyOption::Chunks, &values, Caller::Program);
        let target = Target { path: "/t2m", names: &names, shape: &[100, 181, 360] };
        options.apply(&target, vec![1, 1, 1]).unwrap();
        let known = NAMES.map(str::to_owned).into_iter().collect();
        assert_eq!(
            options.without_effect(&known),
            [
                "--chunks: no array to copy has a dimension `lats`; did you mean `lat`?",
                "--chunks: no array to copy has 2 dimensions, one for each length",
                "--chunks: no array to copy at or below `/x` has 1 dimension, one for each length",
            ]
        );
    }
}
