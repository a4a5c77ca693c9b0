//! Azurite, the emulator of Azure Blob Storage, which npm installs and Node runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::Deserialize;

use super::{node_package, scripts, skip};

/// The package and its version.
const PACKAGE: &str = "azurite@3.35.0";

/// A running Azurite with the empty containers `bench` and `rules`. Dropping this value stops it.
#[derive(Debug)]
pub struct Azurite {
    access: Access,
    process: Child,
    /// Closed to stop the server.
    input: Option<ChildStdin>,
}

#[derive(Debug, Deserialize)]
struct Access {
    endpoint: String,
    account: String,
    key: String,
    signature: String,
}

impl Azurite {
    /// Returns the URL of the account.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.access.endpoint
    }

    /// Returns the name of the account.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.access.account
    }

    /// Returns the key of the account.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.access.key
    }

    /// Returns a shared access signature of the account.
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.access.signature
    }

    /// Returns the variables with the account and its key.
    #[must_use]
    pub fn credentials(&self) -> [(&'static str, &str); 2] {
        [
            ("AZURE_STORAGE_ACCOUNT_NAME", &self.access.account),
            ("AZURE_STORAGE_ACCOUNT_KEY", &self.access.key),
        ]
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        self.input = None;
        // The exit status does not matter any more.
        let _ended = self.process.wait();
    }
}

/// Starts Azurite; returns `None` after a visible skip if the machine does not have Node and npm, or cannot install the
/// package.
#[must_use]
pub fn azurite() -> Option<Azurite> {
    match start() {
        Ok(started) => Some(started),
        Err(reason) => {
            skip(&format!("Azurite: {reason}"));
            None
        }
    }
}

fn start() -> Result<Azurite, String> {
    let folder = node_package(PACKAGE)?;
    let script = scripts().with_file_name("node").join("azurite.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().map_err(|error| format!("node cannot be started: {error}"))?;
    let input = process.stdin.take();
    let mut line = String::new();
    let output = process.stdout.take().ok_or("node does not have standard output")?;
    BufReader::new(output).read_line(&mut line).map_err(|error| format!("azurite.mjs: {error}"))?;
    let access = serde_json::from_str(&line).map_err(|error| format!("azurite.mjs: {error}: `{line}`"))?;
    Ok(Azurite { access, process, input })
}
