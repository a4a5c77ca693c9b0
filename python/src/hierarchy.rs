//! Hierarchies: access to nodes by path.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use zarr_kit::spec::store::Store;
use zarr_kit::{ArrayBuilder, Context, EntryKind, Error, Format, Hierarchy, OpenOptions, Progress};

use crate::archive::Place;
use crate::array::ArrayHandle;
use crate::calls::{abandonable, detached, handles_signals, watched};
use crate::context::{ContextOptions, check_process, context};
use crate::creation::{array_builder, format_named};
use crate::credentials::CredentialSource;
use crate::failure::{exception, warn};
use crate::json;

/// A hierarchy in a store.
#[pyclass(frozen, name = "Hierarchy", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct HierarchyHandle {
    hierarchy: Hierarchy,
    process: u32,
    /// The number of warnings that were already issued.
    warned: AtomicUsize,
}

/// Creating more arrays than this in files takes longer than some tenths of a second.
const MANY_ARRAYS: usize = 10_000;

/// The path of a new array, its description in JSON, and the bytes of its fill value.
type NewArray = (String, String, Option<Vec<u8>>);

/// The options from Python for opening a hierarchy.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    location: String,
    format: Option<String>,
    strict: bool,
    consolidated: bool,
    write_empty_chunks: bool,
    threads: Option<usize>,
    credentials: Option<CredentialSource>,
}

#[pymethods]
impl HierarchyHandle {
    /// Opens the hierarchy that a dictionary describes.
    #[staticmethod]
    fn open(py: Python<'_>, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let opening: Opening = options.extract()?;
        let format = opening.format()?;
        let context = opening.context()?;
        let is_long = opening.may_take_long() && handles_signals(py)?;
        let open = move || opening.open(&context, format);
        let opened = if is_long { abandonable(py, open)? } else { detached(py, open)? };
        Self::new(opened.map_err(|error| exception(&error))?)
    }

    /// Opens the hierarchy that a dictionary describes, or creates it in an empty store.
    #[staticmethod]
    fn create(py: Python<'_>, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let opening: Opening = options.extract()?;
        let format = opening.format()?;
        let context = opening.context()?;
        let is_long = opening.may_take_long() && handles_signals(py)?;
        let create = || opening.create(&context, format);
        let created =
            if is_long { watched(py, &Progress::new(), None, create)? } else { detached(py, create)? };
        Self::new(created.map_err(|error| exception(&error))?)
    }

    /// Returns the name of the format.
    #[getter]
    fn format(&self) -> String {
        self.hierarchy.format().to_string()
    }

    /// Returns the reason why the hierarchy is read only, or `None` if it is not.
    #[getter]
    fn read_only(&self) -> Option<String> {
        self.hierarchy.read_only().map(str::to_owned)
    }

    /// Returns whether nodes are found and read through consolidated metadata.
    #[getter]
    fn is_consolidated(&self) -> bool {
        self.hierarchy.is_consolidated()
    }

    /// Returns the number of threads for computations.
    #[getter]
    fn threads(&self) -> usize {
        self.hierarchy.context().thread_count()
    }

