//! Objects in memory.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;

use super::{Conditions, Entry, NewValue, Objects, Refusal, State, Wanted};
use crate::http::Body;

/// A bucket in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Objected>);

#[derive(Debug, Default)]
struct Objected {
    values: BTreeMap<String, (State, Bytes)>,
    generation: u64,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Objected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects for Memory {
    fn is_key(&self, key: &str) -> bool {
        key.len() <= 1024
    }

    fn open(&self, key: &str) -> io::Result<Option<(State, Body)>> {
        let found = self.lock().values.get(key).cloned();
        Ok(found.map(|(state, bytes)| (state, Body::Bytes(bytes))))
    }

    fn put(&self, key: &str, value: NewValue, conditions: &Conditions) -> io::Result<Result<State, Refusal>> {
        let mut inside = self.lock();
        if let Err(refusal) = conditions.check(inside.values.get(key).map(|(state, _)| state)) {
            return Ok(Err(refusal));
        }
        inside.generation += 1;
        let state = State {
            size: value.bytes.len() as u64,
            modified: SystemTime::now(),
            tag: value.tag,
            generation: inside.generation,
        };
        inside.values.insert(key.to_owned(), (state.clone(), value.bytes.into()));
        Ok(Ok(state))
    }

    fn remove(&self, key: &str, conditions: &Conditions) -> io::Result<Result<(), Refusal>> {
        let mut inside = self.lock();
        if let Err(refusal) = conditions.check(inside.values.get(key).map(|(state, _)| state)) {
            return Ok(Err(refusal));
        }
        inside.values.remove(key);
        Ok(Ok(()))
    }

    fn list(&self, wanted: &Wanted<'_>) -> io::Result<Vec<Entry>> {
        let inside = self.lock();
        let start = match wanted.after >= wanted.prefix {
            true => Bound::Excluded(wanted.after),
            false => Bound::Included(wanted.prefix),
        };
        let mut entries: Vec<Entry> = Vec::new();
        for (key, (state, _)) in inside.values.range::<str, _>((start, Bound::Unbounded)) {
            let Some(rest) = key.strip_prefix(wanted.prefix) else { break };
            let folder = rest.find('/').filter(|_| wanted.is_by_folder);
            let entry = match folder {
                Some(end) => Entry { name: key[..=wanted.prefix.len() + end].to_owned(), state: None },
                None => Entry { name: key.clone(), state: Some(state.clone()) },
            };
            if *entry.name <= *wanted.after || entries.last().is_some_and(|last| last.name == entry.name) {
                continue;
            }
            entries.push(entry);
            if entries.len() > wanted.most {
                break;
            }
        }
        Ok(entries)
    }
}
