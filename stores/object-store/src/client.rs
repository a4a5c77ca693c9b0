//! The HTTP client of a store: time limits, retries, redirects, and the system's certificates.

mod checksum;
mod hedge;
mod redirect;
mod retry;
mod timed;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use futures_util::future::{Either, select};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::time::{sleep, timeout};

pub(crate) use checksum::Checksums;
use hedge::Hedge;
pub(crate) use redirect::Redirects;
pub(crate) use retry::{WINDOW, is_repeated, policy};
use timed::{Most, TimeLimits, TimedBody};

use crate::network::{self, Settings};

/// Time limit for resolving a host and connecting to it.
const CONNECT: Duration = Duration::from_secs(4);

/// Time limit for connecting to a credential server, which is either near or absent.
const CONNECT_NEAR: Duration = Duration::from_secs(1);

/// The maximum number of bytes to read of the message of an error.
const MESSAGE: u64 = 64 << 10;

/// The maximum size of a page of a listing and of other documents in bytes.
const DOCUMENT: u64 = 64 << 20;

/// The status of a server that does not know a method or a header.
pub(crate) const NOT_IMPLEMENTED: u16 = 501;

/// Creates the HTTP clients for the stores of `object_store`.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    limits: TimeLimits,
    redirects: Redirects,
    window: Duration,
    certificates: Option<PathBuf>,
    is_hedged: bool,
    checksums: Checksums,
}

impl Connector {
    /// Creates a connector whose clients follow `redirects`. Failed requests are repeated for the time `window`.
    pub(crate) fn new(redirects: Redirects, window: Duration) -> Self {
        Self {
            limits: TimeLimits::default(),
            redirects,
            window,
            certificates: None,
            is_hedged: false,
            checksums: Checksums::None,
        }
    }

    /// Sends requests that only read again if their answer is late: see [`hedge`].
    pub(crate) fn hedged(self, is_hedged: bool) -> Self {
        Self { is_hedged, ..self }
    }

    /// Adds checksums to uploads.
    pub(crate) fn with_checksums(self, checksums: Checksums) -> Self {
        Self { checksums, ..self }
    }

    /// Also trusts the authorities in a PEM file, if there is one.
    pub(crate) fn with_certificates(self, file: Option<String>) -> Self {
        let certificates = file.filter(|file| !file.is_empty()).map(PathBuf::from).or(self.certificates);
        Self { certificates, ..self }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let value = |key| options.get_config_value(&key);
        let allows_http = value(ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let default = ClientOptions::new().get_config_value(&ClientConfigKey::ConnectTimeout);
        // Only requests for credentials have a timeout other than the default.
        let is_near = value(ClientConfigKey::ConnectTimeout) != default;
        let connect = if is_near { CONNECT_NEAR } else { CONNECT };
        Ok(HttpClient::new(Client {
            connect,
            limits: self.limits,
            redirects: self.redirects,
            window: self.window,
            certificates: self.certificates.clone(),
            allows_http,
            has_answered: AtomicBool::new(false),
            hedge: self.is_hedged.then(Hedge::default),
            checksums: self.checksums,
            client: OnceLock::new(),
        }))
    }
}

/// A client that is created or found by the first request, because reading the certificates is slow.
#[derive(Debug)]
struct Client {
    connect: Duration,
    limits: TimeLimits,
    redirects: Redirects,
    window: Duration,
    certificates: Option<PathBuf>,
    allows_http: bool,
    /// Whether the server has answered before. If so, it exists, and a failed connection is worth more retries.
    has_answered: AtomicBool,
    hedge: Option<Hedge>,
    checksums: Checksums,
    client: OnceLock<Result<Ready, String>>,
}

/// A client with its connections. Its copies share them.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    client: reqwest::Client,
    /// Why certificates cannot be checked.
    without_roots: Option<String>,
}

