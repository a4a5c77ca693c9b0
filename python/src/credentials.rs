//! Credentials that a callable of Python returns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zarr_kit::spec::store::{Store, StorePlugin, StoreResult};
use zarr_kit::spec::{BoxError, Invalid, Registry, Value};
use zarr_kit::stores::{Credential, Credentials, open_with_credentials};
use zarr_kit::{Error, json, open_store};

use crate::failure::raise;

/// A callable that returns a name and texts, as `zarr_kit/_credentials.py` describes them.
#[derive(Debug, Clone)]
pub(crate) struct CredentialSource(Arc<Py<PyAny>>);

impl CredentialSource {
    /// Opens the store that `location` describes, with credentials of `source` if there is one.
    pub(crate) fn open(
        source: Option<&Self>,
        registry: &Registry,
        location: &str,
    ) -> Result<Arc<dyn Store>, Error> {
        let Some(source) = source else { return open_store(registry, location) };
        Ok(source.open_described(location)?)
    }

    fn open_described(&self, description: &str) -> StoreResult<Arc<dyn Store>> {
        let description = json::parse(description.as_bytes(), &json::ParseOptions::default());
        let description = description.map_err(|error| Invalid::new(error.to_string()))?.value;
        open_with_credentials(&description, Arc::new(self.clone()))
    }
}

impl<'py> FromPyObject<'_, 'py> for CredentialSource {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::new(object.to_owned().unbind())))
    }
}

impl Credentials for CredentialSource {
    fn get(&self) -> Result<Credential, BoxError> {
        Python::attach(|py| {
            let returned = self.0.call0(py)?.into_bound(py).cast_into::<PyTuple>().map_err(PyErr::from)?;
            let (kind, texts): (String, Vec<(String, String)>) = returned.extract()?;
            Ok::<_, PyErr>(credential(&kind, texts))
        })
        .map_err(|error| format!("the credential provider failed: {error}"))?
        .ok_or_else(|| "the credential provider returned no credentials of a known kind".into())
    }
}

fn credential(kind: &str, texts: Vec<(String, String)>) -> Option<Credential> {
    let text = |name: &str| texts.iter().find(|(found, _)| found == name).map(|(_, text)| text.clone());
    Some(match kind {
        "keys" => Credential::Keys { id: text("id")?, secret: text("secret")?, token: text("token") },
        "account_key" => Credential::AccountKey(text("key")?),
        "signature" => Credential::Signature(texts),
        "token" => Credential::Token(text("token")?),
        _ => return None,
    })
}

/// A store with credentials of Python, for code that opens stores by their descriptions. Such a description has a
/// number, which is valid until this object is dropped.
#[derive(Debug)]
pub(crate) struct Provided {
    number: u64,
    location: String,
}

/// The type in descriptions of these stores.
const TYPE: &str = "python-credentials";

/// The locations and credentials by number.
static PROVIDED: Mutex<BTreeMap<u64, (String, CredentialSource)>> = Mutex::new(BTreeMap::new());

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Provided {
    pub(crate) fn new(location: String, credentials: CredentialSource) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        provided().insert(number, (location.clone(), credentials));
        Self { number, location }
    }

    /// Returns a registry that opens these stores, too.
    pub(crate) fn added_to(registry: &Registry) -> PyResult<Registry> {
        let mut registry = registry.clone();
        let mut plugin = StorePlugin::new(TYPE, &[], &|url| Err(not_provided(url).into()));
        plugin.describe = Some(&|description, _| open_provided(description));
        let registered = registry.register_store(plugin);
        registered.map_err(|error| raise("InternalError", &error.to_string()))?;
        Ok(registry)
    }

    pub(crate) fn description(&self) -> String {
        format!(r#"{{"type": "{TYPE}", "number": {}}}"#, self.number)
    }

    /// Replaces the description in a message with the location.
    pub(crate) fn named_in(&self, message: &str) -> String {
        message.replace(&self.description(), &self.location)
    }
}

impl Drop for Provided {
    fn drop(&mut self) {
        // The value is dropped after the table is unlocked, because Python code may run then.
        let _removed = provided().remove(&self.number);
    }
}

fn provided() -> MutexGuard<'static, BTreeMap<u64, (String, CredentialSource)>> {
    PROVIDED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_provided(description: &Value) -> StoreResult<Arc<dyn Store>> {
    let number = description.as_object().and_then(|members| members.get("number")).and_then(Value::as_u64);
    let found = number.and_then(|number| provided().get(&number).cloned());
    let (location, credentials) = found.ok_or_else(|| not_provided(&description.to_string()))?;
    credentials.open_described(&location)
}

fn not_provided(description: &str) -> Invalid {
    Invalid::new(format!("no Python program provides the store {description}"))
}
