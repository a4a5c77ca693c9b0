//! The remote store of the comparison, as a separate process.
//!
//! It reads one request per line: to serve a folder, or to report the traffic. It ends when its input ends.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use zarr_loopback::{Options, Server};
use zarr_peers::Failure;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// Starts to serve a folder. The answer has the URL.
    Serve {
        folder: PathBuf,
        milliseconds: u64,
        /// The bandwidth, if it is limited.
        bytes_per_second: Option<u64>,
        /// Whether every hundredth answer takes ten times as long.
        #[serde(default)]
        is_sometimes_slow: bool,
        /// The file for the certificate of the store, if connections are encrypted.
        #[serde(default)]
        certificate: Option<PathBuf>,
    },
    /// Reports the traffic since the last such request.
    Traffic,
}

fn answer(store: &mut Option<Server>, line: &str) -> Result<Value, Failure> {
    Ok(match serde_json::from_str(line)? {
        Request::Serve { folder, milliseconds, bytes_per_second, is_sometimes_slow, certificate } => {
            let options = Options::of_folder(&folder)
                .with_delay(Duration::from_millis(milliseconds))
                .with_bandwidth(bytes_per_second)
                .with_slow_answers(is_sometimes_slow);
            let options = if certificate.is_some() { options.encrypted() } else { options };
            let server = store.insert(Server::start(options)?);
            if let Some((file, text)) = certificate.zip(server.certificate()) {
                fs::write(file, text)?;
            }
            json!({"endpoint": server.endpoint()})
        }
        Request::Traffic => json!(store.as_ref().ok_or("nothing is served")?.take_traffic()),
    })
}

fn serve() -> io::Result<()> {
    let mut store = None;
    for line in io::stdin().lock().lines() {
        let answer = answer(&mut store, &line?).unwrap_or_else(|error| json!({"error": error.to_string()}));
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-far: {error}");
            ExitCode::from(1)
        }
    }
}
