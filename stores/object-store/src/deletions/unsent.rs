//! The requests that `object_store` would send, as the source of URLs.
//!
//! `object_store` does not have a function that returns the URL of an object. A store with the connector [`Unsent`]
//! makes a request for the object, and hands it over instead of sending it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::path::Path;
use object_store::{ClientOptions, Error, GetOptions, ObjectStore};

use crate::client::Connector;

/// Creates clients that send nothing.
#[derive(Debug)]
pub(crate) struct Unsent(pub(crate) Connector);

/// A request that was not sent, and the client that would have sent it.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) request: HttpRequest,
    pub(super) client: HttpClient,
}

/// An extension of a request that receives the request.
#[derive(Debug, Clone, Default)]
struct Receiver(Arc<Mutex<Option<Made>>>);

/// A client that hands requests over to their [`Receiver`], with the client that sends requests.
#[derive(Debug)]
struct HandsOver(HttpClient);

/// Returns the request for the head of an object. `store` has the connector [`Unsent`].
///
/// # Errors
///
/// If `store` cannot make the request.
pub(super) async fn head(store: &dyn ObjectStore, path: &Path) -> object_store::Result<Made> {
    let receiver = Receiver::default();
    let mut options = GetOptions { head: true, ..GetOptions::default() };
    options.extensions.insert(receiver.clone());
    let got = store.get_opts(path, options).await;
    let made = receiver.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    made.ok_or_else(|| {
        got.err().unwrap_or(Error::NotImplemented {
            operation: "a request that is not sent".to_owned(),
            implementer: store.to_string(),
        })
    })
}

impl HttpConnector for Unsent {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(HandsOver(self.0.connect(options)?)))
    }
}

#[async_trait]
impl HttpService for HandsOver {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(Receiver(receiver)) = request.extensions().get::<Receiver>().cloned() {
            let made = Made { request, client: self.0.clone() };
            *receiver.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        }
        // `object_store` does not repeat a request after an error of this kind.
        Err(HttpError::new(HttpErrorKind::Unknown, io::Error::other("the request was not sent")))
    }
}
