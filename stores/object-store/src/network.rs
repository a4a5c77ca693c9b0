//! The threads and the connections that all stores of a process share.
//!
//! Opening a store is thus cheap: the certificates of the system are read once, and the connections to a host, which
//! cost round trips, remain usable after a store is dropped.

use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, SystemTime};
use std::{env, process};

use zarr_spec::BoxError;

use crate::client::Ready;
use crate::runtime::Threads;

/// The maximum number of clients. Programs rarely have more than one, since clients differ only by certificates, proxies
/// and time limits.
const CLIENTS: usize = 16;

/// The variables that a client reads when it is created: the certificates and the proxies.
const VARIABLES: [&str; 11] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "REQUEST_METHOD",
];

/// Everything that a client depends on. Stores with equal settings share a client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Settings {
    connect: Duration,
    allows_http: bool,
    certificates: Option<PathBuf>,
    variables: Vec<Option<std::ffi::OsString>>,
    /// The times of the last changes of the files with certificates.
    changed: Vec<Option<SystemTime>>,
}

impl Settings {
    pub(crate) fn new(connect: Duration, allows_http: bool, certificates: Option<PathBuf>) -> Self {
        let variables: Vec<_> = VARIABLES.iter().map(env::var_os).collect();
        let files = certificates.clone().into_iter().chain(env::var_os("SSL_CERT_FILE").map(PathBuf::from));
        let changed = files.map(|file| fs::metadata(file).and_then(|found| found.modified()).ok()).collect();
        Self { connect, allows_http, certificates, variables, changed }
    }
}

/// The threads and the clients that the stores of a process share.
struct Network {
    process: u32,
    threads: Option<Arc<Threads>>,
    clients: BTreeMap<Settings, Ready>,
}

static NETWORK: Mutex<Option<Network>> = Mutex::new(None);

/// Returns the threads that all stores share. The first call starts them.
///
/// # Errors
///
/// If the system cannot start more threads.
pub(crate) fn threads() -> Result<Arc<Threads>, BoxError> {
    let Some(mut network) = lock() else { return Ok(Arc::new(Threads::start()?)) };
    let threads = &mut of_this_process(&mut network).threads;
    if let Some(threads) = threads {
        return Ok(Arc::clone(threads));
    }
    let started = Arc::new(Threads::start()?);
    *threads = Some(Arc::clone(&started));
    Ok(started)
}

/// Returns the client for these settings. `make` creates it for the first store.
///
/// # Errors
///
/// Those of `make`.
pub(crate) fn client(
    settings: Settings,
    make: impl FnOnce() -> Result<Ready, BoxError>,
) -> Result<Ready, BoxError> {
    let found = lock().and_then(|mut network| of_this_process(&mut network).clients.get(&settings).cloned());
    if let Some(found) = found {
        return Ok(found);
    }
    // Other stores do not wait while this one reads the certificates.
    let made = make()?;
    let Some(mut network) = lock() else { return Ok(made) };
    let clients = &mut of_this_process(&mut network).clients;
    if clients.len() >= CLIENTS {
        clients.clear();
    }
    Ok(clients.entry(settings).or_insert(made).clone())
}

/// Returns `None` while another thread holds the lock: the store then gets threads and connections that it does not share.
/// A process that was forked while the lock was held can never take it.
fn lock() -> Option<MutexGuard<'static, Option<Network>>> {
    match NETWORK.try_lock() {
        Ok(network) => Some(network),
        Err(TryLockError::Poisoned(network)) => Some(network.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns what the stores of this process share. The threads of a process do not exist in a process that was forked from
/// it.
fn of_this_process(network: &mut Option<Network>) -> &mut Network {
    let process = process::id();
    if network.as_ref().is_some_and(|network| network.process != process) {
        // Dropping the threads of another process could wait for them.
        mem::forget(network.take());
    }
    network.get_or_insert_with(|| Network { process, threads: None, clients: BTreeMap::new() })
}
