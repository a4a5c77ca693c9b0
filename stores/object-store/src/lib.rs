//! Remote stores: `s3` (Amazon S3), `gs` (Google Cloud Storage), `az` (Azure Blob Storage), and `http` for read-only
//! access to any HTTP server.
//!
//! A value is an object whose name is the prefix of the store followed by the key, unchanged. Opening a store does not
//! send a request.
//!
//! **Threads.** Two threads of the store send the requests, and callers block, so the methods work inside and outside
//! of an asynchronous runtime. Inside a runtime, call them from `spawn_blocking`. [`Store::get`] sends one request and
//! waits; [`Store::get_many`] has up to 64 requests in flight.
//!
//! **Failures.** Failed requests (a broken connection, `5xx`, `408`, `429`) are repeated for half a minute
//! (`retry-seconds`), with growing random waits, or with the wait of the server's `Retry-After`. A server fails if it
//! sends nothing for 20 seconds, or less than 4 KiB per second for half a minute. At most five redirects are followed,
//! never from https to http; another host does not receive credentials.
//!
//! **Conditions.** A server is asked once per endpoint and bucket whether it refuses writes whose condition does not
//! hold. If not, [`Store::set_if`] is not supported. The same holds for deletions and [`Store::erase_if`].
//!
//! **Speed.** The store measures the time until a response begins and the rate at which its bytes arrive. From these,
//! [`Store::read_hints`] determines which values an engine requests whole.
//!
//! **Large values** are uploaded in parts, which become visible together.
//!
//! **Credentials** come only from the environment, and for S3 also from the files in `~/.aws` and the services and programs
//! that these name. A program may provide others with [`open_with_credentials`]. Plain HTTP servers can be read, but not
//! listed or written.
//!
//! Opened as `s3://bucket/prefix`, `gs://…`, `az://…`, `abfs://…`, `https://…`, or as
//! `{"type": "s3", "url": "s3://bucket/prefix", "anonymous": true, "region": "eu-west-1"}`.
//!
//! Source: the crate `object_store` for the services; RFC 9110 for ranges.

mod batch;
mod body;
mod budget;
mod client;
mod conditions;
mod configuration;
mod credentials;
mod deletions;
mod failure;
mod fetch;
mod listing;
mod network;
mod place;
mod profile;
mod runtime;
mod speed;
mod upload;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
pub use object_store;
use object_store::ObjectStore;
use tokio::sync::OnceCell;
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload, ReadHints,
    Request, Responses, Store, StoreError, StorePlugin, StoreResult, Version,
};
use zarr_spec::{BoxError, ByteRange, Example, Key, Output, Prefix};

use client::WINDOW;
use configuration::{AzConfiguration, GsConfiguration, HttpConfiguration, S3Configuration, open};
use deletions::Deletions;
use fetch::Part;
use listing::Listing;
use place::StoreLocation;
use runtime::Runtime;
use speed::Speed;
use versions::Versions;

pub use credentials::{Credential, Credentials, open_with_credentials};

zarr_spec::register!(
    StorePlugin::new("s3", &["s3", "s3a"], &|url: &str| open("s3", url))
        .configuration::<S3Configuration>()
        .about("Stores values in a bucket of Amazon S3 or of a compatible server.", S3_EXAMPLES)
);

zarr_spec::register!(
    StorePlugin::new("gs", &["gs", "gcs"], &|url: &str| open("gs", url))
        .configuration::<GsConfiguration>()
        .about("Stores values in a bucket of Google Cloud Storage.", GS_EXAMPLES)
);

zarr_spec::register!(
    StorePlugin::new("az", &["az", "azure", "abfs", "abfss"], &|url: &str| open("az", url))
        .configuration::<AzConfiguration>()
        .about("Stores values in a container of Azure Blob Storage.", AZ_EXAMPLES)
);

zarr_spec::register!(
    StorePlugin::new("http", &["http", "https"], &|url: &str| open("http", url))
        .configuration::<HttpConfiguration>()
        .about("Reads values from an HTTP server.", HTTP_EXAMPLES)
);

const S3_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"type": "s3", "url": "s3://bucket/data.zarr"}"#),
    Example::v3(
        r#"{"type": "s3", "url": "s3://bucket/data.zarr", "anonymous": true, "region": "eu-west-1"}"#,
    ),
    Example::v3(r#"{"type": "s3", "url": "s3://bucket/data.zarr", "endpoint": "http://127.0.0.1:9000"}"#),
];

const GS_EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "gs", "url": "gs://bucket/data.zarr", "anonymous": true}"#)];

const AZ_EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"type": "az", "url": "az://container/data.zarr", "account": "account", "anonymous": true}"#,
    ),
    Example::v3(
        r#"{"type": "az", "url": "abfs://container@account.dfs.core.windows.net/data.zarr",
            "anonymous": true}"#,
    ),
];

const HTTP_EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "http", "url": "https://example.org/data.zarr"}"#)];

/// Maximum number of concurrent requests. Small values need many: at a latency of 30 ms, 128 requests make 4,000 per
/// second, and S3 serves 5,500 of a prefix.
const CONCURRENCY: usize = 128;

/// Bytes that arrive in the time of one round trip: 20 ms at 100 Mbit/s.
const COALESCE_GAP: u64 = 256 << 10;

/// The capabilities of a store that can be written. Conditional deletions also need [`Deletions`].
const WRITEABLE: Capabilities = Capabilities::ALL_AND_CONDITIONAL;

/// A store on a remote server.
#[derive(Debug)]
pub struct RemoteStore {
    shared: Arc<Shared>,
    runtime: Runtime,
    capabilities: Capabilities,
}

