//! What is in memory: parts of values, in the order in which they were used.

use std::collections::BTreeMap;
use std::ops::Bound;

use zarr_spec::store::Version;
use zarr_spec::{ByteRange, Bytes, Key, Prefix};

/// Bytes that a part takes in memory beside its own and those of its key, about.
const OVERHEAD: usize = 256;

/// Parts that are looked into, back from the one that begins last before what is wanted.
const LOOKED_INTO: usize = 16;

/// What a store says of a whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) size: u64,
    pub(crate) version: Option<Version>,
}

/// Parts of values.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Changes that were begun or ended so far.
    pub(crate) changes: u64,
    limit: usize,
    size: usize,
    /// By when they were last used, so that the first one is the next to go.
    parts: BTreeMap<u64, Part>,
    values: BTreeMap<Key, Value>,
    uses: u64,
}

#[derive(Debug)]
struct Part {
    key: Key,
    /// Bytes of the value before this part.
    start: u64,
    bytes: Bytes,
    /// Whether it ends where the value does.
    is_end: bool,
    /// Whether it is known to be of the state that the value has here.
    has_state: bool,
}

/// What is known of a value: where its parts are.
#[derive(Debug, Default)]
struct Value {
    state: Option<State>,
    /// When each part was last used, by where it begins.
    parts: BTreeMap<u64, u64>,
}

impl Kept {
    pub(crate) fn new(limit: usize) -> Self {
        Self { changes: 0, limit, size: 0, parts: BTreeMap::new(), values: BTreeMap::new(), uses: 0 }
    }

    /// Bytes in memory.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The bytes in `range` of a value.
    pub(crate) fn find(&mut self, key: &Key, range: ByteRange) -> Option<Bytes> {
        self.take_part(key, range, false)
    }

    /// The same, if the state of the value is known, too.
    pub(crate) fn find_with_state(&mut self, key: &Key, range: ByteRange) -> Option<(Bytes, State)> {
        let state = self.values.get(key)?.state.clone()?;
        Some((self.take_part(key, range, true)?, state))
    }

    /// Keeps what was read of a value, unless something was changed since there were `changes`.
    pub(crate) fn keep(&mut self, key: &Key, range: ByteRange, bytes: &[u8], changes: u64) {
        let len = bytes.len() as u64;
        let (start, is_end) = match range {
            ByteRange::Full => (0, true),
            ByteRange::From(offset) => (offset, len > 0),
            ByteRange::Range { offset, size } => (offset, 0 < len && len < size),
            // Without the size of the value, nobody knows where that is.
            ByteRange::Last(_) => return,
        };
        if changes == self.changes {
            self.insert(Part { key: key.clone(), start, bytes: own(bytes), is_end, has_state: false });
        }
    }

    /// The same, with the state of the value: parts of another state are forgotten.
    pub(crate) fn keep_with_state(
        &mut self,
        key: &Key,
        range: ByteRange,
        bytes: &[u8],
        state: State,
        changes: u64,
    ) {
        if changes != self.changes {
            return;
        }
        let part = range.within(state.size);
        let (start, is_end) = (part.start, part.end == state.size);
        if self.values.get(key).is_none_or(|value| value.state.as_ref() != Some(&state)) {
            self.forget(key);
        }
        let part = Part { key: key.clone(), start, bytes: own(bytes), is_end, has_state: true };
        if self.insert(part)
            && let Some(value) = self.values.get_mut(key)
        {
            value.state = Some(state);
        }
    }

    /// Drops all of a value.
    pub(crate) fn forget(&mut self, key: &Key) {
        let Some(value) = self.values.remove(key) else { return };
        for used in value.parts.into_values() {
            if let Some(part) = self.parts.remove(&used) {
                self.size -= part.cost();
            }
        }
    }

    /// Drops every value whose key begins with `prefix`.
    pub(crate) fn forget_below(&mut self, prefix: &Prefix) {
        let below = self.values.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let below = below.map(|(key, _)| key).take_while(|key| key.as_str().starts_with(prefix.as_str()));
        let keys: Vec<Key> = below.cloned().collect();
        keys.iter().for_each(|key| self.forget(key));
    }

    /// The bytes in `range`, out of a part that has them all and counts as used from now on.
    fn take_part(&mut self, key: &Key, range: ByteRange, needs_state: bool) -> Option<Bytes> {
        let value = self.values.get_mut(key)?;
        let size = value.state.as_ref().map(|state| state.size);
        let from = match range {
            ByteRange::Full => 0,
            ByteRange::From(offset) | ByteRange::Range { offset, .. } => offset,
            ByteRange::Last(_) => range.within(size?).start,
        };
        let near = value.parts.range_mut(..=from).rev().take(LOOKED_INTO);
        let (used, bytes) = near.into_iter().find_map(|(_, used)| {
            let part = self.parts.get(used).filter(|part| part.has_state || !needs_state)?;
            let bytes = part.bytes_in(range, size)?;
            Some((used, bytes))
        })?;
        let part = self.parts.remove(used)?;
        self.uses += 1;
        *used = self.uses;
        self.parts.insert(self.uses, part);
        Some(bytes)
    }

    /// Whether there is room for the part at all.
    fn insert(&mut self, part: Part) -> bool {
        let cost = part.cost();
        if cost > self.limit {
            return false;
        }
        self.uses += 1;
        self.size += cost;
        let before = self.values.entry(part.key.clone()).or_default().parts.insert(part.start, self.uses);
        if let Some(before) = before.and_then(|used| self.parts.remove(&used)) {
            self.size -= before.cost();
        }
        self.parts.insert(self.uses, part);
        while self.size > self.limit {
            self.drop_oldest();
        }
        true
    }

    fn drop_oldest(&mut self) {
        let Some((_, part)) = self.parts.pop_first() else { return };
        self.size -= part.cost();
        if let Some(value) = self.values.get_mut(&part.key) {
            value.parts.remove(&part.start);
            if value.parts.is_empty() {
                self.values.remove(&part.key);
            }
        }
    }
}

impl Part {
    fn cost(&self) -> usize {
        self.bytes.len() + 2 * self.key.as_str().len() + OVERHEAD
    }

    /// The bytes in `range` of the value, if they are all here. `size` is that of the value, where it is known.
    fn bytes_in(&self, range: ByteRange, size: Option<u64>) -> Option<Bytes> {
        let end = self.start.checked_add(self.bytes.len() as u64)?;
        let size = if self.is_end { Some(end) } else { size };
        let wanted = match (range, size) {
            (range, Some(size)) => range.within(size),
            (ByteRange::Range { offset, size }, None) => offset..offset.checked_add(size)?,
            (_, None) => return None,
        };
        if wanted.start < self.start || wanted.end > end {
            return None;
        }
        let start = usize::try_from(wanted.start - self.start).ok()?;
        let end = usize::try_from(wanted.end - self.start).ok()?;
        Some(self.bytes.slice(start..end))
    }
}

/// A part must not keep alive the larger memory that a store lent it from.
fn own(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
