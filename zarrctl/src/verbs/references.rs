//! `references`: writes references to the stored values of a hierarchy, in the form of kerchunk.

mod parquet;
pub(crate) mod records;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use zarr_kit::spec::metadata_encoding::DOCUMENT_NAMES;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Prefix, Value, json};
use zarr_kit::stores::ZipStore;
use zarr_kit::{Format, readable_location};

use parquet::Reference;

use crate::arguments::References;
use crate::failure::Failure;
use crate::interrupt::{self, Left, Temporary};
use crate::opening::{self, open_documents};
use crate::printer::stdout;
use crate::verbs::pack::TEMPORARY;

/// The maximum size of a document in bytes.
const MAX_DOCUMENT: usize = 64 << 20;

/// The schemes of locations that other programs can open.
const SCHEMES: [&str; 6] = ["file", "s3", "gs", "az", "http", "https"];

pub(crate) fn run(arguments: &References) -> Result<(), Failure> {
    let hierarchy = open_documents(&arguments.store, &arguments.reading, opening::context()?)?;
    if hierarchy.format() == Format::V3Draft {
        return Err(Failure::fault(
            "programs that read references do not read the v3 draft; copy the hierarchy to v2 or v3 with `zarrctl copy`",
        ));
    }
    let store = &**hierarchy.store();
    if let Some(folder) = &arguments.parquet {
        return records::write(store, hierarchy.format(), folder, arguments.record_size);
    }
    let targets = Targets::of(store)?;
    match arguments.output.as_deref().filter(|file| *file != Path::new("-")) {
        None if io::stdout().is_terminal() => write(store, &targets, BufWriter::new(stdout())),
        None => write(store, &targets, BufWriter::new(io::stdout().lock())),
        Some(file) => write_file(store, &targets, file),
    }
}

fn write_file(store: &dyn Store, targets: &Targets, file: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Io(error).while_at(&file.display().to_string());
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    interrupt::watch(Left::file(file))?;
    let temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(parent).map_err(at)?;
    let _removed = Temporary::new(temporary.path());
    write(store, targets, BufWriter::new(temporary.as_file()))?;
    temporary.as_file().sync_all().map_err(at)?;
    let _writing = interrupt::writing();
    temporary.persist_noclobber(file).map_err(|error| at(error.error))?;
    Ok(())
}

fn write(store: &dyn Store, targets: &Targets, mut to: impl Write) -> Result<(), Failure> {
    let keys = store.list_sorted(&Prefix::root())?;
    write!(to, "{{\"version\": 1, \"refs\": {{")?;
    let mut separator = "";
    for key in &keys {
        let name = Value::from(key.as_str());
        let value = match DOCUMENT_NAMES.contains(&key.name()) {
            true => document(store, key)?,
            false => targets.reference(key)?.to_json(),
        };
        write!(to, "{separator}\n{name}: {value}")?;
        separator = ",";
    }
    writeln!(to, "\n}}}}")?;
    Ok(to.flush()?)
}

fn document(store: &dyn Store, key: &Key) -> Result<Value, Failure> {
    let value = get_value(store, key, MAX_DOCUMENT)?;
    let value = value.ok_or_else(|| Failure::fault(format!("`{key}` was removed meanwhile")))?;
    match str::from_utf8(&value) {
        Ok(text) => Ok(Value::from(text)),
        Err(error) => Err(Failure::fault(format!("`{key}` is not text: {error}"))),
    }
}

impl Reference {
    fn to_json(&self) -> Value {
        match (self.offset, self.size) {
            (0, 0) => json!([(&*self.path)]),
            (offset, size) => json!([(&*self.path), offset, size]),
        }
    }
}

/// The files that contain the values of a store.
enum Targets {
    /// The path or the URL of the folder, with `/` at its end.
    Folder(String),
    Archive(String, Box<ZipStore>),
}

impl Targets {
    fn of(store: &dyn Store) -> Result<Self, Failure> {
        let location = store.location();
        if let Some(path) = location.strip_prefix("zip:") {
            let archive = ZipStore::open(path)?;
            return Ok(Self::Archive(path.to_owned(), Box::new(archive)));
        }
        match location.split_once("://") {
            Some((scheme, _)) if SCHEMES.contains(&scheme) && !location.contains('|') => {
                // Programs that use fsspec do not decode the path of a URL, so the location is not percent-encoded.
                let readable = readable_location(&location);
                Ok(Self::Folder(format!("{}/", readable.trim_end_matches('/'))))
            }
            _ => Err(Failure::fault(format!(
                "`{location}` does not have files that references can name; expected a folder, a zip archive in a \
                 file, an object store or an HTTP server"
            ))),
        }
    }

    fn reference(&self, key: &Key) -> Result<Reference, Failure> {
        match self {
            Self::Folder(folder) => Ok(Reference { path: format!("{folder}{key}"), offset: 0, size: 0 }),
            Self::Archive(path, archive) => {
                let range = archive.stored_range(key)?.ok_or_else(|| {
                    let reason =
                        "is compressed in the archive, so it is not a byte range; unpack the archive first";
                    Failure::fault(format!("`{key}` {reason}"))
                })?;
                let size = range.end - range.start;
                Ok(Reference { path: path.clone(), offset: range.start, size })
            }
        }
    }
}