impl Client {
    fn ready(&self) -> Result<&Ready, HttpError> {
        let shared = || {
            let settings = Settings::new(self.connect, self.allows_http, self.certificates.clone());
            network::client(settings, || self.make()).map_err(|error| error.to_string())
        };
        let made = self.client.get_or_init(shared);
        made.as_ref().map_err(|reason| other(HttpErrorKind::Unknown, reason.clone()))
    }

    fn make(&self) -> Result<Ready, zarr_spec::BoxError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()
        };
        let extra = self.certificates.as_deref().map_or_else(|| Ok(Vec::new()), certificates)?;
        let (tls, without_roots) = match Verifier::new_with_extra_roots(extra, Arc::clone(&provider)) {
            Ok(verifier) => {
                let tls = builder()?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
                (tls.with_no_client_auth(), None)
            }
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
            // `reqwest` would send the credentials headers of services, which it does not know, to other hosts.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("zarr-kit/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Ready { client, without_roots })
    }

    /// Sends one request and waits for the head of the response. Gives up early on a host that has never
    /// answered.
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        // Without this check `reqwest` would panic: some hosts are valid for only one of the two parsers.
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
        let size = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
        let time = self.limits.silence.saturating_add(self.limits.time_of(size));
        let mut attempt = 1;
        loop {
            let answer = timeout(time, HttpService::call(&ready.client, request.clone())).await;
            match answer.unwrap_or_else(|_| Err(self.limits.silent())) {
                Ok(answer) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) if error.kind() != HttpErrorKind::Connect => return Err(error),
                Err(error) if self.has_answered.load(Ordering::Relaxed) => return Err(error),
                Err(error) if attempt == retry::CONNECTIONS => {
                    return Err(HttpError::new(HttpErrorKind::Unknown, error));
                }
                Err(_) => sleep(Duration::from_millis(100) * attempt * attempt).await,
            }
            attempt += 1;
        }
    }

    /// Sends a request and follows its redirects.
    async fn send_to_the_end(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for _ in 0..=redirect::MAX_REDIRECTS {
            let answer = self.send(&request).await?;
            let Some(location) = redirect::target(&request, &answer) else { return Ok(answer) };
            request = redirect::follow(&request, location, self.redirects)
                .map_err(|reason| other(HttpErrorKind::Unknown, reason))?;
        }
        let reason = format!("the server redirects more than {} times", redirect::MAX_REDIRECTS);
        Err(other(HttpErrorKind::Unknown, reason))
    }

    /// Like [`Client::send_to_the_end`]. If the answer to a request that only reads takes unusually long, sends the request
    /// again, and returns the first answer of the two.
    async fn send_hedged(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let Some(hedge) = self.hedge.as_ref().filter(|_| is_read) else {
            return self.send_to_the_end(request).await;
        };
        let begun = Instant::now();
        let mut first = pin!(self.send_to_the_end(request.clone()));
        let answer = loop {
            match timeout(hedge.next_look(begun.elapsed()), first.as_mut()).await {
                Ok(answer) => break answer,
                Err(_) if hedge.takes_one_after(begun.elapsed()) => {
                    break match select(first, pin!(self.send_to_the_end(request))).await {
                        Either::Left((Err(_), second)) => second.await,
                        Either::Right((Err(_), first)) => first.await,
                        Either::Left((answer, _)) | Either::Right((answer, _)) => answer,
                    };
                }
                Err(_) => {}
            }
        };
        if answer.is_ok() {
            hedge.note(begun.elapsed());
        }
        answer
    }

    /// Waits before a failed request is repeated: for the time that the server requests, and for a random time, so that
    /// requests that failed together are not repeated together.
    ///
    /// # Errors
    ///
    /// If the wait exceeds the time in which failed requests are repeated.
    async fn wait_before_repetition(&self, answer: &HttpResponse) -> Result<(), HttpError> {
        if !retry::is_repeated(answer.status().as_u16()) {
            return Ok(());
        }
        let wait = retry::asked_wait(answer).unwrap_or_default();
        if wait > self.window {
            let status = answer.status().as_u16();
            let seconds = wait.as_secs();
            let reason = format!("the server answers {status} and asks for a pause of {seconds} seconds");
            return Err(other(HttpErrorKind::Unknown, reason));
        }
        sleep(wait + retry::random_wait()).await;
        Ok(())
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.checksums.add(&mut request).await;
        let seen = request.extensions().get::<Seen>().cloned().or_else(Seen::of_task);
        if let Some(seen) = &seen {
            seen.begin(&request);
        }
        let most = most(&request);
        let answer = self.send_hedged(request).await?;
        if let Some(seen) = seen {
            seen.note(&answer);
        }
        // `object_store` would repeat a request that the server will never understand.
        if answer.status().as_u16() == NOT_IMPLEMENTED {
            let reason = "the server answers 501: it does not implement this request";
            return Err(other(HttpErrorKind::Unknown, reason.to_owned()));
        }
        self.wait_before_repetition(&answer).await?;
        let most = if answer.status().is_success() { most } else { Most::Ignored(MESSAGE) };
        Ok(answer.map(|body| HttpResponseBody::new(TimedBody::new(body, self.limits, most))))
    }
}

