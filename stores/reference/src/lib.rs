//! The `reference` store: values that are parts of other files, as a reference file lists them; read-only.
//!
//! kerchunk and virtualizarr write reference files for data in other formats, such as NetCDF and GRIB. The file is
//! JSON, in version 0 (an object of references) or 1 (with templates and generators). A value is in the reference file
//! itself, as text, JSON or base64, or is a file, or a range of bytes of a file. The reference file is read once.
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

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::sorted;
use zarr_spec::store::{
    Capabilities, ChunkCache, Contents, DescribedStore, Directory, GetOptions, GetResult, IoKind, Keys,
    ReadHints, Request, Responses, Step, Store, StoreConfiguration, StoreError, StorePlugin, StoreResult,
    get_value, shared_part,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

mod batch;
mod document;
mod targets;
mod template;

use document::{MAX_SIZE, Reference, References};
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
    entries: Vec<(Key, Reference)>,
    /// The files by number, or the reason why a file may not be read.
    targets: Vec<Result<Target, String>>,
    allowed: Allowed,
}

impl ReferenceStore {
    /// Opens the reference file `key` of `store`. Targets are in `store`, which is the folder of the reference file,
    /// or in one of `others`, whose locations are those in the URLs.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the file is missing or not a reference file, and the errors of `store`.
    pub fn open(store: Arc<dyn Store>, key: &Key, others: Vec<Arc<dyn Store>>) -> StoreResult<Self> {
        let location = store.location();
        let separator = if location.ends_with([':', '/']) { "" } else { "/" };
        let name = format!("{location}{separator}{key}");
        let document = get_value(&*store, key, MAX_SIZE)?
            .ok_or_else(|| Invalid::new(format!("`{name}`, the file with references, does not exist")))?;
        Self::new(name, &document, Allowed::new(store, others))
    }

    fn new(name: String, document: &[u8], allowed: Allowed) -> StoreResult<Self> {
        let References { entries, targets } = document::read(document)
            .map_err(|reason| Invalid::new(format!("`{name}` is not a valid reference file: {reason}")))?;
        let targets = targets.iter().map(|target| allowed.find(target)).collect();
        Ok(Self { name, entries, targets, allowed })
    }

    fn find(&self, key: &Key) -> Option<&Reference> {
        let number = self.entries.binary_search_by(|(one, _)| one.cmp(key)).ok()?;
        self.entries.get(number).map(|(_, reference)| reference)
    }

    fn failed(&self, key: &Key, reason: String) -> StoreError {
        StoreError::io("reading", format!("{}, reference `{key}`", self.name), reason)
    }

    fn target(&self, key: &Key, number: u32) -> StoreResult<&Target> {
        let found = usize::try_from(number).ok().and_then(|number| self.targets.get(number));
        match found {
            Some(Ok(target)) => Ok(target),
            Some(Err(reason)) => Err(self.failed(key, reason.clone()).with_kind(IoKind::NotPermitted)),
            None => Err(self.failed(key, "its target is unknown".to_owned())),
        }
    }

    /// Returns the error for a target that does not exist.
    fn missing(&self, key: &Key, target: &Target) -> StoreError {
        let location = target.store(&self.allowed).location();
        self.failed(key, format!("its target `{}` does not exist in `{location}`", target.key))
    }

    /// Returns the part of a target to read for a part of the value, after checking that the caller accepts it.
    fn range(key: &Key, reference: &Reference, wanted: ByteRange, limit: usize) -> StoreResult<ByteRange> {
        let Reference::Part { offset, size, .. } = reference else { return Ok(wanted) };
        let part = wanted.within(*size);
        if part.end - part.start > limit as u64 {
            return Err(StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } });
        }
        Ok(ByteRange::Range { offset: offset + part.start, size: part.end - part.start })
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

/// The number of requested bytes and the size of a value that is a part of its target; `None` for a whole target.
type Part = Option<(u64, u64)>;

fn part_of(reference: &Reference, wanted: ByteRange) -> Part {
    let Reference::Part { size, .. } = reference else { return None };
    let part = wanted.within(*size);
    Some((part.end - part.start, *size))
}

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
            let Some(reference) = self.find(key) else { return Ok(None) };
            let number = match reference {
                Reference::Inline(bytes) => {
                    let part = shared_part(key, bytes, options.range, to.remaining())?;
                    return Ok(Some(GetResult::new(Contents::Shared(part), bytes.len() as u64, None)));
                }
                Reference::Whole { target } | Reference::Part { target, .. } => *target,
            };
            let target = self.target(key, number)?;
            let mut inner = options;
            inner.range = Self::range(key, reference, options.range, to.remaining())?;
            let before = to.written().len();
            let found = target.store(&self.allowed).get(&target.key, inner, to)?;
            let mut found = found.ok_or_else(|| self.missing(key, target))?;
            let read = match &found.contents {
                Contents::Written => to.written().len() - before,
                Contents::Shared(bytes) => bytes.len(),
            };
            let part = part_of(reference, options.range);
            found.size = self.checked_size(key, part, read as u64, found.size)?;
            Ok(Some(found))
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            batch::responses(self, requests, budget)
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            match self.find(key) {
                None => Ok(None),
                Some(Reference::Inline(bytes)) => Ok(Some(bytes.len() as u64)),
                Some(Reference::Part { size, .. }) => Ok(Some(*size)),
                Some(Reference::Whole { target }) => {
                    let target = self.target(key, *target)?;
                    let size = target.store(&self.allowed).size(&target.key)?;
                    size.map(Some).ok_or_else(|| self.missing(key, target))
                }
            }
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            false
        }

        fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
            let below = sorted::below(&self.entries, prefix, |(key, _)| key);
            Ok(Box::new(below.iter().map(|(key, _)| Ok(key.clone()))))
        }

        fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
            Ok(sorted::directory(&self.entries, prefix, |(key, _)| key)?)
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
