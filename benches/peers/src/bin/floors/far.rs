//! Fetches the values of the chunks from the remote store with a minimal client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use zarr_kit::Memory;
use zarr_peers::{Case, Failure, Far, Ran, Task, timed};

use crate::on_threads;

/// Fetches `files` of known sizes into new memory, each with one request. There is one thread with one connection for
/// each request that may be in flight.
pub(crate) fn read(case: &Case, files: &[(PathBuf, usize)]) -> Result<Box<dyn Task>, Failure> {
    let far = case.far.clone().ok_or("the case does not have a remote store")?;
    let targets = files.iter().map(|(file, size)| {
        let key = file.strip_prefix(&case.folder)?.to_str().ok_or("the name of a file is not UTF-8")?;
        // Chunk keys do not have characters that must be escaped.
        Ok((format!("/{}/{}/{key}", far.bucket, far.prefix), *size))
    });
    let targets = targets.collect::<Result<Vec<_>, Failure>>()?;
    let total = targets.iter().map(|(_, size)| size).sum();
    Ok(Box::new(move || {
        let (_memory, seconds) = timed(|| {
            let mut memory = Memory::zeroed(total)?;
            let mut rest = &mut memory[..];
            let mut parts = Vec::with_capacity(targets.len());
            for (target, size) in &targets {
                let (part, behind) = rest.split_at_mut(*size);
                parts.push((target, part));
                rest = behind;
            }
            on_threads(parts, far.requests, |client: &mut Client, (target, part)| {
                client.get(&far, target, part)
            })?;
            Ok::<_, Failure>(memory)
        })?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}

/// A client with at most one open connection.
#[derive(Default)]
struct Client(Option<BufReader<TcpStream>>);

impl Client {
    /// Fetches a value of a known size.
    fn get(&mut self, far: &Far, target: &str, value: &mut [u8]) -> Result<(), Failure> {
        let address =
            far.endpoint.strip_prefix("http://").ok_or("the URL of the store must begin with http://")?;
        let connection = match &mut self.0 {
            Some(connection) => connection,
            none => {
                let connection = TcpStream::connect(address)?;
                connection.set_nodelay(true)?;
                none.insert(BufReader::new(connection))
            }
        };
        let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        connection.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if connection.read_line(&mut head)? == 0 {
                return Err("the store closed the connection".into());
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        if !head.starts_with("HTTP/1.1 200 ") || length != Some(&*value.len().to_string()) {
            return Err(format!("unexpected response: {head}").into());
        }
        Ok(connection.read_exact(value)?)
    }
}
