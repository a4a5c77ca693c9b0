//! Groups that were seen above nodes that were created. Creating another node below them does not look at all of them
//! again: otherwise creating groups inside of groups takes store calls in proportion to the square of their depth.
//!
//! The first and the last groups above a node are looked at each time, because other programs may change them between
//! two calls. Changes through this context clear the memory of all its hierarchies: see [`Context::groups_changed`].

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zarr_spec::NodePath;

use crate::context::Context;

/// Groups at the top of the hierarchy that are looked at each time.
const FIRST: usize = 2;

/// Groups directly above the node that are looked at each time.
const LAST: usize = 2;

/// Groups that are remembered at most.
const MOST: usize = 10_000;

/// The groups of one hierarchy that are known. All groups above them are known, too, and none of them has consolidated
/// metadata.
#[derive(Debug, Default)]
pub(super) struct KnownGroups(Mutex<Tree>);

/// Groups by their names, without a copy of the path for each of them.
#[derive(Debug, Default)]
struct Tree {
    /// The state of the context that this belongs to.
    state: State,
    /// The places of the groups below each group. The root comes first.
    groups: Vec<HashMap<String, usize>>,
}

/// The number of changes after which something was learnt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State(u64);

/// The groups above a node that are to be looked at before it is created.
#[derive(Debug)]
pub(super) struct Above {
    /// Groups with fewer names come first.
    pub(super) groups: Vec<NodePath>,
    /// When this was found out.
    pub(super) state: State,
}

impl KnownGroups {
    /// The groups above `path` that are to be looked at.
    pub(super) fn above(&self, context: &Context, path: &NodePath) -> Above {
        let state = State(context.group_changes());
        let depth = path.names().len();
        let known = {
            let tree = self.lock();
            if tree.state == state { tree.known(path.names()) } else { 0 }
        };
        let last = depth.saturating_sub(LAST).max(FIRST).min(depth);
        let first = FIRST.max(known).min(last);
        let looked_at = (0..FIRST.min(last)).chain(first..depth);
        Above { groups: looked_at.filter_map(|depth| path.ancestor(depth)).collect(), state }
    }

    /// Remembers the groups above `path`, if they were looked at in `state` and the context is still in it.
    pub(super) fn learn(&self, context: &Context, path: &NodePath, state: State) {
        let Some((_, names)) = path.names().split_last() else { return };
        let mut tree = self.lock();
        if state.0 != context.group_changes() || names.len() >= MOST {
            return;
        }
        if tree.state != state || tree.groups.len() + names.len() >= MOST {
            *tree = Tree { state, groups: Vec::new() };
        }
        tree.add(names);
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree {
    /// How many groups on the way to the node with these names are known, from the root down. The node itself is not
    /// one of them.
    fn known(&self, names: &[String]) -> usize {
        let mut group = self.groups.first();
        let mut count = 0;
        for name in names {
            let Some(there) = group else { break };
            count += 1;
            group = there.get(name).and_then(|&place| self.groups.get(place));
        }
        count
    }

    /// Adds the group with these names, and all groups above it.
    fn add(&mut self, names: &[String]) {
        if self.groups.is_empty() {
            self.groups.push(HashMap::new());
        }
        let mut place = 0;
        for name in names {
            let next = self.groups.len();
            let Some(group) = self.groups.get_mut(place) else { return };
            place = match group.get(name) {
                Some(&known) => known,
                None => {
                    group.insert(name.clone(), next);
                    self.groups.push(HashMap::new());
                    next
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::{Format, Registry};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V3).unwrap()
    }

    /// The numbers of names of the groups that are looked at.
    fn depths(known: &KnownGroups, context: &Context, text: &str) -> Vec<usize> {
        known.above(context, &path(text)).groups.iter().map(|group| group.names().len()).collect()
    }

    #[test]
    fn groups_between_the_first_and_the_last_ones_are_looked_at_until_they_are_known() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let deep = "/a/b/c/d/e/f/g/h/i/j/k";
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        let state = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), state);
        assert_eq!(depths(&known, &context, deep), [0, 1, 9, 10]);
        // Groups that are known down to `e`.
        assert_eq!(depths(&known, &context, "/a/b/c/d/e/x/g/h/i/j/k"), [0, 1, 6, 7, 8, 9, 10]);
        for short in ["/", "/a", "/a/b/c", "/a/b/c/d"] {
            assert_eq!(depths(&known, &context, short), (0..path(short).names().len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_the_context_changes_clears_the_memory() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let deep = "/a/b/c/d/e/f/g/h/i/j/k";
        let before = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), before);
        context.clone().groups_changed();
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        // Something that was looked at before the change.
        known.learn(&context, &path(deep), before);
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        let after = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), after);
        assert_eq!(depths(&known, &context, deep).len(), 4);
    }

    #[test]
    fn the_memory_is_bounded() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let state = known.above(&context, &path("/")).state;
        for number in 0..2 * MOST {
            known.learn(&context, &path(&format!("/{number}/x")), state);
            assert!(known.lock().groups.len() <= MOST);
        }
    }
}