    /// Returns `"array"` or `"group"`, or `None` if there is no node at `path`.
    fn kind(&self, py: Python<'_>, path: &str) -> PyResult<Option<&'static str>> {
        let path = path.to_owned();
        let found = self.read(py, self.is_remote(), move |hierarchy| match hierarchy.metadata(&*path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(Error::NoNode(_)) => Ok(None),
            Err(error) => Err(error),
        })?;
        Ok(found.map(|metadata| match metadata {
            zarr_kit::metadata::NodeMetadata::Array(_) => "array",
            zarr_kit::metadata::NodeMetadata::Group(_) => "group",
        }))
    }

    /// Opens the array at `path`.
    fn array(&self, py: Python<'_>, path: &str) -> PyResult<ArrayHandle> {
        let path = path.to_owned();
        let array = self.read(py, self.is_remote(), move |hierarchy| hierarchy.array(&*path))?;
        Ok(ArrayHandle::new(array, self.process))
    }

    /// Opens the arrays directly below the group at `path`, sorted by name.
    fn arrays(&self, py: Python<'_>, path: &str) -> PyResult<Vec<ArrayHandle>> {
        let path = path.to_owned();
        let arrays = self.read(py, true, move |hierarchy| hierarchy.group(&*path)?.arrays())?;
        Ok(arrays.into_iter().map(|array| ArrayHandle::new(array, self.process)).collect())
    }

    /// Creates arrays: for each, its path, a JSON description, and the bytes of its fill value if NumPy knows them.
    fn create_arrays(&self, py: Python<'_>, arrays: Vec<NewArray>) -> PyResult<Vec<ArrayHandle>> {
        let builders = builders(&arrays)?;
        let is_long = self.is_remote() || arrays.len() > MANY_ARRAYS;
        let created = self.change(py, is_long, |hierarchy| {
            let arrays = arrays.iter().zip(&builders);
            hierarchy.create_arrays(arrays.map(|((path, ..), builder)| (path.as_str(), &**builder)))
        })?;
        Ok(created.into_iter().map(|array| ArrayHandle::new(array, self.process)).collect())
    }

    /// Creates a group with attributes from a JSON text.
    fn create_group(&self, py: Python<'_>, path: &str, attributes: &str) -> PyResult<()> {
        let attributes = json::object(attributes)?;
        self.change(py, self.is_remote(), |hierarchy| hierarchy.create_group(path, attributes).map(drop))
    }

    /// Opens the group at `path` and returns its attributes as a JSON text.
    fn group_attributes(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let path = path.to_owned();
        let group = self.read(py, self.is_remote(), move |hierarchy| hierarchy.group(&*path))?;
        Ok(json::text(group.attributes()))
    }

    /// Changes attributes of a group: sets the members of `changed` and removes the names in `removed`. If `replace` is
    /// true, all other attributes are removed. Returns all attributes.
    fn update_group_attributes(
        &self,
        py: Python<'_>,
        path: &str,
        changed: &str,
        removed: Vec<String>,
        replace: bool,
    ) -> PyResult<String> {
        let change = AttributeChange { changed: json::object(changed)?, removed, replace };
        let group = self.change(py, self.is_remote(), |hierarchy| {
            let mut group = hierarchy.group(path)?;
            group.update_attributes(|attributes| change.apply(attributes))?;
            Ok(group)
        })?;
        Ok(json::text(group.attributes()))
    }

    /// Returns the paths and kinds of the children of a group, or of all nodes below it if `recursive` is true.
    fn nodes(&self, py: Python<'_>, path: &str, recursive: bool) -> PyResult<Vec<(String, &'static str)>> {
        let path = path.to_owned();
        let entries = self.read(py, true, move |hierarchy| match recursive {
            true => hierarchy.walk(&*path),
            false => hierarchy.children(&*path),
        })?;
        Ok(entries.iter().map(|entry| (entry.path.to_string(), kind_name(entry.kind))).collect())
    }

    /// Erases a node and everything below it.
    fn erase(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.change(py, true, |hierarchy| hierarchy.erase(path))
    }

    /// Writes the consolidated metadata of a group.
    fn consolidate(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.change(py, true, |hierarchy| hierarchy.consolidate(path))
    }

    /// Commits a store that collects changes.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, true, |hierarchy| Ok(hierarchy.store().commit()?))
    }
}

impl HierarchyHandle {
    fn new(hierarchy: Hierarchy) -> PyResult<Self> {
        let handle = Self { hierarchy, process: process::id(), warned: AtomicUsize::new(0) };
        handle.issue_warnings()?;
        Ok(handle)
    }

    /// Runs `work`, which changes nothing, without the global interpreter lock, and issues the warnings that it caused.
    /// If it takes long, an exception of a signal handler ends the call immediately.
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        is_long: bool,
        work: impl FnOnce(&Hierarchy) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        check_process(self.process)?;
        let hierarchy = self.hierarchy.clone();
        let work = move || work(&hierarchy);
        let read = if is_long && handles_signals(py)? { abandonable(py, work)? } else { detached(py, work)? };
        let result = read.map_err(|error| exception(&error))?;
        self.issue_warnings()?;
        Ok(result)
    }

    /// Runs `work` without the global interpreter lock, and issues the warnings that it caused. If it takes long, an
    /// exception of a signal handler ends the call after the requests that it has sent.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        is_long: bool,
        work: impl FnOnce(&Hierarchy) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        check_process(self.process)?;
        let changed = if is_long && handles_signals(py)? {
            let progress = Progress::new();
            let hierarchy = self.hierarchy.with_progress(&progress);
            watched(py, &progress, None, || work(&hierarchy))?
        } else {
            detached(py, || work(&self.hierarchy))?
        };
        let result = changed.map_err(|error| exception(&error))?;
        self.issue_warnings()?;
        Ok(result)
    }

    /// Returns whether calls usually wait for requests.
    fn is_remote(&self) -> bool {
        self.hierarchy.store().read_hints().max_concurrency > 0
    }

    fn issue_warnings(&self) -> PyResult<()> {
        let warnings = self.hierarchy.warnings();
        let known = self.warned.swap(warnings.len(), Ordering::Relaxed);
        warnings.iter().skip(known).try_for_each(|warning| warn(&warning.to_string()))
    }
}

