//! The folder of a plan in the destination of a copy, which holds markers until the copy is complete.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use zarr_json::{Object, ParseOptions, Value, json, parse};
use zarr_spec::store::{Condition, Store, StoreError, get_value};
use zarr_spec::{Key, Prefix};

use super::error::CopyError;
use super::incomplete::{Description, PLAN, is_plan, missing_of_pass};
use super::options::{Caller, CopyOption};
use super::share::Part;
use crate::leftovers::{OWN_FOLDER, PLAN_DIGITS};
use crate::manifest::hex;

/// The largest marker that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// A node or a chunk that was left out because it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Skipped {
    /// The path of the node.
    pub path: String,
    /// The index of the chunk in the grid of the source; `None` for the whole node.
    pub chunk: Option<Vec<u64>>,
    /// The reason.
    pub reason: String,
}

impl Skipped {
    pub(crate) fn new(path: impl ToString, chunk: Option<&[u64]>, reason: String) -> Self {
        Self { path: path.to_string(), chunk: chunk.map(<[u64]>::to_vec), reason }
    }

    /// Returns the members as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let chunk = match &self.chunk {
            Some(index) => index.iter().map(|&number| Value::from(number)).collect(),
            None => Value::Null,
        };
        json!({"path": (self.path.as_str()), "chunk": (chunk), "reason": (self.reason.as_str())})
    }

    fn of_json(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        let chunk = match members.get("chunk")? {
            Value::Null => None,
            index => Some(index.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?),
        };
        let text = |name| Some(members.get(name)?.as_str()?.to_owned());
        Some(Self { path: text("path")?, chunk, reason: text("reason")? })
    }
}

/// The folder of one plan in the destination.
#[derive(Debug)]
pub(crate) struct State {
    store: Arc<dyn Store>,
    folder: Prefix,
}

/// Another plan that was begun in the same destination.
#[derive(Debug)]
pub(crate) struct OtherPlan {
    folder: Prefix,
    /// The number of parts; 1 if the description is missing.
    pub(crate) parts: u64,
}

impl State {
    /// Returns the folder of the plan with this digest.
    pub(crate) fn new(store: &Arc<dyn Store>, digest: &str) -> Result<Self, CopyError> {
        let folder = Prefix::new(format!("{OWN_FOLDER}{}/", &digest[..PLAN_DIGITS.min(digest.len())]))?;
        Ok(Self { store: Arc::clone(store), folder })
    }

    /// Returns the folder of the plan, which also contains intermediate arrays.
    pub(crate) fn folder(&self) -> &Prefix {
        &self.folder
    }

    /// Returns whether the copy was begun and is not complete.
    pub(crate) fn is_begun(&self) -> Result<bool, CopyError> {
        Ok(self.store.size(&self.folder.key(PLAN)?)?.is_some())
    }

    /// Marks the copy as begun, unless it is already marked.
    pub(crate) fn begin(&self, description: &Description) -> Result<(), CopyError> {
        self.mark(PLAN, &description.to_json())
    }

    /// Returns the other plans in the destination.
    pub(crate) fn others(&self) -> Result<Vec<OtherPlan>, CopyError> {
        let there = self.store.list_dir(&Prefix::new(OWN_FOLDER)?)?;
        let folders = there.prefixes.into_iter().filter(|folder| *folder != self.folder && is_plan(folder));
        let mut others = Vec::new();
        for folder in folders {
            if self.store.any_key(&folder)?.is_some() {
                let description = Description::read(&*self.store, &folder.key(PLAN)?)?;
                others.push(OtherPlan { parts: description.map_or(1, |plan| plan.parts), folder });
            }
        }
        Ok(others)
    }

    /// Returns the other plans in the destination, all of copies in one part, which a copy in `parts` parts may replace.
    ///
    /// # Errors
    ///
    /// [`CopyError::Request`] if there is another plan and one of the copies has several parts, which may be running.
    pub(crate) fn replaceable_others(&self, parts: u64, caller: Caller) -> Result<Vec<OtherPlan>, CopyError> {
        let others = self.others()?;
        match others.iter().any(|other| other.parts > 1 || parts > 1) {
            true => Err(has_other_parts(caller)),
            false => Ok(others),
        }
    }

    /// Removes what another plan stored. Chunks of arrays remain.
    pub(crate) fn remove_other(&self, other: &OtherPlan) -> Result<(), CopyError> {
        Ok(self.store.erase_prefix(&other.folder)?)
    }

    /// Marks a part of a pass as complete.
    pub(crate) fn finish_part(&self, pass: u64, part: Part) -> Result<(), CopyError> {
        self.mark(&format!("pass-{pass}/part-{}", part.number()), &Value::Object(Object::new()))
    }

    /// Returns the parts of a pass that are not complete.
    pub(crate) fn missing_parts(&self, pass: u64, parts: u64) -> Result<Vec<u64>, CopyError> {
        Ok(missing_of_pass(&*self.store, &self.folder, pass, parts)?)
    }

    /// Marks an array that is copied in two passes as complete.
    pub(crate) fn finish_array(&self, path: &str) -> Result<(), CopyError> {
        self.mark(&array_marker(path), &Value::Object(Object::new()))
    }

    /// Returns whether [`State::finish_array`] was called for an array.
    pub(crate) fn is_array_finished(&self, path: &str) -> Result<bool, CopyError> {
        Ok(self.store.size(&self.folder.key(&array_marker(path))?)?.is_some())
    }

    /// Records a chunk that is left out.
    pub(crate) fn skip(&self, skipped: &Skipped) -> Result<(), CopyError> {
        let name = short_hash(&format!("{} {:?}", skipped.path, skipped.chunk));
        self.mark(&format!("skipped/{name}"), &skipped.to_json())
    }