/// Returns the limit of a response: only values are larger than a page of a listing or than credentials.
fn most(request: &HttpRequest) -> Most {
    let query = request.uri().query().unwrap_or_default();
    let is_document = ["list-type=", "comp=", "role_name="].iter().any(|name| query.contains(name));
    let is_value = *request.method() == Method::GET && !is_document;
    if is_value { Most::Any } else { Most::Refused(DOCUMENT) }
}

/// Reads the certificates of authorities in a PEM file.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, zarr_spec::BoxError> {
    let wrong = |reason: String| format!("the certificates in `{}`: {reason}", file.display());
    let mut text = Vec::new();
    let opened = File::open(file).map_err(|error| wrong(error.to_string()))?;
    opened.take(DOCUMENT).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found.map_err(|error| wrong(error.to_string()))? {
        found if found.is_empty() => Err(wrong("there is no certificate".to_owned()).into()),
        found => Ok(found),
    }
}

fn other(kind: HttpErrorKind, reason: String) -> HttpError {
    HttpError::new(kind, io::Error::other(reason))
}

/// An extension of a request that records details of the last response, which errors of `object_store` omit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Answer>>);

/// Details of a response in addition to its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// The HTTP status; 0 without a response.
    pub(crate) status: u16,
    /// The size of the whole value in bytes, if the requested range is outside of it.
    pub(crate) size: Option<u64>,
    /// The region of the bucket, according to S3.
    pub(crate) region: Option<String>,
    /// The difference between the clock of the server and the clock of this machine.
    pub(crate) skew: Option<Duration>,
    /// The number of requests that were sent, or tried to be sent.
    pub(crate) attempts: u32,
    /// The host and the port of the last request.
    pub(crate) host: Option<String>,
    /// Whether there are several requests, one after another. Attempts then count from the last success.
    is_sequence: bool,
}

tokio::task_local! {
    /// Records the responses to requests without such an extension: listings do not have options.
    static OF_TASK: Seen;
}

impl Seen {
    /// Creates a record for the requests of a listing, one after another.
    pub(crate) fn of_listing() -> Self {
        Self(Arc::new(Mutex::new(Answer { is_sequence: true, ..Answer::default() })))
    }

    fn of_task() -> Option<Self> {
        OF_TASK.try_with(Self::clone).ok()
    }

