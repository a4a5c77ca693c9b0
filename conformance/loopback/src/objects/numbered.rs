//! Objects whose keys are numbers, for listings that are larger than memory.

use std::io;
use std::time::SystemTime;

use super::{Conditions, Entry, NewValue, Objects, Refusal, State, Wanted};
use crate::http::Body;

/// The prefix of all keys.
const FOLDER: &str = "c/";

/// The number of digits after the prefix.
const DIGITS: usize = 7;

/// A bucket of the objects `c/0000000`, `c/0000001` and so on, which cannot be changed. The value of each is its key.
#[derive(Debug)]
pub(crate) struct Numbered {
    count: usize,
}

impl Numbered {
    pub(crate) fn new(count: usize) -> Self {
        Self { count }
    }

    /// Returns the number of the first key that is not less than `text`.
    fn first_from(&self, text: &str) -> usize {
        let mut first = 0;
        let mut end = self.count;
        while first < end {
            let middle = first + (end - first) / 2;
            if *key_of(middle) < *text {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    fn number_of(&self, key: &str) -> Option<usize> {
        let digits = key.strip_prefix(FOLDER).filter(|digits| digits.len() == DIGITS)?;
        digits.parse().ok().filter(|number| *number < self.count)
    }
}

fn key_of(number: usize) -> String {
    format!("{FOLDER}{number:0DIGITS$}")
}

fn state_of(key: &str) -> State {
    State {
        size: key.len() as u64,
        modified: SystemTime::UNIX_EPOCH,
        tag: format!("\"{key}\""),
        generation: 1,
    }
}

impl Objects for Numbered {
    fn is_key(&self, _key: &str) -> bool {
        true
    }

    fn open(&self, key: &str) -> io::Result<Option<(State, Body)>> {
        Ok(self.number_of(key).map(|_| (state_of(key), Body::Bytes(key.to_owned().into()))))
    }

    fn put(
        &self,
        _key: &str,
        _value: NewValue,
        _conditions: &Conditions,
    ) -> io::Result<Result<State, Refusal>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _key: &str, _conditions: &Conditions) -> io::Result<Result<(), Refusal>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn list(&self, wanted: &Wanted<'_>) -> io::Result<Vec<Entry>> {
        if wanted.is_by_folder && FOLDER.starts_with(wanted.prefix) && wanted.prefix != FOLDER {
            let is_listed = self.count > 0 && *wanted.after < *FOLDER;
            return Ok(is_listed
                .then(|| Entry { name: FOLDER.to_owned(), state: None })
                .into_iter()
                .collect());
        }
        let first = self.first_from(wanted.prefix.max(wanted.after));
        let keys = (first..self.count).map(key_of);
        let after = keys.skip_while(|key| *key == wanted.after);
        let listed =
            after.take_while(|key| key.starts_with(wanted.prefix)).take(wanted.most.saturating_add(1));
        Ok(listed.map(|key| Entry { state: Some(state_of(&key)), name: key }).collect())
    }
}