    /// Returns all chunks that were left out.
    pub(crate) fn skipped(&self) -> Result<BTreeSet<Skipped>, CopyError> {
        let mut skipped = BTreeSet::new();
        for key in self.store.list_sorted(&Prefix::new(format!("{}skipped/", self.folder))?)? {
            skipped.extend(self.read(&key)?.as_ref().and_then(Skipped::of_json));
        }
        Ok(skipped)
    }

    /// Removes everything. The description is removed first: while it exists, no marker is missing because of an
    /// interrupted removal.
    pub(crate) fn remove(&self) -> Result<(), CopyError> {
        self.store.erase(&self.folder.key(PLAN)?)?;
        Ok(self.store.erase_prefix(&self.folder)?)
    }

    /// Creates a marker, unless it exists.
    fn mark(&self, name: &str, value: &Value) -> Result<(), CopyError> {
        let key = self.folder.key(name)?;
        let text = value.to_string();
        if self.store.capabilities().conditional_set {
            match self.store.set_if(&key, text.as_bytes().into(), &Condition::Missing) {
                // The first conditional write has found that the server ignores conditions.
                Err(StoreError::NotSupported { .. }) if !self.store.capabilities().conditional_set => {}
                // If another process created the marker first, its content is the same.
                created => return Ok(created.map(drop)?),
            }
        }
        Ok(self.store.set(&key, text.as_bytes().into())?)
    }

    fn read(&self, key: &Key) -> Result<Option<Value>, CopyError> {
        let bytes = get_value(&*self.store, key, LARGEST)?;
        let parsed = bytes.and_then(|bytes| parse(&bytes, &ParseOptions::default()).ok());
        Ok(parsed.map(|parsed| parsed.value))
    }
}

/// Returns the reason why a copy does not run next to another copy.
fn has_other_parts(caller: Caller) -> CopyError {
    CopyError::message(format!(
        "another copy has begun in the destination, from other sources or with other options (with {}, {} must be the \
         same for all parts): complete it, or erase its arrays and run `zarrctl clean`",
        caller.name(CopyOption::Partition),
        caller.name(CopyOption::Memory)
    ))
}

fn array_marker(path: &str) -> String {
    format!("arrays/{}", short_hash(path))
}

fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text)[..PLAN_DIGITS / 2])
}

#[cfg(test)]
mod tests {
    use super::super::incomplete::incomplete;
    use super::*;
    use crate::shelf::Shelf;

    fn description(parts: u64) -> Description {
        Description { parts, passes: 2, sources: vec!["file:///a".to_owned()], arrays: vec!["/x".to_owned()] }
    }

    fn state(store: &Arc<dyn Store>, digit: &str) -> State {
        State::new(store, &digit.repeat(64)).unwrap()
    }

    #[test]
    fn markers_are_found_again_and_removed() {
        let store: Arc<dyn Store> = Arc::new(Shelf::default());
        let state = state(&store, "a");
        assert!(!state.is_begun().unwrap());
        state.begin(&description(3)).unwrap();
        assert!(state.is_begun().unwrap());
        state.finish_part(1, Part::new(2, 3).unwrap()).unwrap();
        assert_eq!(state.missing_parts(1, 3).unwrap(), [1, 3]);
        assert_eq!(state.missing_parts(2, 3).unwrap(), [1, 2, 3]);
        state.finish_array("/x").unwrap();
        assert!(state.is_array_finished("/x").unwrap() && !state.is_array_finished("/y").unwrap());
        let skipped = [None, Some(&[1, 2][..])].map(|chunk| Skipped::new("/x", chunk, "no".to_owned()));
        for skipped in [&skipped[0], &skipped[1], &skipped[1]] {
            state.skip(skipped).unwrap();
        }
        assert_eq!(state.skipped().unwrap(), BTreeSet::from(skipped));
        state.remove().unwrap();
        assert!(store.list().unwrap().is_empty());
    }

    #[test]
    fn an_incomplete_copy_names_the_parts_that_are_missing() {
        let store: Arc<dyn Store> = Arc::new(Shelf::default());
        let state = state(&store, "a");
        let copy = || incomplete(&*store, state.folder()).unwrap();
        let text = || copy().map(|copy| copy.to_string());
        let finish = |pass, part| state.finish_part(pass, Part::new(part, 3).unwrap()).unwrap();
        assert_eq!(text(), None);
        state.begin(&description(3)).unwrap();
        assert_eq!(copy().unwrap().arrays, ["/x"]);
        finish(1, 2);
        let expected = "a copy is not complete: parts 1 and 3 of 3 are missing in pass 1";
        assert_eq!(text().unwrap(), expected);
        for (pass, part) in [(1, 1), (1, 3), (2, 1), (2, 2)] {
            finish(pass, part);
        }
        let expected = "a copy is not complete: part 3 of 3 is missing in pass 2";
        assert_eq!(text().unwrap(), expected);
        finish(2, 3);
        assert!(text().unwrap().ends_with("any part that is run again completes it"));
    }

    #[test]
    fn other_plans_are_found_and_the_quarantine_is_not_one() {
        let store: Arc<dyn Store> = Arc::new(Shelf::default());
        let [one, other] = ["a", "b"].map(|digit| state(&store, digit));
        one.begin(&description(1)).unwrap();
        other.begin(&description(4)).unwrap();
        store.set(&Key::new("__zarrctl/quarantine/x").unwrap(), b"".into()).unwrap();
        let found = one.others().unwrap();
        assert_eq!(found.iter().map(|other| other.parts).collect::<Vec<_>>(), [4]);
        one.remove_other(&found[0]).unwrap();
        assert!(one.others().unwrap().is_empty() && one.is_begun().unwrap() && !other.is_begun().unwrap());
    }
}
