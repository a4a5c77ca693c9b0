//! A simulated remote store on this machine: serves a folder with a subset of S3, waits before each answer, and counts
//! requests.
//!
//! URLs are in path style, and signatures are ignored. [`BUCKET`] is the only bucket; a key is the path of a file.
//! Multipart uploads and copies are answered with 501.
//!
//! Source: "Amazon S3 API Reference"; RFC 9110 and 9112 for HTTP.

mod bucket;
mod date;
mod http;
mod listing;

use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;

/// The name of the only bucket.
pub const BUCKET: &str = "bench";

/// The traffic of a store since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The number of requests.
    pub requests: u64,
    /// The largest number of requests that waited at the same time.
    pub most_at_once: u64,
    /// The total size of the bodies of requests and answers, in bytes.
    pub bytes: u64,
}

/// A store that answers until the process ends.
#[derive(Debug)]
pub struct FarStore {
    endpoint: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    wait: Duration,
    requests: AtomicU64,
    waiting: AtomicU64,
    most_at_once: AtomicU64,
    bytes: AtomicU64,
}

impl FarStore {
    /// Serves `folder` at a free port, and waits before each answer.
    ///
    /// # Errors
    ///
    /// If no port is free.
    pub fn start(folder: &Path, wait: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            wait,
            requests: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            most_at_once: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let clients = Arc::clone(&shared);
        thread::Builder::new().name("far store".to_owned()).spawn(move || accept(&listener, &clients))?;
        Ok(Self { endpoint, shared })
    }

    /// Returns the URL of the store.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the traffic since the last call.
    #[must_use]
    pub fn take_traffic(&self) -> Traffic {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        Traffic {
            requests: take(&self.shared.requests),
            most_at_once: take(&self.shared.most_at_once),
            bytes: take(&self.shared.bytes),
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                eprintln!("far store: {error}");
                // The process has too many connections; some may have ended after the wait.
                thread::sleep(shared.wait);
                continue;
            }
        };
        let shared = Arc::clone(shared);
        // One thread for each connection; most of them sleep. If a thread cannot be started, its connection is closed.
        let started = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            // The only possible error is a client that disconnects.
            let _ended = converse(&client, &shared);
        });
        if let Err(error) = started {
            eprintln!("far store: {error}");
        }
    }
}

fn converse(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 << 10, client);
    loop {
        let request = match http::Request::read(&mut reader) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return bucket::malformed(&error).write(client, false);
            }
            Err(error) => return Err(error),
        };
        shared.wait_for(&request);
        let is_head = request.method == "HEAD";
        let answer = bucket::answer(&shared.folder, &request);
        shared.bytes.fetch_add(if is_head { 0 } else { answer.length() }, Ordering::Relaxed);
        answer.write(client, is_head)?;
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return Ok(());
        }
    }
}

impl Shared {
    /// Counts a request and waits. The request stops counting as waiting before the answer begins, because a client may
    /// send its next request before this thread continues.
    fn wait_for(&self, request: &http::Request) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(request.body.len() as u64, Ordering::Relaxed);
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(waiting, Ordering::Relaxed);
        thread::sleep(self.wait);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
