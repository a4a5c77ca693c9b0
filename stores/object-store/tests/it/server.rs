//! Small servers on threads, with arbitrary responses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::Duration;

/// A request that a server received.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Asked {
    /// Returns the unescaped path.
    pub(crate) fn path(&self) -> String {
        unescaped(self.target.split('?').next().unwrap())
    }

    pub(crate) fn range(&self) -> Option<&str> {
        self.headers.get("range").map(String::as_str)
    }
}

/// A response that a server sends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The number of bytes of the body after which the connection is closed.
    pub(crate) cut: Option<usize>,
    /// How long to wait before the response.
    pub(crate) wait: Duration,
    /// Whether to send chunks after the headers until the connection is closed.
    pub(crate) endless: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Creates an error document of S3.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        Self::new(
            status,
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>so {code}</Message></Error>"),
        )
    }
}

pub(crate) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let most = Arc::new(AtomicUsize::new(0));
        let now = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let server = Self {
            port,
            asked: Arc::clone(&asked),
            now: Arc::clone(&now),
            most: Arc::clone(&most),
            is_over: Arc::clone(&is_over),
        };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let asked = Arc::clone(&asked);
                let most = Arc::clone(&most);
                let now = Arc::clone(&now);
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream.unwrap());
                    while let Some(request) = read(&mut stream) {
                        let count = now.fetch_add(1, Ordering::Relaxed) + 1;
                        most.fetch_max(count, Ordering::Relaxed);
                        asked.lock().unwrap().push(request.clone());
                        let reply = answer(&request);
                        sleep(reply.wait);
                        let goes_on = write(stream.get_mut(), &request, &reply);
                        now.fetch_sub(1, Ordering::Relaxed);
                        if !goes_on {
                            break;
                        }
                    }
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the requests since the last call: method, target, range.
    pub(crate) fn take(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let line = |one: &Asked| format!("{} {} {}", one.method, one.target, one.range().unwrap_or_default());
        asked.iter().map(|one| line(one).trim_end().to_owned()).collect()
    }

    /// Returns the number of requests whose response is not completely written.
    pub(crate) fn unanswered(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of concurrent requests.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|size| *size > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let method = words.next()?.to_owned();
    let target = words.next()?.to_owned();
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let size = headers.get("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
    let mut body = vec![0; size];
    stream.read_exact(&mut body).ok()?;
    Some(Asked { method, target, headers })
}

/// Writes a response. Returns whether the connection stays open.
fn write(stream: &mut TcpStream, request: &Asked, reply: &Reply) -> bool {
    let mut head = format!("HTTP/1.1 {} X\r\n", reply.status);
    if !reply.endless && reply.headers.iter().all(|(name, _)| *name != "content-length") {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let body = if request.method == "HEAD" { &[][..] } else { &reply.body };
    // Written in one call: otherwise the second part waits for the acknowledgement of the first.
    let whole = [head.as_bytes(), &body[..reply.cut.unwrap_or(body.len()).min(body.len())]].concat();
    let mut is_open = stream.write_all(&whole).is_ok() && reply.cut.is_none();
    while reply.endless && is_open {
        is_open = stream.write_all(b"10\r\n0123456789abcdef\r\n").is_ok();
    }
    is_open
}

/// Returns the response to a request for `value`, or for a range of it.
pub(crate) fn value(request: &Asked, value: &[u8]) -> Reply {
    let tag = format!(
        "\"{:x}-{}\"",
        value.iter().fold(7u64, |hash, byte| hash.wrapping_mul(31) + u64::from(*byte)),
        value.len()
    );
    let whole = value.len();
    let Some(range) = request.range() else { return Reply::new(200, value).with("etag", tag) };
    let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (start, end) = match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(last)) => (start, (last + 1).min(whole)),
        (Ok(start), Err(_)) => (start, whole),
        (Err(_), Ok(last)) => (whole.saturating_sub(last), whole),
        (Err(_), Err(_)) => panic!("{range}"),
    };
    if start >= whole {
        return Reply::error(416, "InvalidRange").with("content-range", format!("bytes */{whole}"));
    }
    let range = format!("bytes {start}-{}/{whole}", end - 1);
    Reply::new(206, &value[start..end]).with("etag", tag).with("content-range", range)
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |rest: &mut std::str::Bytes<'_>| char::from(rest.next().unwrap()).to_digit(16).unwrap();
        bytes.push(match byte {
            b'%' => u8::try_from(hex(&mut rest) << 4 | hex(&mut rest)).unwrap(),
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
