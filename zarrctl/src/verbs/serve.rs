//! `serve`: a read-only HTTP server for one store.
//!
//! Each value is at its key. `GET` and `HEAD` support one byte range, `If-Match`, `If-None-Match` and `If-Range`; the
//! entity tag is the version of the value, if the store has versions. Nothing is listed.
//!
//! Source: RFC 9110 and 9112 for HTTP, the Fetch standard for access from web pages.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zarr_kit::spec::store::Store;

use crate::arguments::Serve;
use crate::failure::Failure;
use crate::opening;
use crate::printer;

mod answer;
mod request;
mod value;

use answer::Answer;
use request::Received;

/// The number of clients that are connected at the same time. Further clients get status 503, so that they try again
/// later.
const MAX_CLIENTS: usize = 128;

/// The time after which an idle or slow client is disconnected.
const PATIENCE: Duration = Duration::from_secs(60);

/// The limits for reading the rest of a refused request: a time, and a number of bytes.
const REST: (Duration, usize) = (Duration::from_secs(2), 1 << 20);

/// The delay after a connection could not be accepted, usually because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// A store and its clients.
struct Server {
    store: Arc<dyn Store>,
    /// The origin of the web pages that may read the values.
    origin: String,
    clients: AtomicUsize,
}

pub(crate) fn run(arguments: &Serve) -> Result<(), Failure> {
    if !arguments.origin.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(
            "the origin is not a URL; expected one such as `https://example.org`".into(),
        ));
    }
    let store = opening::open_plain(&arguments.store)?;
    let address = SocketAddr::new(arguments.address, arguments.port);
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::fault(format!("cannot listen at {address}: {error}; choose another --port"))
    })?;
    let mut out = io::stdout();
    writeln!(out, "http://{}/", listener.local_addr()?)?;
    out.flush()?;
    let server = Server { store, origin: arguments.origin.clone(), clients: AtomicUsize::new(0) };
    accept(&listener, &Arc::new(server));
    Ok(())
}

/// Serves clients, each on its own thread, until the process ends.
fn accept(listener: &TcpListener, server: &Arc<Server>) {
    for client in listener.incoming() {
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                printer::note(&format!("a client could not connect: {error}"));
                thread::sleep(PAUSE);
                continue;
            }
        };
        let server = Arc::clone(server);
        server.clients.fetch_add(1, Ordering::Relaxed);
        // A client whose thread cannot start is disconnected.
        let started = thread::Builder::new().name("client".to_owned()).spawn({
            let server = Arc::clone(&server);
            move || {
                let _disconnected = server.serve(&client).and_then(|()| disconnect(&client));
                server.clients.fetch_sub(1, Ordering::Relaxed);
            }
        });
        if let Err(error) = started {
            server.clients.fetch_sub(1, Ordering::Relaxed);
            printer::note(&format!("a client was disconnected: {error}"));
        }
    }
}

impl Server {
    /// Answers the requests of one client until it disconnects.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        client.set_nodelay(true)?;
        if self.clients.load(Ordering::Relaxed) > MAX_CLIENTS {
            return Answer::new(503).header("Retry-After", "1").closing().send(client, &self.origin);
        }
        let mut input = request::Input::new(client);
        loop {
            let request = match input.receive()? {
                Received::Request(request) => request,
                Received::Refused(status) => {
                    return Answer::new(status).closing().send(client, &self.origin);
                }
                Received::End => return Ok(()),
            };
            value::answer(self, &request, client)?;
            if request.closes {
                return Ok(());
            }
        }
    }
}

/// Ends a connection. The rest of a request that was not read is read first, within limits: it would otherwise reset
/// the connection, and the client might lose the answer.
fn disconnect(mut client: &TcpStream) -> io::Result<()> {
    client.shutdown(Shutdown::Write)?;
    let (time, mut bytes) = REST;
    let end = Instant::now() + time;
    let mut part = [0; 4096];
    while bytes > 0 {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut part)? {
            0 => break,
            count => bytes = bytes.saturating_sub(count),
        }
    }
    Ok(())
}
