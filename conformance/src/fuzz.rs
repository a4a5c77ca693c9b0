//! Targets for fuzzers: what plugins make of any bytes at all.
//!
//! [`Targets`] holds plugins to what their contracts promise of foreign bytes. An input is four bytes that choose what is
//! tried (a codec as one of its examples has it, with an array of one type and shape), and what that is given. A panic is
//! a finding. A fuzz target of a plugin crate, for `cargo fuzz` or any other driver, is three lines:
//!
//! ```text
//! #![no_main]
//! use my_plugin as _;
//! static TARGETS: LazyLock<Targets> = LazyLock::new(|| Targets::of_package("my-plugin"));
//! libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGETS.run(input));
//! ```
//!
//! What a fuzzer found stays in a folder, which a test of the crate replays; the examples that plugins declare are inputs
//! that are always there:
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

/// What of a plugin is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// Encoded bytes, which a codec or a memory layout decodes.
    Decode,
    /// Elements, which come back from a codec or a memory layout as they were.
    RoundTrip,
    /// JSON in the place of what a document says of a plugin.
    Configuration,
    /// Bytes of elements, and JSON of fill values.
    DataType,
    /// Keys of chunks.
    ChunkKey,
    /// Metadata documents as bytes.
    Metadata,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Decode, Self::RoundTrip, Self::Configuration, Self::DataType, Self::ChunkKey, Self::Metadata];
}

type Run = Box<dyn Fn(&[u8]) + Send + Sync>;
type Seeds = Box<dyn Fn() -> Vec<Vec<u8>> + Send + Sync>;

/// One thing that is tried with any bytes.
pub(crate) struct Target {
    pub(crate) aspect: Aspect,
    /// What is tried, the same in every version: it chooses the target.
    pub(crate) name: String,
    /// Panics when something is not as it should be.
    pub(crate) run: Run,
    /// Inputs to begin with.
    pub(crate) seeds: Seeds,
}

/// What is tried of some plugins.
pub struct Targets {
    /// By what chooses them, in ascending order.
    ring: Vec<(u32, Target)>,
}

/// Bytes of an input that choose the target.
const CHOICE: usize = 4;

impl Targets {
    /// All that is tried of the plugins that are linked from `package`.
    ///
    /// # Panics
    ///
    /// If there are none, or two plugins of the program have one identifier.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a program without its plugins tests nothing")]
    pub fn of_package(package: &str) -> Self {
        let registry = Registry::linked().expect("identifiers are not taken");
        let targets = Self::new(&registry, Some(package));
        assert!(!targets.ring.is_empty(), "no plugin of crate `{package}` is registered in this program");
        targets
    }

    /// All that is tried of the plugins in `registry`.
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

    /// Only those of one aspect.
    #[must_use]
    pub fn only(mut self, aspect: Aspect) -> Self {
        self.ring.retain(|(_, target)| target.aspect == aspect);
        self
    }

    /// Whether nothing is tried.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Tries what `input` says. Inputs that are too short to say anything are nothing.
    ///
    /// # Panics
    ///
    /// When a plugin does what it should not: that is what is looked for.
    pub fn run(&self, input: &[u8]) {
        if let Some((target, rest)) = self.chosen(input) {
            (target.run)(rest);
        }
    }

    /// What `input` tries, for people.
    #[must_use]
    pub fn name(&self, input: &[u8]) -> Option<&str> {
        self.chosen(input).map(|(target, _)| target.name.as_str())
    }

    /// Inputs to begin with: what the examples of the plugins are read from and written as.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let of = |(place, target): &(u32, Target)| {
            let place = place.to_be_bytes();
            (target.seeds)().into_iter().map(move |seed| [&place[..], &seed].concat()).collect::<Vec<_>>()
        };
        self.ring.iter().flat_map(of).collect()
    }

    /// Runs all seeds and every file of `folder`, which need not exist, and says how many inputs that were.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    ///
    /// # Panics
    ///
    /// As [`Targets::run`].
    pub fn replay(&self, folder: &Path) -> io::Result<usize> {
        let seeds = self.seeds();
        seeds.iter().for_each(|seed| self.run(seed));
        Ok(seeds.len() + replay(folder, |input| self.run(input))?)
    }

    /// The target at or after the place that an input names: one more plugin makes few inputs mean another one.
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

/// Runs every file of `folder`, which need not exist, in the order of their names, and says how many there are.
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

/// Runs `run` and panics if it held more than `most` bytes at once. A program with another allocator than
/// [`CountingAllocator`](crate::suite::CountingAllocator) does not know.
///
/// # Panics
///
/// If it did.
pub fn within<R>(most: usize, what: impl fmt::Display, run: impl FnOnce() -> R) -> R {
    let mut result = None;
    let mut run = Some(run);
    let highest = allocations::highest(|| result = run.take().map(|run| run()));
    let held = highest.unwrap_or_default();
    assert!(held <= most, "{what}: {held} bytes were held at once, and {most} are enough");
    match (result, run) {
        (Some(result), _) => result,
        (None, Some(run)) => run(),
        (None, None) => unreachable!("it has run or it has not"),
    }
}

/// FNV-1a, of which every version gives the same.
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

    /// A count, and so many bytes: `IS_CHECKED` says whether the count is.
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
                return Err(CodecError::corrupt("another count"));
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
    fn seeds_run_and_name_what_they_try() {
        let targets = targets::<true>();
        let seeds = targets.seeds();
        assert_eq!(targets.replay(Path::new("no such folder")).unwrap(), seeds.len());
        let decode = "decode codec `counted`: \"counted\" in v3, uint16 [3]";
        assert!(seeds.iter().any(|seed| targets.name(seed) == Some(decode)), "{targets:?}");
        assert!(targets.only(Aspect::ChunkKey).is_empty());
    }

    #[test]
    fn what_a_hostile_input_does_wrong_is_found() {
        let hostile = |targets: Targets| {
            let targets = targets.only(Aspect::Decode);
            let input = [&[0; 4][..], &[0, 255], &7_u64.to_le_bytes(), &[1; 6]].concat();
            catch_unwind(AssertUnwindSafe(|| targets.run(&input)))
        };
        assert!(hostile(targets::<true>()).is_ok());
        assert!(hostile(targets::<false>()).is_err());
    }

    #[test]
    fn memory_that_is_held_at_once_is_counted_where_the_program_counts() {
        assert_eq!(within(10, "a test without that allocator", || vec![0_u8; 100]).len(), 100);
    }
}