    /// Records the responses to all requests of `work` that do not have their own record.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        OF_TASK.scope(self.clone(), work).await
    }

    pub(crate) fn answer(&self) -> Answer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts an attempt.
    fn begin(&self, request: &HttpRequest) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_sequence && (200..300).contains(&noted.status) {
            *noted = Answer { is_sequence: true, ..Answer::default() };
        }
        noted.attempts += 1;
        noted.host = request.uri().authority().map(ToString::to_string);
    }

    fn note(&self, answer: &HttpResponse) {
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let size = header("content-range").and_then(|range| range.trim().strip_prefix("bytes */"));
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.status = answer.status().as_u16();
        noted.size = size.and_then(|size| size.parse().ok());
        noted.region = header("x-amz-bucket-region").map(str::to_owned);
        let now = SystemTime::now();
        let skew = |date: SystemTime| date.duration_since(now).unwrap_or_else(|error| error.duration());
        noted.skew = retry::date_of(answer).map(skew);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Instant;

    use object_store::aws::AmazonS3Builder;
    use object_store::http::HttpBuilder;
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, RetryConfig};
    use tokio::runtime::Builder;

    use super::*;

    /// Starts a server that sends `answer` to every request, and then one byte every `pause`, or nothing.
    fn server(answer: &'static str, pause: Option<Duration>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for connection in listener.incoming() {
                thread::spawn(move || serve(connection.unwrap(), answer, pause));
            }
        });
        url
    }

    fn serve(mut connection: TcpStream, answer: &str, pause: Option<Duration>) {
        let _request = connection.read(&mut [0; 4096]).unwrap();
        connection.write_all(answer.as_bytes()).unwrap();
        match pause {
            Some(pause) => {
                while connection.write_all(b"x").is_ok() {
                    thread::sleep(pause);
                }
            }
            None => thread::sleep(Duration::from_secs(60)),
        }
    }

    /// Returns the error of reading one value from `url` within these limits, with one retry.
    fn failure(url: String, limits: TimeLimits) -> String {
        let store = HttpBuilder::new()
            .with_url(url)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_retry(RetryConfig { max_retries: 1, ..RetryConfig::default() })
            .with_http_connector(Connector { limits, ..Connector::new(Redirects::Any, WINDOW) })
            .build()
            .unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime.block_on(async { store.get(&Path::from("v")).await?.bytes().await });
        let error = result.unwrap_err();
        format!("{error}: {:?}", std::error::Error::source(&error))
    }

    #[test]
    fn a_server_that_sends_nothing_is_an_error() {
        let limits = TimeLimits { silence: Duration::from_millis(300), ..TimeLimits::default() };
        for answer in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"] {
            let error = failure(server(answer, None), limits);
            assert!(error.contains("the server sent nothing for 0.3 seconds"), "{answer:?}: {error}");
        }
    }

    /// The server is never silent, because it sends a byte at a time, so only the throughput limit applies.
    #[test]
    fn a_server_that_sends_too_slowly_is_an_error() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
        let grace = Duration::from_millis(500);
        let limits = TimeLimits { grace, ..TimeLimits::default() };
        let error = failure(server(answer, Some(Duration::from_millis(20))), limits);
        assert!(error.contains("the server is too slow: "), "{error}");
        assert!(error.contains("at least 4096 bytes a second are expected"), "{error}");
    }

    /// The time of a slow caller does not count against the server.
    #[test]
    fn only_the_time_that_the_caller_waits_counts() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n";
        let short = Duration::from_millis(200);
        let limits = TimeLimits { silence: short, grace: short, ..TimeLimits::default() };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let bytes = runtime.block_on(async {
            let store = HttpBuilder::new()
                .with_url(server(answer, Some(Duration::from_millis(1))))
                .with_client_options(ClientOptions::new().with_allow_http(true))
                .with_http_connector(Connector { limits, ..Connector::new(Redirects::Any, WINDOW) })
                .build()
                .unwrap();
            let got = store.get(&Path::from("v")).await.unwrap();
            sleep(short * 3).await;
            got.bytes().await.unwrap()
        });
        assert_eq!(bytes, "xxx");
    }

    /// Answers each request with the result of `reply` for its head.
    fn answering(reply: impl Fn(&str) -> String + Send + 'static) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut head = [0; 8192];
                let size = connection.read(&mut head).unwrap();
                let reply = reply(str::from_utf8(&head[..size]).unwrap());
                connection.write_all(reply.as_bytes()).unwrap();
            }
        });
        port
    }

    /// `127.0.0.1` redirects to `localhost`, which is another host.
    #[test]
    fn a_redirect_to_another_host_carries_no_credentials_and_no_referer() {
        let other = answering(|head| {
            let names: Vec<_> =
                head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
            let body = names.join(" ").to_lowercase();
            let time = "Sun, 22 Nov 2026 12:00:00 GMT";
            let size = body.len();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {size}\r\netag: \"e\"\r\nlast-modified: {time}\r\n\r\n{body}"
            )
        });
        let first = answering(move |head| {
            let head = head.to_lowercase();
            assert!(head.contains("authorization: ") && head.contains("x-amz-security-token: "), "{head}");
            let location = format!("http://localhost:{other}/elsewhere");
            format!("HTTP/1.1 307 X\r\ncontent-length: 0\r\nlocation: {location}\r\n\r\n")
        });
        let store = AmazonS3Builder::new()
            .with_bucket_name("bucket")
            .with_endpoint(format!("http://127.0.0.1:{first}"))
            .with_allow_http(true)
            .with_access_key_id("id")
            .with_secret_access_key("secret")
            .with_token("token")
            .with_http_connector(Connector::new(Redirects::Any, WINDOW))
            .build()
            .unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(async { store.get(&Path::from("v")).await?.bytes().await }).unwrap();
        assert_eq!(seen, "accept user-agent host");
    }

    /// Answers each request with the number of its connection.
    fn counting_connections() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let mut connection = connection.unwrap();
                thread::spawn(move || {
                    while connection.read(&mut [0; 4096]).is_ok_and(|size| size > 0) {
                        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                        connection.write_all(answer.as_bytes()).unwrap();
                    }
                });
            }
        });
        url
    }

    /// Reads a value from a new store.
    fn value_at(url: &str, certificates: Option<&std::path::Path>) -> String {
        let file = certificates.map(|file| file.to_str().unwrap().to_owned());
        let store = HttpBuilder::new()
            .with_url(url)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_http_connector(Connector::new(Redirects::Any, WINDOW).with_certificates(file))
            .build()
            .unwrap();
        let store = crate::RemoteStore::new(Arc::new(store), url, "").unwrap();
        let key = zarr_spec::Key::new("key").unwrap();
        let value = zarr_spec::store::get_value(&store, &key, 10).unwrap().unwrap();
        String::from_utf8(value.to_vec()).unwrap()
    }

    /// A connection is free again shortly after the last byte of an answer, so that the next request may need another one.
    #[test]
    fn stores_of_a_process_share_their_connections() {
        let url = counting_connections();
        let used: BTreeSet<_> = (0..20).map(|_| value_at(&url, None)).collect();
        assert!(used.len() < 10, "{used:?}");
    }

    #[test]
    fn stores_with_other_certificates_share_no_connections() {
        let url = counting_connections();
        let before = value_at(&url, None);
        let authority =
            zarr_loopback::Server::start(zarr_loopback::Options::in_memory().encrypted()).unwrap();
        let file = std::env::temp_dir().join(format!("zarr-kit-certificates-{}.pem", std::process::id()));
        std::fs::write(&file, authority.certificate().unwrap()).unwrap();
        assert_ne!(value_at(&url, Some(&file)), before);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn the_allowed_time_grows_with_the_received_bytes() {
        let limits = TimeLimits::default();
        assert_eq!(limits.time_of(0), Duration::ZERO);
        assert_eq!(limits.time_of(1 << 20), Duration::from_secs(256));
        assert_eq!(TimeLimits { throughput: 0, ..limits }.time_of(5), Duration::from_secs(5));
    }

    #[test]
    fn retries_of_an_unknown_host_end_before_the_window() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let begun = Instant::now();
        let error = failure(format!("http://127.0.0.1:{port}"), TimeLimits::default());
        assert!(error.contains("efused"), "{error}");
        assert!(begun.elapsed() < retry::WINDOW, "{:?}", begun.elapsed());
    }
}