/// The part of a store that its tasks share.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn ObjectStore>,
    place: StoreLocation,
    /// The ranges that the server supports: see [`fetch`].
    ranges: AtomicU8,
    /// Whether the store has found a value before, so that the bucket exists.
    exists: AtomicBool,
    versions: Versions,
    speed: Speed,
    /// The time during which failed requests are repeated.
    window: Duration,
    /// Whether the server applies conditions, once that is known: see [`conditions`].
    applies_conditions: Arc<OnceCell<bool>>,
    /// Sends conditional deletions, if the service may have them.
    deletions: Option<Deletions>,
}

impl RemoteStore {
    /// Creates a store of the objects in `store` below `prefix`, which may be empty. `location` is the URL in
    /// messages and ends with the prefix.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] if `prefix` is not a valid prefix of keys.
    pub fn new(store: Arc<dyn ObjectStore>, location: impl Into<String>, prefix: &str) -> StoreResult<Self> {
        let place = StoreLocation::new(location.into(), prefix)?;
        Ok(Self::at(Shared::new(store, place, Versions::Tags), WRITEABLE))
    }

    fn at(shared: Shared, capabilities: Capabilities) -> Self {
        Self { shared: Arc::new(shared), runtime: Runtime::default(), capabilities }
    }

    fn require(&self, is_supported: bool, quality: &'static str) -> StoreResult<()> {
        if is_supported { Ok(()) } else { Err(StoreError::not_supported(self, quality)) }
    }

    /// Runs the future of `ask` on the store's threads and waits for its result.
    fn wait<T: Send + 'static, F>(
        &self,
        operation: &'static str,
        ask: impl FnOnce(Arc<Shared>) -> F,
    ) -> StoreResult<T>
    where
        F: Future<Output = StoreResult<T>> + Send + 'static,
    {
        let ended = |source: BoxError| StoreError::io(operation, self.location(), source);
        self.runtime.wait(ask(Arc::clone(&self.shared))).map_err(ended)?
    }
}

impl Shared {
    fn new(store: Arc<dyn ObjectStore>, place: StoreLocation, versions: Versions) -> Self {
        Self {
            store,
            place,
            ranges: AtomicU8::new(fetch::ALL),
            exists: AtomicBool::new(false),
            versions,
            speed: Speed::default(),
            window: WINDOW,
            applies_conditions: Arc::default(),
            deletions: None,
        }
    }
}

impl Store for RemoteStore {
    fn location(&self) -> String {
        self.shared.place.location().to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let can = match self.shared.applies_conditions.get() {
            Some(false) => self.capabilities.unconditional(),
            _ => self.capabilities,
        };
        match &self.shared.deletions {
            Some(deletions) if deletions.applies.get() != Some(&false) => can,
            _ => can.without_conditional_erase(),
        }
    }

    fn read_hints(&self) -> ReadHints {
        let measured = self.shared.speed.bytes_per_round_trip();
        ReadHints::new(CONCURRENCY, COALESCE_GAP).with_bytes_per_round_trip(measured)
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let part = Part { key: key.clone(), range: options.range, limit: to.remaining(), budget: None };
        let fetched = self.wait("reading", |shared| async move { shared.fetch(&part).await })?;
        Ok(fetched.map(GetResult::from))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        Box::new(batch::Batch::new(self, requests, budget))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.require(self.capabilities.writeable, "not writeable")?;
        let key = key.clone();
        let value = value.into_bytes();
        self.wait("writing", |shared| async move { shared.set(&key, value).await })
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        self.require(self.capabilities.conditional_set, "not conditional")?;
        let key = key.clone();
        let value = value.into_bytes();
        let condition = condition.clone();
        self.wait("writing", |shared| async move { shared.set_if(&key, value, &condition).await })
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        self.require(self.capabilities.writeable, "not writeable")?;
        zarr_spec::store::rewrite_values(self, values)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.erase_values(std::slice::from_ref(key))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        self.require(self.capabilities.conditional_erase, "not conditional")?;
        let key = key.clone();
        let version = version.clone();
        self.wait("erasing", |shared| async move { shared.erase_if(&key, &version).await })
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        self.require(self.capabilities.erasable, "not erasable")?;
        if keys.is_empty() {
            return Ok(());
        }
        let keys = keys.to_vec();
        self.wait("erasing", |shared| async move {
            let paths = keys.iter().map(|key| shared.place.of_key(key)).collect::<Result<Vec<_>, _>>()?;
            let at = || match keys.as_slice() {
                [key] => shared.place.url_of(key.as_str()),
                _ => shared.place.location().to_owned(),
            };
            shared.erase(stream::iter(paths.into_iter().map(Ok)).boxed(), at).await
        })
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        self.require(self.capabilities.erasable, "not erasable")?;
        let prefix = prefix.clone();
        self.wait("erasing", |shared| async move {
            let below = shared.place.of_prefix(&prefix)?;
            let listed = shared.store.list(below.as_ref()).map_ok(|object| object.location).boxed();
            shared.erase(listed, || shared.place.url_of(prefix.as_str())).await
        })
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        self.require(self.capabilities.listable, "not listable")?;
        Ok(Box::new(Listing::begin(self, prefix)?))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        self.require(self.capabilities.listable, "not listable")?;
        let prefix = prefix.clone();
        self.wait("listing", |shared| async move { shared.directory(&prefix).await })
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        let part = Part { key: key.clone(), range: ByteRange::Last(0), limit: 0, budget: None };
        let fetched = self.wait("reading", |shared| async move { shared.fetch(&part).await })?;
        Ok(fetched.map(|fetched| fetched.size))
    }
}