/// Returns the builder of each array. Arrays with equal descriptions that follow each other share one.
fn builders(arrays: &[NewArray]) -> PyResult<Vec<Arc<ArrayBuilder>>> {
    let mut builders: Vec<Arc<ArrayBuilder>> = Vec::with_capacity(arrays.len());
    let mut previous: Option<&NewArray> = None;
    for array in arrays {
        let (_, description, fill_value) = array;
        let is_equal = previous.is_some_and(|(_, text, fill)| text == description && fill == fill_value);
        let shared = builders.last().filter(|_| is_equal).map(Arc::clone);
        builders.push(match shared {
            Some(builder) => builder,
            None => Arc::new(array_builder(&json::object(description)?, fill_value.as_deref())?),
        });
        previous = Some(array);
    }
    Ok(builders)
}

/// A hierarchy to open, without its consolidated metadata.
pub(crate) struct Documents {
    opening: Opening,
    context: Context,
    format: Option<Format>,
}

impl Documents {
    /// Opens the hierarchy.
    pub(crate) fn open(&self) -> Result<Hierarchy, Error> {
        self.opening.open(&self.context, self.format)
    }
}

impl Opening {
    /// Returns the hierarchy to open, without its consolidated metadata, which may be out of date.
    pub(crate) fn documents(self) -> PyResult<Documents> {
        let context = self.context()?;
        let format = self.format()?;
        Ok(Documents { opening: Self { consolidated: false, ..self }, context, format })
    }

    /// Returns the store, which may not have a hierarchy.
    pub(crate) fn place(self) -> PyResult<Place> {
        Ok(Place { context: self.context()?, location: self.location, credentials: self.credentials })
    }

    fn format(&self) -> PyResult<Option<Format>> {
        self.format.as_deref().map(format_named).transpose()
    }

    fn context(&self) -> PyResult<Context> {
        context(ContextOptions {
            is_strict: self.strict,
            stores_empty_chunks: self.write_empty_chunks,
            threads: self.threads,
        })
    }

    /// Returns whether opening may take long: the location is not a path of the file system.
    fn may_take_long(&self) -> bool {
        self.location.contains(':') || self.location.trim_start().starts_with('{')
    }

    fn store(&self, context: &Context) -> Result<Arc<dyn Store>, Error> {
        CredentialSource::open(self.credentials.as_ref(), context.registry(), &self.location)
    }

    fn open(&self, context: &Context, format: Option<Format>) -> Result<Hierarchy, Error> {
        let options = OpenOptions::new().consolidated(self.consolidated);
        let options = format.map_or(options, |format| options.format(format));
        Hierarchy::open_with(self.store(context)?, context, options)
    }

    fn create(&self, context: &Context, format: Option<Format>) -> Result<Hierarchy, Error> {
        let store = self.store(context)?;
        match (Hierarchy::open(store.clone(), context), format) {
            (Ok(hierarchy), None) => Ok(hierarchy),
            (Ok(hierarchy), Some(format)) if hierarchy.format() == format => Ok(hierarchy),
            (Err(Error::NoHierarchy { .. }) | Ok(_), format) => {
                Hierarchy::create(store, context, format.unwrap_or(Format::V3))
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// A change of the attributes of a node.
#[derive(Debug)]
pub(crate) struct AttributeChange {
    pub(crate) changed: zarr_kit::spec::Object,
    pub(crate) removed: Vec<String>,
    pub(crate) replace: bool,
}

impl AttributeChange {
    pub(crate) fn apply(&self, attributes: &mut zarr_kit::spec::Object) {
        if self.replace {
            attributes.clone_from(&self.changed);
            return;
        }
        for name in &self.removed {
            attributes.remove(name);
        }
        for (name, value) in self.changed.iter() {
            attributes.insert(name, value.clone());
        }
    }
}

fn kind_name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Array => "array",
        EntryKind::Group | EntryKind::ImplicitGroup => "group",
        EntryKind::Unreadable => "unreadable",
    }
}
