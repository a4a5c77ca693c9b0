//! Who sends requests: a client with patience for 20 seconds, and certificates as the system has them.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::{Instant, Sleep, sleep, timeout};

/// How long a host may take to be found and to accept a connection.
const CONNECT: Duration = Duration::from_secs(4);

/// The same for who hands out credentials, which is near or not there.
const CONNECT_NEAR: Duration = Duration::from_secs(1);

/// How long a server may say nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes that a request carries each second, at least.
const SLOWEST: usize = 64 << 10;

/// Makes clients for the stores of `object_store`.
#[derive(Debug)]
pub(crate) struct Connector {
    patience: Duration,
}

impl Default for Connector {
    fn default() -> Self {
        Self { patience: PATIENCE }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let value = |key| options.get_config_value(&key);
        let allows_http = value(ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let default = ClientOptions::new().get_config_value(&ClientConfigKey::ConnectTimeout);
        // Only what asks for credentials has another one than the default.
        let is_near = value(ClientConfigKey::ConnectTimeout) != default;
        let connect = if is_near { CONNECT_NEAR } else { CONNECT };
        let patience = self.patience;
        Ok(HttpClient::new(Client { connect, patience, allows_http, client: OnceLock::new() }))
    }
}

/// A client that is made at the first request: reading the certificates takes a while.
#[derive(Debug)]
struct Client {
    connect: Duration,
    patience: Duration,
    allows_http: bool,
    client: OnceLock<Result<Ready, String>>,
}

#[derive(Debug)]
struct Ready {
    client: reqwest::Client,
    /// Why no certificate can be checked.
    without_roots: Option<String>,
}

impl Client {
    fn ready(&self) -> Result<&Ready, HttpError> {
        let made = self.client.get_or_init(|| self.make().map_err(|error| error.to_string()));
        made.as_ref().map_err(|reason| other(HttpErrorKind::Unknown, reason.clone()))
    }

    fn make(&self) -> Result<Ready, zarr_spec::BoxError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()
        };
        let (tls, without_roots) = match builder()?.with_platform_verifier() {
            Ok(tls) => (tls.with_no_client_auth(), None),
            Err(error) => {
                let none = builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
                (none, Some(error.to_string()))
            }
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(self.connect)
            .https_only(!self.allows_http)
            .http1_only()
            .user_agent(concat!("zarr-kit/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Ready { client, without_roots })
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        // The client of the crate panics otherwise: some hosts are fine for one of two parsers.
        let url = reqwest::Url::parse(&request.uri().to_string())
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let ready = self.ready()?;
        if let Some(reason) = ready.without_roots.as_ref().filter(|_| url.scheme() == "https") {
            return Err(other(HttpErrorKind::Unknown, reason.clone()));
        }
        if url.scheme() == "http" && !self.allows_http {
            let reason = "the connection would not be encrypted; for s3: URLs AWS_ALLOW_HTTP=true allows it";
            return Err(other(HttpErrorKind::Unknown, reason.to_owned()));
        }
        let size = u64::try_from(request.body().content_length() / SLOWEST).unwrap_or(u64::MAX);
        let patience = self.patience.saturating_add(Duration::from_secs(size));
        let seen = request.extensions().get::<Seen>().cloned();
        let answer = timeout(patience, HttpService::call(&ready.client, request));
        let answer = answer.await.map_err(|_| silent(patience))??;
        if let Some(seen) = seen {
            seen.note(&answer);
        }
        let (patience, wait) = (self.patience, Box::pin(sleep(self.patience)));
        Ok(answer.map(|body| HttpResponseBody::new(Patient { body, patience, wait })))
    }
}

fn silent(patience: Duration) -> HttpError {
    other(HttpErrorKind::Timeout, format!("the server said nothing for {} seconds", patience.as_secs()))
}

fn other(kind: HttpErrorKind, reason: String) -> HttpError {
    HttpError::new(kind, io::Error::other(reason))
}

/// A body that fails when nothing comes for too long.
#[derive(Debug)]
struct Patient {
    body: HttpResponseBody,
    patience: Duration,
    wait: Pin<Box<Sleep>>,
}

impl Body for Patient {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let patience = self.patience;
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.wait.as_mut().reset(Instant::now() + patience);
            return Poll::Ready(frame);
        }
        ready!(self.wait.as_mut().poll(context));
        Poll::Ready(Some(Err(silent(patience))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Goes along with a request and keeps what its last answer says, of which errors of `object_store` say less.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Answer>>);

/// What an answer says besides its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// 0 if there was none.
    pub(crate) status: u16,
    /// Bytes of the whole value, where none of them are in the range.
    pub(crate) size: Option<u64>,
    /// Where S3 has the bucket.
    pub(crate) region: Option<String>,
}

impl Seen {
    pub(crate) fn answer(&self) -> Answer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, answer: &HttpResponse) {
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let size = header("content-range").and_then(|range| range.trim().strip_prefix("bytes */"));
        let noted = Answer {
            status: answer.status().as_u16(),
            size: size.and_then(|size| size.parse().ok()),
            region: header("x-amz-bucket-region").map(str::to_owned),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = noted;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Instant;

    use object_store::http::HttpBuilder;
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, RetryConfig};
    use tokio::runtime::Builder;

    use super::*;

    /// Says `answer` to every request, and then nothing for longer than anybody waits.
    fn silent_after(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let connections: Vec<TcpStream> = listener.incoming().take(2).map(Result::unwrap).collect();
            for mut connection in &connections {
                let _request = connection.read(&mut [0; 4096]).unwrap();
                connection.write_all(answer.as_bytes()).unwrap();
            }
            thread::sleep(Duration::from_secs(60));
        });
        url
    }

    #[test]
    fn a_server_that_says_nothing_is_an_error() {
        for answer in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"] {
            let connector = Connector { patience: Duration::from_millis(300) };
            let allows_http = ClientOptions::new().with_allow_http(true);
            let store = HttpBuilder::new()
                .with_url(silent_after(answer))
                .with_client_options(allows_http)
                .with_retry(RetryConfig { max_retries: 1, ..RetryConfig::default() })
                .with_http_connector(connector)
                .build()
                .unwrap();
            let begun = Instant::now();
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let result = runtime.block_on(async { store.get(&Path::from("v")).await?.bytes().await });
            let error = result.unwrap_err();
            let text = format!("{error}: {:?}", std::error::Error::source(&error));
            assert!(text.contains("the server said nothing for 0 seconds"), "{answer:?}: {text}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{answer:?}: {:?}", begun.elapsed());
        }
    }
}
