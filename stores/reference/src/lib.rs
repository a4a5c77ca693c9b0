//! The `reference` store: values that are parts of other files, as a reference file lists them; read-only.
//!
//! kerchunk and virtualizarr write reference files for data in other formats, such as NetCDF and GRIB. The file is
//! JSON, in version 0 (an object of references) or 1 (with templates and generators). A value is in the reference file
//! itself, as text, JSON or base64, or is a file, or a range of bytes of a file. The reference file is read once.
//!
//! With the feature `parquet`, the references of kerchunk in Parquet files are read, too. They are a folder with the file
//! `.zmetadata` and files of references. A file of references is read when one of its chunks is needed. Text is in
//! UTF-8, and a reference may contain the bytes of its value.
//!
//! **Targets.** A relative target is in the folder of the reference file. Other targets are absolute paths or URLs
//! (`file:`, `http:`, `https:`, `s3:`, `gs:`, `az:`). A target outside of the folder of the reference file is read only
//! if it is in a store that the caller names; other references are listed, but reading them fails. A missing or too
//! short target is an error, since the reference promises its bytes.
//!
//! Opened as `reference:LOCATION`, as the step `LOCATION|reference:` of a URL pipeline, with
//! `?target=URL` once for each further store, or as
//! `{"type": "reference", "store": {…}, "key": "refs.json", "targets": [{…}]}`.
//!
//! Source: "References specification" of kerchunk, versions 0 and 1.

#![cfg_attr(docsrs, feature(doc_cfg))]

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, ChunkCache, Contents, DescribedStore, Directory, GetOptions, GetResult, IoKind, Keys,
    ReadHints, Request, Responses, Step, Store, StoreConfiguration, StoreError, StorePlugin, StoreResult,
    shared_part,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

mod batch;
mod document;
mod listed;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod records;
mod source;
mod targets;
mod template;

use source::Source;
use targets::{Allowed, Target};

zarr_spec::register!(
    StorePlugin::new("reference", &["reference"], &without_stores)
        .step(&open_step)
        .configuration::<ReferenceConfiguration>()
        .about("Reads values from parts of other files, which a reference file lists.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"type": "reference", "key": "refs.json", "store": {"type": "filesystem", "path": "."}}"#),
    Example::v3(
        r#"{"type": "reference", "key": "refs.json", "store": {"type": "filesystem", "path": "."},
            "targets": [{"type": "memory"}]}"#,
    ),
];

/// Values that are parts of other files.
#[derive(Debug)]
pub struct ReferenceStore {
    /// The location of the reference file.
    name: String,
    source: Source,
    allowed: Allowed,
}

/// A reference that was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// The value is in the reference file.
    Inline(Bytes),
    File(FoundFile),
}

/// A file that is the value, or contains it.
#[derive(Debug)]
pub(crate) struct FoundFile {
    /// The file, or the reason why it may not be read.
    target: Result<Arc<Target>, Arc<str>>,
    /// `None` if the value is the whole file.
    part: Option<Span>,
}

/// A range of bytes of a file. Its end fits in `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    offset: u64,
    size: u64,
}

impl ReferenceStore {
    /// Opens the reference file `key` of `store`. Targets are in `store`, which is the folder of the reference file, or
    /// in one of `others`. The URL of a target begins with the location of its store.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the file is missing or not a reference file, and the errors of `store`.
    pub fn open(store: Arc<dyn Store>, key: &Key, others: Vec<Arc<dyn Store>>) -> StoreResult<Self> {
        let location = store.location();
        let separator = if location.ends_with([':', '/']) { "" } else { "/" };
        let name = format!("{location}{separator}{key}");
        let allowed = Allowed::new(Arc::clone(&store), others);
        Ok(Self { source: Source::open(&*store, key, &name, &allowed)?, name, allowed })
    }

    fn find(&self, key: &Key) -> StoreResult<Option<Found>> {
        self.source.find(key, &self.allowed)
    }

    fn failed(&self, key: &Key, reason: String) -> StoreError {
        StoreError::io("reading", format!("{}, reference `{key}`", self.name), reason)
    }

    fn target(&self, key: &Key, file: &FoundFile) -> StoreResult<Arc<Target>> {
        match &file.target {
            Ok(target) => Ok(Arc::clone(target)),
            Err(reason) => Err(self.failed(key, reason.to_string()).with_kind(IoKind::NotPermitted)),
        }
    }

    /// Returns the error for a target that does not exist.
    fn missing(&self, key: &Key, target: &Target) -> StoreError {
        let location = target.store(&self.allowed).location();
        self.failed(key, format!("its target `{}` does not exist in `{location}`", target.key))
    }

