//! `pack`: writes a hierarchy or a part of it to one zip archive.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use zarr_kit::json::counted;
use zarr_kit::spec::store::StoreError;
use zarr_kit::spec::{Prefix, json, printable_path};
use zarr_kit::stores::{Packed, pack};
use zarr_kit::{Format, Node, NodePath};

use crate::arguments::Pack;
use crate::durable;
use crate::failure::Failure;
use crate::interrupt::{self, Left, Temporary};
use crate::opening::{self, open_documents};
use crate::terminal::{self, Progress, size};
use crate::verbs::copy::folder;

/// The operation in errors of writing to the archive.
const PACKING: &str = "packing";

/// The prefix of incomplete files, which filesystem stores do not list.
pub(crate) const TEMPORARY: &str = ".zarr-tmp-";

pub(crate) fn run(arguments: &Pack) -> Result<(), Failure> {
    let source = open_documents(&arguments.source, &arguments.reading, opening::context()?)?;
    let root = source.path(&arguments.path)?;
    let comment = comment(&source.node(&arguments.path)?);
    if source.format() == Format::V3Draft && !root.is_root() {
        return Err(Failure::fault(
            "--path is not supported for the v3 draft, whose keys begin at the root; copy the part to a folder \
                 with `zarrctl copy --path` and pack the folder",
        ));
    }
    let parent = free_place(&source.store().location(), &arguments.file)?;
    let mut shown = Shown { progress: Progress::unknown("listing keys"), values: None, bytes: 0 };
    let mut show = |packed| shown.update(packed);
    let at = |error: std::io::Error| Failure::Io(error).while_at(&arguments.file.display().to_string());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    interrupt::watch(Left::file(&arguments.file))?;
    let file = builder.prefix(TEMPORARY).tempfile_in(parent).map_err(at)?;
    let _removed = Temporary::new(file.path());
    let packed =
        pack(&**source.store(), &prefix(&root)?, BufWriter::new(file.as_file()), &comment, &mut show);
    packed.map_err(|error| match error {
        StoreError::Io { operation: PACKING, .. } => {
            Failure::from(error).while_doing(&format!("writing `{}`", printable_path(&arguments.file)))
        }
        error => error.into(),
    })?;
    file.as_file().sync_all().map_err(at)?;
    let _writing = interrupt::writing();
    file.persist_noclobber(&arguments.file).map_err(|error| at(error.error))?;
    durable::sync_name(&arguments.file).map_err(at)?;
    let values = counted(shown.values.unwrap_or(0), "value", "values");
    let bytes = shown.bytes;
    drop(shown);
    let file = printable_path(&arguments.file);
    terminal::summary(&format!("packed {values}, {}, into {file}", size(bytes)));
    Ok(())
}

/// The progress of packing. The total is known when the keys are listed.
struct Shown {
    progress: Progress,
    /// Number of values completed at the last update, once the total is known.
    values: Option<usize>,
    bytes: u64,
}

impl Shown {
    fn update(&mut self, packed: Packed) {
        if self.values.is_none() {
            self.progress = Progress::of(packed.of as u64, "packing");
        }
        let before = self.values.replace(packed.values).unwrap_or(0);
        self.bytes = self.bytes.saturating_add(packed.bytes);
        self.progress.add((packed.values - before) as u64);
        self.progress.set_message(&format!("packing, {}", size(self.bytes)));
    }
}

/// Returns the folder of the archive. The archive must not exist or be inside the packed folder.
fn free_place(source: &str, file: &Path) -> Result<PathBuf, Failure> {
    let shown = printable_path(file);
    if file.to_str().is_some_and(|file| file.contains("://")) {
        return Err(Failure::fault(format!(
            "`{shown}` is a URL, but archives are written to local files; give a path, and upload the file"
        )));
    }
    if file.symlink_metadata().is_ok() {
        return Err(Failure::fault(format!("`{shown}` already exists; remove it or choose another name")));
    }
    let Some(parent) = file.parent().filter(|_| file.file_name().is_some()) else {
        return Err(Failure::fault(format!("`{shown}` is not a file name")));
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let real =
        parent.canonicalize().map_err(|error| Failure::Io(error).while_at(&parent.display().to_string()))?;
    match folder(source) {
        Some(packed) if real.starts_with(&packed) => Err(Failure::fault(format!(
            "`{shown}` is inside the packed folder `{}`; choose a folder outside of it",
            packed.display()
        ))),
        _ => Ok(real),
    }
}

fn prefix(root: &NodePath) -> Result<Prefix, Failure> {
    Ok(Prefix::of_names(root.names())?)
}

/// Returns the archive comment of RFC-9 (OME-Zarr): the version in the root's attributes, if it has one.
fn comment(root: &Node) -> String {
    let Node::Group(group) = root else { return String::new() };
    let ome = group.attributes().get("ome").and_then(|ome| ome.as_object());
    match ome.and_then(|ome| ome.get("version")).and_then(|version| version.as_str()) {
        Some(version) => json!({"ome": {"version": (version)}}).to_string(),
        None => String::new(),
    }
}
