//! The remote store: a program that serves the folder of the comparison and waits before each answer.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::programs::{Places, Program};
use super::runner::{Runner, Trouble};

/// The number of requests that every program may have in flight: the default of this engine.
pub(crate) const REQUESTS: usize = 128;

/// The network between the programs and the remote store.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Network {
    /// Milliseconds that the remote store waits before each response
    #[arg(long, value_name = "MS", default_value_t = 10, requires = "far")]
    delay: u64,
    /// Limit the bytes of all requests and responses together, in megabytes per second
    #[arg(long, value_name = "MB", requires = "far", value_parser = RangedU64ValueParser::<u64>::new().range(1..1_000_000))]
    bandwidth: Option<u64>,
    /// Delay every hundredth response of the remote store tenfold
    #[arg(long, requires = "far")]
    slow: bool,
    /// Encrypt the connections to the remote store
    #[arg(long, requires = "far")]
    tls: bool,
}

/// The variables that programs and libraries read the certificates of trusted servers from.
const TRUSTED: [&str; 5] =
    ["SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "TENSORSTORE_CA_BUNDLE"];

impl Network {
    /// Returns the variables with which a program trusts the remote store.
    pub(crate) fn environment(&self, logs: &Path) -> Vec<(&'static str, PathBuf)> {
        let file = certificate(logs);
        TRUSTED.iter().filter(|_| self.tls).map(|variable| (*variable, file.clone())).collect()
    }

    /// Returns the delay in milliseconds, the bandwidth in bytes per second, and whether some responses are slow.
    pub(crate) fn settings(&self) -> (u64, Option<u64>, bool) {
        (self.delay, self.bandwidth.map(|megabytes| megabytes * 1_000_000), self.slow)
    }
}

/// Returns the file for the certificate of the remote store.
fn certificate(logs: &Path) -> PathBuf {
    logs.join("far.pem")
}

/// The number of processors that the store may use. The programs use the same processors, since the machine may have no
/// others.
const PROCESSORS: usize = 2;

/// The traffic of the store in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    /// The largest number of requests that waited at the same time.
    pub(crate) most_at_once: u64,
    /// The total size of the bodies of requests and answers, in bytes.
    pub(crate) bytes: u64,
}

/// The running store.
#[derive(Debug)]
pub(crate) struct FarStore {
    runner: Runner,
    endpoint: String,
}

impl FarStore {
    /// Starts a store that serves the present and future files in `folder`.
    pub(crate) fn start(places: &Places, folder: &Path) -> Result<Self, String> {
        let mut runner = Runner::start(places, Program::FarStore, PROCESSORS)?;
        let network = places.network;
        let question = json!({
            "do": "serve",
            "folder": folder,
            "milliseconds": network.delay,
            "bytes_per_second": network.settings().1,
            "is_sometimes_slow": network.slow,
            "certificate": network.tls.then(|| certificate(&places.logs)),
        });
        let answer = runner.ask(&question).map_err(Trouble::text)?;
        let endpoint = answer.get("endpoint").and_then(Value::as_str);
        let endpoint = endpoint.ok_or("the remote store did not return a URL")?.to_owned();
        Ok(Self { runner, endpoint })
    }

    /// Returns the location of `folder` in the store for programs.
    pub(crate) fn place_of(&self, folder: &Path) -> Option<Value> {
        let prefix = folder.file_name()?.to_str()?;
        let endpoint = &self.endpoint;
        let requests = REQUESTS;
        Some(json!({"endpoint": endpoint, "bucket": "bench", "prefix": prefix, "requests": requests}))
    }

    /// Returns the URL of `folder` for programs that read single files.
    pub(crate) fn url_of(&self, folder: &Path) -> Option<String> {
        Some(format!("{}/bench/{}", self.endpoint, folder.file_name()?.to_str()?))
    }

    /// Returns the traffic since the last call.
    pub(crate) fn traffic(&mut self) -> Result<Traffic, String> {
        let answer = self.runner.ask(&json!({"do": "traffic"})).map_err(Trouble::text)?;
        serde_json::from_value(answer).map_err(|error| format!("the remote store: {error}"))
    }
}
