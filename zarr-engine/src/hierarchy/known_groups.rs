//! A cache of the groups above nodes that were created. Creating another node below them does not check all of them
//! again. Without the cache, creating nested groups takes store calls in proportion to the square of the depth.
//!
//! The first and the last groups above a node are checked each time, because other programs may change them between two
//! calls. Changes through this context clear the cache in all its hierarchies: see [`Context::groups_changed`].

use std::collections::HashMap;
use std::sync::Mutex;

use zarr_spec::NodePath;

use crate::context::Context;
use crate::unpoisoned::Unpoisoned;

/// Number of groups at the top of the hierarchy that are checked each time.
const FIRST: usize = 2;

/// Number of groups directly above the node that are checked each time.
const LAST: usize = 2;

/// Maximum number of cached groups.
const MOST: usize = 10_000;

/// The cached groups of one hierarchy. If a group is cached, so are all groups above it. None of them has consolidated
/// metadata.
#[derive(Debug, Default)]
pub(super) struct KnownGroups(Mutex<Tree>);

/// A tree of group names. It stores no full paths.
#[derive(Debug, Default)]
struct Tree {
    /// The state of the context for which the tree is valid.
    state: State,
    /// For each group, the positions of its child groups in this list. The root comes first.
    groups: Vec<HashMap<String, usize>>,
}

/// The state of a context at the time of a check: the number of changes until then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State(u64);

#[derive(Debug)]
pub(super) struct Above {
    pub(super) groups: Vec<NodePath>,
    pub(super) state: State,
}

impl KnownGroups {
    pub(super) fn above(&self, context: &Context, path: &NodePath) -> Above {
        let state = State(context.group_changes());
        let depth = path.names().len();
        let known = {
            let tree = self.0.lock().unpoisoned();
            if tree.state == state { tree.known(path.names()) } else { 0 }
        };
        let last = depth.saturating_sub(LAST).max(FIRST).min(depth);
        let first = FIRST.max(known).min(last);
        let looked_at = (0..FIRST.min(last)).chain(first..depth);
        Above { groups: looked_at.filter_map(|depth| path.ancestor(depth)).collect(), state }
    }

    /// Caches the groups above `path`, which were checked in `state`, if the context is still in that state.
    pub(super) fn learn(&self, context: &Context, path: &NodePath, state: State) {
        let Some((_, names)) = path.names().split_last() else { return };
        let mut tree = self.0.lock().unpoisoned();
        if state.0 != context.group_changes() || names.len() >= MOST {
            return;
        }
        if tree.state != state || tree.groups.len() + names.len() >= MOST {
            *tree = Tree { state, groups: Vec::new() };
        }
        tree.add(names);
    }
}

impl Tree {
    /// Returns the number of cached groups on the path to the node with these names, from the root down, without the
    /// node itself.
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

    fn depths(known: &KnownGroups, context: &Context, text: &str) -> Vec<usize> {
        known.above(context, &path(text)).groups.iter().map(|group| group.names().len()).collect()
    }

    #[test]
    fn checks_the_middle_groups_only_until_they_are_cached() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let deep = "/a/b/c/d/e/f/g/h/i/j/k";
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        let state = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), state);
        assert_eq!(depths(&known, &context, deep), [0, 1, 9, 10]);
        // The groups down to `e` are cached.
        assert_eq!(depths(&known, &context, "/a/b/c/d/e/x/g/h/i/j/k"), [0, 1, 6, 7, 8, 9, 10]);
        for short in ["/", "/a", "/a/b/c", "/a/b/c/d"] {
            assert_eq!(depths(&known, &context, short), (0..path(short).names().len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn changes_through_the_context_clear_the_cache() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let deep = "/a/b/c/d/e/f/g/h/i/j/k";
        let before = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), before);
        context.clone().groups_changed();
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        // These groups were checked before the change, so they are not cached.
        known.learn(&context, &path(deep), before);
        assert_eq!(depths(&known, &context, deep), (0..11).collect::<Vec<_>>());
        let after = known.above(&context, &path(deep)).state;
        known.learn(&context, &path(deep), after);
        assert_eq!(depths(&known, &context, deep).len(), 4);
    }

    #[test]
    fn the_size_of_the_cache_is_bounded() {
        let known = KnownGroups::default();
        let context = Context::new(Registry::empty());
        let state = known.above(&context, &path("/")).state;
        for number in 0..2 * MOST {
            known.learn(&context, &path(&format!("/{number}/x")), state);
            assert!(known.0.lock().unpoisoned().groups.len() <= MOST);
        }
    }
}
