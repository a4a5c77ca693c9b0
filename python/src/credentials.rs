//! Credentials that a callable of Python returns.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{BoxError, Registry};
use zarr_kit::stores::{Credential, Credentials, open_with_credentials};
use zarr_kit::{Error, json, open_store};

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
        let description = json::parse(location.as_bytes(), &json::ParseOptions::default());
        let description = description.map_err(|error| zarr_kit::spec::Invalid::new(error.to_string()))?.value;
        let credentials: Arc<dyn Credentials> = Arc::new(source.clone());
        Ok(open_with_credentials(&description, credentials)?)
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
