//! A far store on this machine: a subset of S3 over a folder, that waits before each answer and counts.
//!
//! Path style and without signatures: whatever a client signs is not looked at. The one bucket is [`BUCKET`]; a key is
//! the path of a file. Uploads in parts and copies are answered with 501.
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

/// What a store was asked since it was last asked for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Requests of any kind.
    pub requests: u64,
    /// The most that waited for their answers at the same time.
    pub most_at_once: u64,
    /// Bytes of all bodies, of requests and of answers.
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
    /// Serves what is in `folder`, at a port that is free, and waits before each answer.
    ///
    /// # Errors
    ///
    /// If there is no port.
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

    /// The URL that clients are told.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// What there was since the last call.
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
                // There are too many, and there will be room when some have gone.
                thread::sleep(shared.wait);
                continue;
            }
        };
        let shared = Arc::clone(shared);
        // As many threads as there are connections: most of them sleep. One that cannot be had closes its connection.
        let started = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            // A client that goes away ends its connection, and that is all that can go wrong here.
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
    /// Counts a request and waits as long as a far store would. What is counted as waiting ends before the answer begins:
    /// a client that has its answer may ask for the next thing before this thread goes on.
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
