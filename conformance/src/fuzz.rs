//! Fuzz targets that give plugins arbitrary input.
//!
//! [`Targets`] checks the guarantees of the contracts for foreign bytes. The first four bytes of an input choose a
//! target: for example one codec, created from one of its examples, for an array of one type and shape. The rest is the
//! input of that target. A panic is a finding.
//!
//! A fuzz target of a plugin crate, for `cargo fuzz` or any other driver, takes three lines:
//!
//! ```text
//! #![no_main]
//! use my_plugin as _;
//! static TARGETS: LazyLock<Targets> = LazyLock::new(|| Targets::of_package("my-plugin"));
//! libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGETS.run(input));
//! ```
//!
//! A folder stores the inputs that a fuzzer found, and a test of the crate replays them. The examples that plugins
//! declare are always replayed as well:
//!
//! ```no_run
//! use std::path::Path;
//! use zarr_conformance::fuzz::Targets;
//!
//! let replayed = Targets::of_package(env!("CARGO_PKG_NAME")).replay(Path::new("fuzz/corpus"))?;
//! assert!(replayed > 0);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use zarr_spec::Registry;

use crate::suite::{allocations, fuzz_targets};

/// The part of a plugin that a target tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "fuzz targets handle every aspect")]
pub enum Aspect {
    /// A codec or a memory layout decodes foreign bytes.
    Decode,
    /// A codec or a memory layout encodes and decodes elements.
    RoundTrip,
    /// A plugin reads foreign JSON as its part of a document.
    Configuration,
    /// A data type reads foreign bytes of elements and foreign JSON of fill values.
    DataType,
    /// A chunk key encoding parses foreign keys.
    ChunkKey,
    /// A metadata encoding parses foreign bytes.
    Metadata,
}

impl Aspect {
    /// All aspects.
    pub const ALL: [Self; 6] =
        [Self::Decode, Self::RoundTrip, Self::Configuration, Self::DataType, Self::ChunkKey, Self::Metadata];
}

type Run = Box<dyn Fn(&[u8]) + Send + Sync>;
type Seeds = Box<dyn Fn() -> Vec<Vec<u8>> + Send + Sync>;

/// One operation to run with arbitrary bytes.
pub(crate) struct Target {
    pub(crate) aspect: Aspect,
    /// The permanent name, which determines the choice of the target.
    pub(crate) name: String,
    /// Runs the target; panics if the plugin breaks its contract.
    pub(crate) run: Run,
    /// The initial inputs.
    pub(crate) seeds: Seeds,
}

/// The fuzz targets of some plugins.
pub struct Targets {
    /// The targets with the hashes of their names, in ascending order.
    ring: Vec<(u32, Target)>,
}

/// The number of bytes at the start of an input that choose the target.
const CHOICE: usize = 4;

impl Targets {
    /// Returns all targets of the plugins that are linked from `package`.
    ///
    /// # Panics
    ///
    /// If there are no such plugins, or if two linked plugins have the same identifier.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a program without its plugins tests nothing")]
    pub fn of_package(package: &str) -> Self {
        let registry = Registry::linked().expect("identifiers are unique");
        let targets = Self::new(&registry, Some(package));
        assert!(!targets.ring.is_empty(), "crate `{package}` has not registered a plugin in this program");
        targets
    }

    /// Returns all targets of the plugins in `registry`.
    #[must_use]
    pub fn of(registry: &Registry) -> Self {
        Self::new(registry, None)
    }

    fn new(registry: &Registry, package: Option<&str>) -> Self {
        let targets = fuzz_targets(registry, package).into_iter();
        let mut ring: Vec<_> = targets.map(|target| (hash(&target.name), target)).collect();
        ring.sort_by_key(|(place, _)| *place);
        Self { ring }
    }

    /// Retains only the targets of one aspect.
    #[must_use]
    pub fn only(mut self, aspect: Aspect) -> Self {
        self.ring.retain(|(_, target)| target.aspect == aspect);
        self
    }

    /// Checks whether there are no targets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Runs the target that `input` chooses. Does nothing if the input is too short.
    ///
    /// # Panics
    ///
    /// If a plugin breaks its contract, which is a finding.
    pub fn run(&self, input: &[u8]) {
        if let Some((target, rest)) = self.chosen(input) {
            (target.run)(rest);
        }
    }

    /// Returns the name of the target that `input` chooses.
    #[must_use]
    pub fn name(&self, input: &[u8]) -> Option<&str> {
        self.chosen(input).map(|(target, _)| target.name.as_str())
    }

