//! The contents of the cache: parts of values, decoded chunks and missing keys, with eviction of the least
//! recently used.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use zarr_spec::store::Version;
use zarr_spec::store::cache::{ChangeCount, ChunkId, ReadStart};
use zarr_spec::{ByteRange, Bytes, Key, Prefix};

use crate::lru::Lru;

/// Approximate memory in bytes per entry, besides its bytes and its key.
const OVERHEAD: usize = 512;

/// Maximum number of parts to search, backwards from the last one that starts before the requested range.
const MAX_SEARCHED_PARTS: usize = 16;

/// Number of change counters, which keys share. Bytes that were fetched before a change are not cached.
const COUNTERS: usize = 64;

/// The size and version of a whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) size: u64,
    pub(crate) version: Option<Version>,
}

/// The result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Unknown,
    /// The key does not have a value.
    Missing,
    Cached(T),
}

/// The contents of the cache.
#[derive(Debug)]
pub(crate) struct Entries {
    limit: usize,
    size: usize,
    items: Lru<Entry>,
    values: HashMap<Key, Value>,
    /// Counters of started, completed and noticed changes.
    changes: [u64; COUNTERS],
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    content: Content,
    /// The time of the last use.
    used: u64,
}

#[derive(Debug)]
enum Content {
    Part(Part),
    Chunk(Chunk),
    Missing,
}

#[derive(Debug)]
struct Part {
    /// Offset of this part in the value.
    start: u64,
    bytes: Bytes,
}

#[derive(Debug)]
struct Chunk {
    number: u64,
    decoding: Arc<str>,
    bytes: Bytes,
}

/// The state of a value, and the slots of its entries.
#[derive(Debug, Default)]
struct Value {
    state: Option<State>,
    /// Slots of parts, by offset.
    parts: BTreeMap<u64, usize>,
    /// Slots of chunks, by number.
    chunks: BTreeMap<u64, usize>,
    missing: Option<usize>,
}

impl Entries {
    pub(crate) fn new(limit: usize) -> Self {
        let items = Lru::new();
        let values = HashMap::new();
        Self { limit, size: 0, items, values, changes: [0; COUNTERS], uses: 0 }
    }

    /// Returns the size of all entries in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the logical time: the number of uses of entries so far.
    pub(crate) fn now(&self) -> ReadStart {
        ReadStart(self.uses)
    }

    pub(crate) fn changes(&self, key: &Key) -> ChangeCount {
        ChangeCount(self.changes[self.counter(key)])
    }

    /// Returns the bytes in `range` of a value and its state, if one part contains all of them.
    pub(crate) fn find(&mut self, key: &Key, range: ByteRange) -> Found<(Bytes, State)> {
        let Some(value) = self.values.get(key) else { return Found::Unknown };
        if let Some(slot) = value.missing {
            let _none = self.bytes_of(slot);
            return Found::Missing;
        }
        let Some(state) = value.state.clone() else { return Found::Unknown };
        let wanted = range.within(state.size);
        let mut near = value.parts.range(..=wanted.start).rev().take(MAX_SEARCHED_PARTS);
        let found = near.find_map(|(_, &slot)| match &self.items.get(slot)?.content {
            Content::Part(part) => Some((slot, part.bytes_in(&wanted)?)),
            _ => None,
        });
        let Some((slot, bytes)) = found else { return Found::Unknown };
        let _whole = self.bytes_of(slot);
        Found::Cached((bytes, state))
    }

    /// Returns a decoded chunk.
    pub(crate) fn find_chunk(&mut self, chunk: &ChunkId<'_>) -> Option<Bytes> {
        let slot = *self.values.get(chunk.key)?.chunks.get(&chunk.number)?;
        match &self.items.get(slot)?.content {
            // The pointers are compared first, because the entry and the request usually share the text of the
            // decoding.
            Content::Chunk(cached)
                if Arc::ptr_eq(&cached.decoding, chunk.decoding) || cached.decoding == *chunk.decoding => {}
            _ => return None,
        }
        self.bytes_of(slot)
    }

    /// Caches bytes of a value and its state, unless the value has changed since `changes` was taken.
    pub(crate) fn insert_part(
        &mut self,
        key: &Key,
        range: ByteRange,
        bytes: Bytes,
        state: State,
        changes: ChangeCount,
    ) {
        if changes != self.changes(key) {
            return;
        }
        self.note_state(key, &state);
        let is_inserted =
            self.insert(key, Content::Part(Part { start: range.within(state.size).start, bytes }));
        if is_inserted && let Some(value) = self.values.get_mut(key) {
            value.state = Some(state);
        }
    }

    /// Drops the entries of a value, unless they are known to belong to `state`.
    pub(crate) fn note_state(&mut self, key: &Key, state: &State) {
        if self.values.get(key).is_some_and(|value| value.state.as_ref() != Some(state)) {
            self.change(key);
        }
    }

    /// Returns whether a chunk of `size` bytes fits without evicting entries used after `start`.
    pub(crate) fn has_room_for(&self, key: &Key, size: usize, start: ReadStart) -> bool {
        self.has_room(cost(key, size), start)
    }