    /// Returns the size of the value, after checking that all bytes of the requested part were read.
    fn checked_size(&self, key: &Key, part: Part, read: u64, target_size: u64) -> StoreResult<u64> {
        let Some((wanted, size)) = part else { return Ok(target_size) };
        if read < wanted {
            return Err(self.failed(key, format!("its target has only {target_size} bytes; it is truncated")));
        }
        Ok(size)
    }
}

impl FoundFile {
    /// Returns the part of the file to read for a part of the value, after checking that the caller accepts it.
    fn range(&self, key: &Key, wanted: ByteRange, limit: usize) -> StoreResult<ByteRange> {
        let Some(Span { offset, size }) = self.part else { return Ok(wanted) };
        let part = wanted.within(size);
        if part.end - part.start > limit as u64 {
            return Err(StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } });
        }
        Ok(ByteRange::Range { offset: offset + part.start, size: part.end - part.start })
    }

    fn part_of(&self, wanted: ByteRange) -> Part {
        let Span { size, .. } = self.part?;
        let part = wanted.within(size);
        Some((part.end - part.start, size))
    }
}

/// If the value is a part of its target, the number of requested bytes and the size of the value. `None` if the value
/// is the whole target.
type Part = Option<(u64, u64)>;

zarr_spec::delegate_store! {
    impl Store for ReferenceStore {
        refuse: write, remove;

        fn location(&self) -> String {
            format!("{}|reference:", self.name)
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities::READ_ONLY
        }

        fn read_hints(&self) -> ReadHints {
            let hints = self.allowed.stores().map(|store| store.read_hints());
            hints.fold(ReadHints::MEMORY, |one, other| {
                let concurrency = one.max_concurrency.max(other.max_concurrency);
                ReadHints::new(concurrency, one.coalesce_gap.max(other.coalesce_gap))
                    .with_bytes_per_round_trip(one.bytes_per_round_trip.max(other.bytes_per_round_trip))
            })
        }

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            let file = match self.find(key)? {
                None => return Ok(None),
                Some(Found::Inline(bytes)) => {
                    let part = shared_part(key, &bytes, options.range, to.remaining())?;
                    return Ok(Some(GetResult::new(Contents::Shared(part), bytes.len() as u64, None)));
                }
                Some(Found::File(file)) => file,
            };
            let target = self.target(key, &file)?;
            let mut inner = options;
            inner.range = file.range(key, options.range, to.remaining())?;
            let before = to.written().len();
            let found = target.store(&self.allowed).get(&target.key, inner, to)?;
            let mut found = found.ok_or_else(|| self.missing(key, &target))?;
            let read = match &found.contents {
                Contents::Written => to.written().len() - before,
                Contents::Shared(bytes) => bytes.len(),
            };
            let part = file.part_of(options.range);
            found.size = self.checked_size(key, part, read as u64, found.size)?;
            Ok(Some(found))
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            batch::responses(self, requests, budget)
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            let file = match self.find(key)? {
                None => return Ok(None),
                Some(Found::Inline(bytes)) => return Ok(Some(bytes.len() as u64)),
                Some(Found::File(file)) => file,
            };
            if let Some(Span { size, .. }) = file.part {
                return Ok(Some(size));
            }
            let target = self.target(key, &file)?;
            let size = target.store(&self.allowed).size(&target.key)?;
            size.map(Some).ok_or_else(|| self.missing(key, &target))
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            false
        }

        fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
            Ok(self.source.list_prefix(prefix, &self.allowed))
        }

        fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
            self.source.list_dir(prefix, &self.allowed)
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceConfiguration {
    /// The folder of the reference file.
    store: DescribedStore,
    /// The name of the reference file.
    key: String,
    /// Further stores that targets may be in.
    #[serde(default)]
    targets: Vec<DescribedStore>,
}

#[typetag::deserialize(name = "reference")]
impl StoreConfiguration for ReferenceConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let others = self.targets.iter().map(|target| target.open(None)).collect::<Result<_, _>>()?;
        let key = Key::new(&*self.key)?;
        Ok(Arc::new(ReferenceStore::open(self.store.open(given)?, &key, others)?))
    }
}

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    let mut others = Vec::new();
    for (name, value) in step.options {
        if name != "target" {
            let what = format!("`|reference:` has the unknown option `{name}`; expected `target`");
            return Err(Invalid::new(what).into());
        }
        others.push(step.locations.open(value)?);
    }
    let (store, key) = step.locations.open_file(step.input)?;
    Ok(Arc::new(ReferenceStore::open(store, &key, others)?))
}

/// Returns an error, because only a step can open other locations.
fn without_stores(url: &str) -> StoreResult<Arc<dyn Store>> {
    let what = format!("`{url}`: references need a program that opens stores, or a JSON description");
    Err(Invalid::new(what).into())
}
