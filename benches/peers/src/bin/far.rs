//! The remote store of the comparison, as a separate process.
//!
//! It reads one request per line: to serve a folder, or to report the traffic. It ends when its input ends.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use zarr_peers::{Failure, FarStore};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// Starts to serve a folder. The answer has the URL.
    Serve { folder: PathBuf, milliseconds: u64 },
    /// Reports the traffic since the last such request.
    Traffic,
}

fn answer(store: &mut Option<FarStore>, line: &str) -> Result<Value, Failure> {
    Ok(match serde_json::from_str(line)? {
        Request::Serve { folder, milliseconds } => {
            let started = FarStore::start(&folder, Duration::from_millis(milliseconds))?;
            json!({"endpoint": store.insert(started).endpoint()})
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
