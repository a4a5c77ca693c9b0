//! Copies that have begun and are not complete, as their folders in the destination describe them.

use std::collections::BTreeSet;
use std::fmt;

use zarr_engine::Error;
use zarr_json::{Object, ParseOptions, Value, parse};
use zarr_spec::store::{Store, StoreError, get_value};
use zarr_spec::{Key, Prefix};

use super::text::missing_parts;
use crate::leftovers::{OWN_FOLDER, is_name_of_plan};

/// The name of the value with the description of a plan, in the folder of the plan. The value is written first and
/// removed first.
pub(crate) const PLAN: &str = "plan.json";

/// The largest description that is read, in bytes. It names all arrays of a copy in parts.
const LARGEST: usize = 64 << 20;

/// A copy that has begun in a store and is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncompleteCopy {
    /// The folder of the copy's plan, as a prefix of keys.
    pub folder: String,
    /// The number of parts; 1 if one process runs the copy.
    pub parts: u64,
    /// The pass whose parts are missing, if the copy takes two passes.
    pub pass: Option<u64>,
    /// The parts that are not complete.
    pub missing: Vec<u64>,
    /// The paths of the arrays that the first part has created; empty for a copy in one part.
    pub arrays: Vec<String>,
}

impl fmt::Display for IncompleteCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parts, pass, missing, .. } = self;
        f.write_str("a copy is not complete")?;
        match (&missing[..], pass) {
            _ if *parts == 1 => Ok(()),
            ([], _) => {
                f.write_str(": its last part was interrupted, and any part that is run again completes it")
            }
            (missing, Some(pass)) => write!(f, ": {} in pass {pass}", missing_parts(missing, *parts)),
            (missing, None) => write!(f, ": {}", missing_parts(missing, *parts)),
        }
    }
}

/// Returns the copies that have begun in `store` and are not complete, because parts are missing or the copy was
/// interrupted. Returns an empty list for a store that cannot list.
///
/// # Errors
///
/// [`Error::Store`].
pub fn incomplete_copies(store: &dyn Store) -> Result<Vec<IncompleteCopy>, Error> {
    if !store.capabilities().listable {
        return Ok(Vec::new());
    }
    let own = Prefix::new(OWN_FOLDER).map_err(StoreError::from)?;
    let mut copies = Vec::new();
    for folder in store.list_dir(&own)?.prefixes.into_iter().filter(is_plan) {
        copies.extend(incomplete(store, &folder)?);
    }
    Ok(copies)
}

/// Returns the copy with this folder; `None` if the copy is complete.
pub(crate) fn incomplete(store: &dyn Store, folder: &Prefix) -> Result<Option<IncompleteCopy>, Error> {
    let key = folder.key(PLAN).map_err(StoreError::from)?;
    let Some(bytes) = get_value(store, &key, LARGEST)? else { return Ok(None) };
    let Description { parts, passes, arrays, .. } = Description::of_json(&bytes);
    let mut missing = Vec::new();
    let mut pass = 1;
    if parts > 1 {
        missing = missing_of_pass(store, folder, 1, parts)?;
        if passes > 1 && missing.is_empty() {
            pass = 2;
            missing = missing_of_pass(store, folder, 2, parts)?;
        }
    }
    let pass = (passes > 1 && parts > 1).then_some(pass);
    Ok(Some(IncompleteCopy { folder: folder.to_string(), parts, pass, missing, arrays }))
}

/// Returns the parts of a pass whose markers are missing.
pub(crate) fn missing_of_pass(
    store: &dyn Store,
    folder: &Prefix,
    pass: u64,
    parts: u64,
) -> Result<Vec<u64>, StoreError> {
    let markers = Prefix::new(format!("{folder}pass-{pass}/"))?;
    let mut found = BTreeSet::new();
    for key in store.list_prefix(&markers)? {
        found.extend(key?.name().strip_prefix("part-").and_then(|number| number.parse::<u64>().ok()));
    }
    Ok((1..=parts).filter(|part| !found.contains(part)).collect())
}

/// Returns whether a prefix is the folder of a plan: its name consists of hexadecimal digits.
pub(crate) fn is_plan(folder: &Prefix) -> bool {
    let name = folder.as_str().strip_prefix(OWN_FOLDER).map(|name| name.trim_end_matches('/'));
    name.is_some_and(is_name_of_plan)
}

/// The contents of `plan.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) parts: u64,
    pub(crate) passes: u64,
    pub(crate) sources: Vec<String>,
    /// The paths of the arrays, if there are several parts.
    pub(crate) arrays: Vec<String>,
}

impl Description {
    pub(crate) fn to_json(&self) -> Value {
        let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Value>();
        let mut members = Object::new();
        members.insert("parts", self.parts);
        members.insert("passes", self.passes);
        members.insert("sources", texts(&self.sources));
        members.insert("arrays", texts(&self.arrays));
        Value::Object(members)
    }

    /// Parses a description. A missing or unreadable member gets its value for a copy in one part.
    pub(crate) fn of_json(bytes: &[u8]) -> Self {
        let parsed = parse(bytes, &ParseOptions::default()).ok();
        let members = parsed.as_ref().and_then(|parsed| parsed.value.as_object());
        let member = |name| members.and_then(|members| members.get(name));
        let number = |name| member(name).and_then(Value::as_u64).unwrap_or(1).max(1);
        let texts = |name| {
            let texts = member(name).and_then(Value::as_array).unwrap_or_default();
            texts.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        Self {
            parts: number("parts"),
            passes: number("passes"),
            sources: texts("sources"),
            arrays: texts("arrays"),
        }
    }

    /// Reads the description at `key`.
    pub(crate) fn read(store: &dyn Store, key: &Key) -> Result<Option<Self>, StoreError> {
        Ok(get_value(store, key, LARGEST)?.map(|bytes| Self::of_json(&bytes)))
    }
}
