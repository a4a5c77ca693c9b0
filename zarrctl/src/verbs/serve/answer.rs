//! The head of an answer.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;

use chrono::Utc;

/// A status and header fields. The server adds those that every answer has.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    headers: String,
    /// The size of the body in bytes; `None` if there is no body and no size.
    size: Option<u64>,
}

impl Answer {
    /// Creates an answer without a body.
    pub(super) fn new(status: u16) -> Self {
        Self { status, headers: String::new(), size: Some(0) }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        // Writing to a string cannot fail.
        let _written = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// Adds the size of the body, which the caller sends after the head.
    pub(super) fn size(self, size: u64) -> Self {
        Self { size: Some(size), ..self }
    }

    /// Omits the size. Answers of some statuses never have a body or a size.
    pub(super) fn without_size(self) -> Self {
        Self { size: None, ..self }
    }

    /// Ends the connection after the answer.
    pub(super) fn closing(self) -> Self {
        self.header("Connection", "close")
    }

    /// Sends the head. Pages of `origin` may read the answer.
    pub(super) fn send(&self, mut to: &TcpStream, origin: &str) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            204 => "No Content",
            206 => "Partial Content",
            304 => "Not Modified",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            412 => "Precondition Failed",
            416 => "Range Not Satisfiable",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let date = Utc::now().format("%a, %d %b %Y %H:%M:%S GMT");
        let size = self.size.map_or_else(String::new, |size| format!("Content-Length: {size}\r\n"));
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nDate: {date}\r\nServer: zarrctl\r\nAccess-Control-Allow-Origin: {origin}\r\n\
             Access-Control-Expose-Headers: Accept-Ranges, Content-Length, Content-Range, ETag\r\n{}{size}\r\n",
            self.status, self.headers,
        );
        to.write_all(head.as_bytes())
    }
}
