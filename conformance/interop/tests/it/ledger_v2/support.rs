//! Stores in memory with values that the tests write out, and helpers to read them.

use std::sync::Arc;

use serde_json::Value;
pub(crate) use zarr_conformance::hex;
use zarr_interop::{memory, raw};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{ByteRange, Key, Mode, Output};
use zarr_kit::{Array, Context, Error, Hierarchy, Selection};

/// A store in memory, and the context to read it with.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) context: Context,
}

impl Stored {
    /// Creates an empty store that is read in lenient mode.
    pub(crate) fn new() -> Self {
        Self { store: memory(), context: Context::linked().unwrap() }
    }

    /// Adds a value.
    pub(crate) fn with(self, key: &str, value: impl AsRef<[u8]>) -> Self {
        self.set(key, value);
        self
    }

    /// Adds a document.
    pub(crate) fn json(self, key: &str, document: &Value) -> Self {
        self.with(key, document.to_string())
    }

    /// Switches to strict mode.
    pub(crate) fn strictly(self) -> Self {
        Self { context: self.context.with_mode(Mode::Strict), ..self }
    }

    pub(crate) fn set(&self, key: &str, value: impl AsRef<[u8]>) {
        self.store.set(&Key::new(key).unwrap(), value.as_ref().into()).unwrap();
    }

    pub(crate) fn open(&self) -> Hierarchy {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<Hierarchy, Error> {
        Hierarchy::open(Arc::clone(&self.store), &self.context)
    }

    /// Opens the array at the root.
    pub(crate) fn array(&self) -> Array {
        self.try_array().unwrap()
    }

    /// Tries to open the array at the root.
    pub(crate) fn try_array(&self) -> Result<Array, Error> {
        self.try_open()?.array("")
    }

    /// Returns the error of opening the array at the root.
    pub(crate) fn error(&self) -> String {
        self.try_array().unwrap_err().to_string()
    }

    /// Returns the bytes of a value in hexadecimal digits, or `-` if it is missing.
    pub(crate) fn value(&self, key: &str) -> String {
        let value = get_value(&*self.store, &Key::new(key).unwrap(), 1 << 20).unwrap();
        value.map_or_else(|| "-".to_owned(), |bytes| to_hex(&bytes))
    }

    /// Returns a stored document.
    pub(crate) fn document(&self, key: &str) -> Value {
        let value = get_value(&*self.store, &Key::new(key).unwrap(), 1 << 20).unwrap();
        serde_json::from_slice(&value.unwrap()).unwrap()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        let mut output = Output::at_most(1 << 20);
        self.store.get(&Key::new(key).unwrap(), ByteRange::Full.into(), &mut output).unwrap().is_some()
    }

    /// Returns all keys, sorted.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.store.list().unwrap().iter().map(Key::to_string).collect()
    }
}

/// Converts to the JSON type of the framework.
pub(crate) fn spec_value(value: &Value) -> zarr_kit::spec::Value {
    zarr_kit::json::parse(value.to_string().as_bytes(), &zarr_kit::json::ParseOptions::default())
        .unwrap()
        .value
}

/// Returns all elements in raw form, in hexadecimal digits.
pub(crate) fn all(array: &Array) -> String {
    to_hex(&raw::of(&array.read(&Selection::All).unwrap()))
}

/// Returns the error of reading all elements.
pub(crate) fn reading_fails(array: &Array) -> String {
    array.read(&Selection::All).unwrap_err().to_string()
}

/// Formats bytes as pairs of digits, separated by spaces.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Returns `base` with the members of `changes`; a name with the prefix `-` removes the member.
pub(crate) fn changed(mut base: Value, changes: &Value) -> Value {
    let members = base.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match name.strip_prefix('-') {
            Some(name) => drop(members.remove(name).unwrap()),
            None => drop(members.insert(name.clone(), value.clone())),
        }
    }
    base
}