    /// Caches a decoded chunk, unless its value has changed since `changes` was taken. Returns false if that
    /// would evict entries used after `start`.
    pub(crate) fn insert_chunk(
        &mut self,
        chunk: &ChunkId<'_>,
        bytes: Bytes,
        changes: ChangeCount,
        start: ReadStart,
    ) -> bool {
        let &ChunkId { key, number, decoding, .. } = chunk;
        changes != self.changes(key)
            || (self.has_room(cost(key, bytes.len()), start)
                && self.insert(key, Content::Chunk(Chunk { number, decoding: Arc::clone(decoding), bytes })))
    }

    /// Caches that a key does not have a value, unless it has changed since `changes` was taken.
    pub(crate) fn insert_missing(&mut self, key: &Key, changes: ChangeCount) {
        if changes == self.changes(key) {
            self.note_missing(key);
            self.insert(key, Content::Missing);
        }
    }

    /// Drops all entries of a value that another program has erased.
    pub(crate) fn note_missing(&mut self, key: &Key) {
        if self.values.contains_key(key) {
            self.change(key);
        }
    }

    /// Drops all entries of a value. Bytes of it that are being fetched will not be cached.
    pub(crate) fn change(&mut self, key: &Key) {
        let counter = self.counter(key);
        self.changes[counter] += 1;
        self.drop_value(key);
    }

    /// Drops all entries of every value whose key starts with `prefix`.
    pub(crate) fn change_below(&mut self, prefix: &Prefix) {
        self.changes.iter_mut().for_each(|counter| *counter += 1);
        let below = self.values.keys().filter(|key| key.as_str().starts_with(prefix.as_str()));
        let keys: Vec<Key> = below.cloned().collect();
        keys.iter().for_each(|key| self.drop_value(key));
    }

    /// Drops all entries of a value.
    fn drop_value(&mut self, key: &Key) {
        let Some(Value { parts, chunks, missing, .. }) = self.values.remove(key) else { return };
        for slot in parts.into_values().chain(chunks.into_values()).chain(missing) {
            self.free(slot);
        }
    }

    fn counter(&self, key: &Key) -> usize {
        // The remainder fits into every integer type.
        usize::try_from(self.values.hasher().hash_one(key) % COUNTERS as u64).unwrap_or(0)
    }

    /// Returns the bytes in a slot and marks it as used.
    fn bytes_of(&mut self, slot: usize) -> Option<Bytes> {
        self.uses += 1;
        let item = self.items.touch(slot)?;
        item.used = self.uses;
        item.content.bytes().cloned()
    }

    /// Returns whether `cost` bytes fit without evicting entries used after `start`.
    fn has_room(&self, cost: usize, start: ReadStart) -> bool {
        let mut room = self.limit.saturating_sub(self.size);
        let mut old = self.items.iter().map(|(_, item)| item).take_while(|item| item.used <= start.0);
        while room < cost {
            let Some(item) = old.next() else { return false };
            room = room.saturating_add(item.cost());
        }
        true
    }

    /// Inserts an entry. Returns false if it exceeds the limit of the cache.
    fn insert(&mut self, key: &Key, content: Content) -> bool {
        let cost = cost(key, content.bytes().map_or(0, Bytes::len));
        if cost > self.limit {
            return false;
        }
        self.uses += 1;
        self.size += cost;
        let value = self.values.entry(key.clone()).or_default();
        // A value is either present or missing.
        let opposite = value.missing.take();
        let slot = self.items.next_slot();
        let before = match &content {
            Content::Part(part) => value.parts.insert(part.start, slot),
            Content::Chunk(chunk) => value.chunks.insert(chunk.number, slot),
            Content::Missing => value.missing.replace(slot),
        };
        self.items.add(Entry { key: key.clone(), content, used: self.uses });
        before.into_iter().chain(opposite).for_each(|slot| self.free(slot));
        while self.size > self.limit {
            let Some((oldest, _)) = self.items.iter().next() else { break };
            self.drop_entry(oldest);
        }
        true
    }

    /// Drops one entry, and its value if it was the last one.
    fn drop_entry(&mut self, slot: usize) {
        let Some(Entry { key, content, .. }) = self.items.get(slot) else { return };
        if let Some(value) = self.values.get_mut(key) {
            match content {
                Content::Part(part) => value.parts.remove(&part.start),
                Content::Chunk(chunk) => value.chunks.remove(&chunk.number),
                Content::Missing => value.missing.take(),
            };
            if value.parts.is_empty() && value.chunks.is_empty() && value.missing.is_none() {
                self.values.remove(key);
            }
        }
        self.free(slot);
    }

    /// Empties a slot that no longer belongs to a value.
    fn free(&mut self, slot: usize) {
        if let Some(item) = self.items.remove(slot) {
            self.size -= item.cost();
        }
    }
}

impl Entry {
    fn cost(&self) -> usize {
        cost(&self.key, self.content.bytes().map_or(0, Bytes::len))
    }
}

impl Content {
    fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Part(Part { bytes, .. }) | Self::Chunk(Chunk { bytes, .. }) => Some(bytes),
            Self::Missing => None,
        }
    }
}

impl Part {
    /// Returns these bytes of the value if the part contains all of them.
    fn bytes_in(&self, wanted: &Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(wanted.start.checked_sub(self.start)?).ok()?;
        let end = usize::try_from(wanted.end.checked_sub(self.start)?).ok()?;
        (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }
}

/// Returns the cost of caching `size` bytes under a key.
fn cost(key: &Key, size: usize) -> usize {
    size.saturating_add(2 * key.as_str().len() + OVERHEAD)
}
