//! An object store on this machine for tests and measurements: serves S3, with delays, limited bandwidth and faults,
//! and counts requests.
//!
//! Conditions (`If-Match`, `If-None-Match`, `x-goog-if-generation-match`) are checked and applied in one step, under a
//! lock. A bucket is in memory, or is a folder whose files are the objects. Multipart uploads, pages of listings,
//! ranges, checksums, copies and batches of deletions work as in S3. URLs are in path style, and signatures are not
//! checked. Listings of version 1 and versions of objects are answered with 501.
//!
//! Answers also have the generation of an object, as Google Cloud Storage returns it in its API for S3 clients.
//!
//! Source: "Amazon S3 API Reference" and "Amazon S3 User Guide"; "XML API" of Cloud Storage for generations; RFC 9110
//! and 9112 for HTTP.

mod batch;
mod bucket;
mod checksums;
mod date;
mod fault;
mod http;
mod listing;
mod objects;
mod options;
mod pace;
mod rounds;
mod tls;
mod uploads;
mod xml;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::Serialize;

pub use fault::Fault;
pub use http::Request;
pub use options::Options;
pub use rounds::IN_FLIGHT;

use bucket::Bucket;
use pace::Pace;
use rounds::Rounds;
use tls::Tls;

/// The name of the only bucket.
pub const BUCKET: &str = "bench";

/// The traffic of a server since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The number of requests.
    pub requests: u64,
    /// The largest number of requests that waited at the same time.
    pub most_at_once: u64,
    /// The number of consecutive round trips; 0 unless [`Options::gathering`] was called.
    pub round_trips: u64,
    /// The total size of the bodies of requests and answers, in bytes.
    pub bytes: u64,
}

/// A server that runs until it is dropped, or until the process ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    endpoint: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bucket: Bucket,
    pace: Pace,
    rounds: Rounds,
    /// The certificate, if connections are encrypted.
    tls: Option<Tls>,
    options: Options,
    is_over: AtomicBool,
    requests: AtomicU64,
    waiting: AtomicU64,
    most_at_once: AtomicU64,
    bytes: AtomicU64,
    log: Mutex<Vec<Request>>,
}

impl Server {
    /// Starts a server at a free port.
    ///
    /// # Errors
    ///
    /// If no port is free, or no certificate can be made.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let endpoint = format!("{}://{address}", if options.is_encrypted { "https" } else { "http" });
        let shared = Arc::new(Shared {
            bucket: Bucket::new(&options),
            pace: Pace::new(&options),
            rounds: Rounds::new(options.pause),
            tls: options.is_encrypted.then(Tls::new).transpose()?,
            options,
            is_over: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            most_at_once: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            log: Mutex::default(),
        });
        let clients = Arc::clone(&shared);
        thread::Builder::new().name("loopback".to_owned()).spawn(move || accept(&listener, &clients))?;
        Ok(Self { address, endpoint, shared })
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the certificate of the server in PEM, if its connections are encrypted.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.shared.tls.as_ref().map(|tls| &*tls.certificate)
    }

    /// Returns the traffic since the last call.
    #[must_use]
    pub fn take_traffic(&self) -> Traffic {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        Traffic {
            requests: take(&self.shared.requests),
            most_at_once: take(&self.shared.most_at_once),
            round_trips: self.shared.rounds.take(),
            bytes: take(&self.shared.bytes),
        }
    }

    /// Returns the requests since the last call, without their bodies; empty unless [`Options::logged`] was called.
    #[must_use]
    pub fn take_log(&self) -> Vec<Request> {
        std::mem::take(&mut *self.shared.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores a value without a request.
    ///
    /// # Errors
    ///
    /// If the bucket is a folder that cannot be written, or if the key is not a valid file name.
    pub fn put(&self, key: &str, value: impl Into<Vec<u8>>) -> io::Result<()> {
        self.shared.bucket.put(key, value.into())
    }

    /// Returns all keys and values.
    ///
    /// # Errors
    ///
    /// If the bucket is a folder that cannot be read.
    pub fn values(&self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        self.shared.bucket.values()
    }
}

/// Wakes the thread that accepts connections, so that the thread ends.
impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _woken = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                eprintln!("loopback: {error}");
                // The process has too many connections; some may have ended after the wait.
                thread::sleep(shared.options.delay);
                continue;
            }
        };
        let shared = Arc::clone(shared);
        // One thread for each connection; most of them sleep. If a thread cannot be started, its connection is closed.
        let started = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            // The only possible errors are clients that disconnect, or that do not accept the certificate.
            let _ended = serve(client, &shared);
        });
        if let Err(error) = started {
            eprintln!("loopback: {error}");
        }
    }
}

fn serve(client: TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    match &shared.tls {
        Some(tls) => converse(tls.accept(client)?, shared),
        None => converse(&client, shared),
    }
}

fn converse<S: Read + Write>(client: S, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 << 10, client);
    loop {
        let request = match Request::read(&mut reader) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return xml::malformed(&error).write(reader.get_mut(), false, &shared.pace);
            }
            Err(error) => return Err(error),
        };
        if shared.options.is_logged {
            let head = request.without_body();
            shared.log.lock().unwrap_or_else(PoisonError::into_inner).push(head);
        }
        shared.wait_for(&request);
        let fault = shared.options.fault_of(&request);
        let Some(answer) = shared.answer(&request, fault) else { return Ok(()) };
        let is_head = request.method == "HEAD";
        shared.bytes.fetch_add(if is_head { 0 } else { answer.length() }, Ordering::Relaxed);
        if let Some(Fault::Cut(size)) = fault {
            return answer.write_beginning(reader.get_mut(), size);
        }
        answer.write(reader.get_mut(), is_head, &shared.pace)?;
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return Ok(());
        }
    }
}

impl Shared {
    /// Counts a request and waits. The request stops counting as waiting before the answer begins, because a client may
    /// send its next request before this thread continues.
    fn wait_for(&self, request: &Request) {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(request.body.len() as u64, Ordering::Relaxed);
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(waiting, Ordering::Relaxed);
        self.pace.transfer(request.body.len() as u64);
        thread::sleep(self.pace.delay(number));
        self.rounds.wait();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the answer to a request; `None` means that the connection is closed without an answer.
    fn answer(&self, request: &Request, fault: Option<Fault>) -> Option<http::Answer> {
        match fault {
            None | Some(Fault::Cut(_)) => Some(self.bucket.answer(request)),
            Some(Fault::Refuse(status)) => Some(xml::refusal(status)),
            Some(Fault::Close) => None,
            Some(Fault::ApplyAndRefuse(status)) => {
                let _lost = self.bucket.answer(request);
                Some(xml::refusal(status))
            }
            Some(Fault::ApplyAndClose) => {
                let _lost = self.bucket.answer(request);
                None
            }
            Some(Fault::Reply(body)) => Some(xml::document(200, body)),
            Some(Fault::WholeValue) => Some(self.bucket.answer(&request.without("range"))),
        }
    }
}
