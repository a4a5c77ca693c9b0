//! A client that sends exactly what a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use zarr_loopback::Server;

pub(crate) struct Client(pub(crate) BufReader<TcpStream>);

pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) fn new(store: &Server) -> Self {
        let address = store.endpoint().strip_prefix("http://").unwrap();
        Self(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Answered {
        self.send(method, target, headers, body);
        self.answer(method == "HEAD")
    }

    /// Sends a request and does not wait for the answer.
    pub(crate) fn send(&mut self, method: &str, target: &str, headers: &[&str], body: &[u8]) {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let head = format!("{method} {target} HTTP/1.1\r\nContent-Length: {length}\r\n{headers}\r\n");
        self.0.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
    }

    pub(crate) fn get(&mut self, target: &str) -> Answered {
        self.ask("GET", target, &[], b"")
    }

    pub(crate) fn answer(&mut self, is_head: bool) -> Answered {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.filter(|_| !is_head).map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        Answered { status, head, body }
    }
}