    /// Returns the initial inputs: the examples of the plugins, as documents and in encoded form.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let of = |(place, target): &(u32, Target)| {
            let place = place.to_be_bytes();
            (target.seeds)().into_iter().map(move |seed| [&place[..], &seed].concat()).collect::<Vec<_>>()
        };
        self.ring.iter().flat_map(of).collect()
    }

    /// Runs all seeds and all files of `folder`, and returns the number of inputs. The folder may be missing.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    ///
    /// # Panics
    ///
    /// If a plugin breaks its contract; see [`Targets::run`].
    pub fn replay(&self, folder: &Path) -> io::Result<usize> {
        let seeds = self.seeds();
        seeds.iter().for_each(|seed| self.run(seed));
        Ok(seeds.len() + replay(folder, |input| self.run(input))?)
    }

    /// Returns the target with the smallest hash that is not below the number at the start of the input, or else the
    /// first target. A new plugin thus changes the target of few inputs.
    fn chosen<'i>(&self, input: &'i [u8]) -> Option<(&Target, &'i [u8])> {
        let (choice, rest) = input.split_first_chunk::<CHOICE>()?;
        let choice = u32::from_be_bytes(*choice);
        let at = self.ring.partition_point(|(place, _)| *place < choice);
        let (_, target) = self.ring.get(at).or(self.ring.first())?;
        Some((target, rest))
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ring.iter().map(|(_, target)| &target.name)).finish()
    }
}

/// Runs all files of `folder` in the order of their names, and returns their number. The folder may be missing.
///
/// # Errors
///
/// If the folder or a file cannot be read.
pub fn replay(folder: &Path, run: impl Fn(&[u8])) -> io::Result<usize> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    for file in &files {
        run(&fs::read(file)?);
    }
    Ok(files.len())
}

/// Runs `run` and panics if its peak memory use exceeds `most` bytes. Without
/// [`CountingAllocator`](crate::suite::CountingAllocator) the memory is not measured.
///
/// # Panics
///
/// If `run` uses more memory.
pub fn within<R>(most: usize, what: impl fmt::Display, run: impl FnOnce() -> R) -> R {
    let mut result = None;
    let mut run = Some(run);
    let highest = allocations::highest(|| result = run.take().map(|run| run()));
    let held = highest.unwrap_or_default();
    assert!(held <= most, "{what}: peak memory use is {held} bytes, the limit is {most}");
    match (result, run) {
        (Some(result), _) => result,
        (None, Some(run)) => run(),
        (None, None) => unreachable!("`run` was called exactly once or not at all"),
    }
}

/// Returns the FNV-1a hash, which is the same in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use zarr_spec::codec::BytesToBytesCodec;
    use zarr_spec::{Codec, CodecError, CodecPlugin, Example, Identifiers, Output};

    use super::*;

    /// Stores a count and that number of bytes; `IS_CHECKED` selects whether decoding verifies the count.
    #[derive(Debug)]
    struct Counted<const IS_CHECKED: bool>;

    impl<const IS_CHECKED: bool> BytesToBytesCodec for Counted<IS_CHECKED> {
        fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
            encoded.put(&(decoded.len() as u64).to_le_bytes())?;
            Ok(encoded.put(decoded)?)
        }

        fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
            let (count, bytes) =
                encoded.split_first_chunk().ok_or_else(|| CodecError::corrupt("no count"))?;
            let count = usize::try_from(u64::from_le_bytes(*count)).map_err(CodecError::corrupt)?;
            if IS_CHECKED && count != bytes.len() {
                return Err(CodecError::corrupt("wrong count"));
            }
            Ok(decoded.put(&bytes[..count])?)
        }
    }

    const EXAMPLES: &[Example] = &[Example::v3(r#""counted""#).with_data_types(&["uint16"]).with_shape(&[3])];

    fn targets<const IS_CHECKED: bool>() -> Targets {
        let plugin = CodecPlugin::new(Identifiers::name("counted"), &|_, _| {
            Ok(Codec::BytesToBytes(Arc::new(Counted::<IS_CHECKED>)))
        })
        .about("Counts.", EXAMPLES);
        let mut registry = Registry::empty();
        registry.register(plugin).unwrap();
        Targets::of(&registry)
    }

    #[test]
    fn seeds_run_and_name_their_targets() {
        let targets = targets::<true>();
        let seeds = targets.seeds();
        assert_eq!(targets.replay(Path::new("no such folder")).unwrap(), seeds.len());
        let decode = "decode codec `counted`: \"counted\" in v3, uint16 [3]";
        assert!(seeds.iter().any(|seed| targets.name(seed) == Some(decode)), "{targets:?}");
        assert!(targets.only(Aspect::ChunkKey).is_empty());
    }

    #[test]
    fn a_hostile_input_finds_a_missing_check() {
        let hostile = |targets: Targets| {
            let targets = targets.only(Aspect::Decode);
            let input = [&[0; 4][..], &[0, 255], &7_u64.to_le_bytes(), &[1; 6]].concat();
            catch_unwind(AssertUnwindSafe(|| targets.run(&input)))
        };
        assert!(hostile(targets::<true>()).is_ok());
        assert!(hostile(targets::<false>()).is_err());
    }

    #[test]
    fn memory_is_not_limited_without_the_counting_allocator() {
        assert_eq!(within(10, "a test without that allocator", || vec![0_u8; 100]).len(), 100);
    }
}
