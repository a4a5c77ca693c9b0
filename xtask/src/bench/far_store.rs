//! The far store: a program that serves the folder of the comparison and waits before each answer.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::programs::{Places, Program};
use super::runner::{Runner, Trouble};

/// Requests that every program may have in flight.
pub(crate) const REQUESTS: usize = 64;

/// How long the store waits before each answer.
const MILLISECONDS: u64 = 10;

/// The processors that it may use: those of the programs, since there may be no others.
const PROCESSORS: usize = 2;

/// What the store was asked in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    /// The most that waited for their answers at the same time.
    pub(crate) most_at_once: u64,
    /// Bytes of all bodies, of requests and of answers.
    pub(crate) bytes: u64,
}

/// The running store.
#[derive(Debug)]
pub(crate) struct FarStore {
    runner: Runner,
    endpoint: String,
}

impl FarStore {
    /// Serves what is in `folder`, now and later.
    pub(crate) fn start(places: &Places, folder: &Path) -> Result<Self, String> {
        let mut runner = Runner::start(places, Program::FarStore, PROCESSORS)?;
        let question = json!({"do": "serve", "folder": folder, "milliseconds": MILLISECONDS});
        let answer = runner.ask(&question).map_err(Trouble::text)?;
        let endpoint = answer.get("endpoint").and_then(Value::as_str);
        let endpoint = endpoint.ok_or("the far store has no URL")?.to_owned();
        Ok(Self { runner, endpoint })
    }

    /// Where programs find what is in `folder` of its folder.
    pub(crate) fn place_of(&self, folder: &Path) -> Option<Value> {
        let prefix = folder.file_name()?.to_str()?;
        let endpoint = &self.endpoint;
        let requests = REQUESTS;
        Some(json!({"endpoint": endpoint, "bucket": "bench", "prefix": prefix, "requests": requests}))
    }

    /// What there was since the last call.
    pub(crate) fn traffic(&mut self) -> Result<Traffic, String> {
        let answer = self.runner.ask(&json!({"do": "traffic"})).map_err(Trouble::text)?;
        serde_json::from_value(answer).map_err(|error| format!("the far store: {error}"))
    }
}
