//! The selections of `copy`, which apply to all arrays with the named dimensions.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use zarr_kit::archive::{Caller, CopyOption, Selector, dimension_names, split_path};
use zarr_kit::{Array, DimensionSelection};

use super::{Entry, entries, selected};
use crate::failure::Failure;
use crate::similar::similar;
use crate::slabs;

/// The parsed options of `copy --select`.
#[derive(Debug)]
pub(crate) struct ForCopy {
    /// Entries for deeper paths come later, so that they take precedence.
    entries: Vec<Scoped>,
    /// The name of the option, for messages.
    option: &'static str,
    seen: Mutex<Seen>,
}

/// One entry of an option.
#[derive(Debug)]
struct Scoped {
    /// The node that the entry is for, with those below it; `None` for all.
    path: Option<String>,
    choice: Choice,
}

#[derive(Debug)]
enum Choice {
    /// A selection in NumPy's notation, for one array.
    Positions(String),
    Named {
        name: String,
        value: String,
    },
}

/// Findings in the planned arrays.
#[derive(Debug, Default)]
struct Seen {
    /// The positions of entries that applied.
    used: BTreeSet<usize>,
    /// The dimension names of all arrays.
    names: BTreeSet<String>,
    /// Resolved entries, cached because many arrays share a coordinate.
    resolved: HashMap<Resolved, DimensionSelection>,
}

/// The values on which the result of an entry depends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Resolved {
    store: String,
    group: Option<String>,
    entry: usize,
    length: u64,
}

impl ForCopy {
    pub(crate) fn parse(options: &[String], caller: Caller) -> Result<Self, Failure> {
        let name_of_option = caller.name(CopyOption::Select);
        let mut all = Vec::new();
        for option in options {
            let (path, rest) = split_path(option);
            let path = path.map(|path| path.trim_end_matches('/').to_owned());
            if rest.contains('=') {
                for entry in entries(rest) {
                    let (name, value) = entry.split_once('=').ok_or_else(|| {
                        Failure::fault(format!(
                            "{name_of_option}: `{entry}`: expected NAME=VALUE, as for the other dimensions"
                        ))
                    })?;
                    let [name, value] = [name, value].map(|part| part.trim().to_owned());
                    all.push(Scoped { path: path.clone(), choice: Choice::Named { name, value } });
                }
            } else if path.is_some() {
                all.push(Scoped { path, choice: Choice::Positions(rest.to_owned()) });
            } else {
                return Err(Failure::fault(format!(
                    "{name_of_option}: `{option}`: `copy` selects by dimension name, such as time=2001-02, or by position \
                     in one array, such as /t2m=0:10,5"
                )));
            }
        }
        all.sort_by_key(|entry| entry.path.as_deref().map_or(0, |path| 1 + path.matches('/').count()));
        Ok(Self { entries: all, option: name_of_option, seen: Mutex::default() })
    }

    /// Returns the selector for the request; `None` without selections.
    pub(crate) fn selector(self: &Arc<Self>) -> Option<Selector> {
        if self.entries.is_empty() {
            return None;
        }
        let selections = Arc::clone(self);
        let choose = move |array: &Array| selections.choose(array).map_err(message);
        Some(Selector::new(choose))
    }

    fn choose(&self, array: &Array) -> Result<Option<Vec<DimensionSelection>>, Failure> {
        let names = dimension_names(array);
        let path = array.path().to_string();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.names.extend(names.iter().flatten().cloned());
        let mut along: Option<Vec<DimensionSelection>> = None;
        for (number, entry) in self.entries.iter().enumerate() {
            match &entry.choice {
                Choice::Positions(text) if entry.path.as_deref() == Some(&path) => {
                    seen.used.insert(number);
                    along = Some(slabs::parse(Some(text), array)?);
                }
                Choice::Named { name, value } if entry.contains(&path) => {
                    let dimension = names.iter().position(|own| own.as_deref() == Some(name));
                    let Some(dimension) = dimension else { continue };
                    seen.used.insert(number);
                    let length = array.shape()[dimension];
                    let resolved = Resolved {
                        store: array.hierarchy().store().location(),
                        group: array.path().parent().map(|group| group.to_string()),
                        entry: number,
                        length,
                    };
                    let part = match seen.resolved.get(&resolved) {
                        Some(part) => part.clone(),
                        None => {
                            let entry = Entry { name, value, length };
                            let part = selected(array, array.hierarchy(), &entry);
                            let what = || format!("{} `{name}={value}`", self.option);
                            part.map_err(|error| error.while_doing(&what()))?
                        }
                    };
                    seen.resolved.insert(resolved, part.clone());
                    along.get_or_insert_with(|| whole(array))[dimension] = part;
                }
                Choice::Positions(_) | Choice::Named { .. } => {}
            }
        }
        Ok(along)
    }

    /// Returns a message for each entry that applied to no array.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let option = self.option;
        let unused = self.entries.iter().enumerate().filter(|(number, _)| !seen.used.contains(number));
        unused
            .map(|(_, Scoped { path, choice })| {
                let below = path.as_ref().map_or_else(String::new, |path| format!(" at or below `{path}`"));
                match choice {
                    Choice::Positions(_) => {
                        format!("{option}: there is no array to copy at `{}`", path.as_deref().unwrap_or("/"))
                    }
                    Choice::Named { name, .. } => {
                        let hint = similar(name, seen.names.iter().map(String::as_str));
                        let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                        format!("{option}: no array to copy{below} has a dimension `{name}`{hint}")
                    }
                }
            })
            .collect()
    }
}

impl Scoped {
    /// Returns whether the entry is for the node at `path`.
    fn contains(&self, path: &str) -> bool {
        let Some(scope) = &self.path else { return true };
        path.strip_prefix(&**scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Selects all elements.
fn whole(array: &Array) -> Vec<DimensionSelection> {
    let whole = |&length: &u64| DimensionSelection::Range { start: 0, stop: length, step: 1 };
    array.shape().iter().map(whole).collect()
}

fn message(failure: Failure) -> String {
    failure.message().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_for_deeper_paths_come_later() {
        let options = ["/a/b=x=1", "/a=x=2,y=3", "x=[0:2,5]"].map(str::to_owned);
        let parsed = ForCopy::parse(&options, Caller::Program).unwrap();
        let paths: Vec<_> = parsed.entries.iter().map(|entry| entry.path.as_deref()).collect();
        assert_eq!(paths, [None, Some("/a"), Some("/a"), Some("/a/b")]);
        assert!(parsed.entries[1].contains("/a/b") && !parsed.entries[1].contains("/ab"));
    }

    #[test]
    fn positions_need_the_path_of_an_array() {
        let parse = |option: &str| ForCopy::parse(&[option.to_owned()], Caller::Program);
        assert!(parse("/a=0:10,5").is_ok());
        for (option, part) in [("0:10,5", "selects by dimension name"), ("x=1,5", "expected NAME=VALUE")] {
            let text = message(parse(option).unwrap_err());
            assert!(text.contains(part), "{option}: {text}");
        }
    }
}
