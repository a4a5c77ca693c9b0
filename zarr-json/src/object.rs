//! Members in document order.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::ops::Index;

use super::Value;
use super::text::Text;

/// The members of a JSON object, in document order. Names are unique.
///
/// Two objects are equal if they have the same members in any order.
#[derive(Clone, Default)]
pub struct Object {
    members: Vec<(Text, Value)>,
    /// The position of every name, if there are too many members for a linear search.
    #[expect(
        clippy::box_collection,
        reason = "few objects have an index, and the box keeps all values small"
    )]
    index: Option<Box<HashMap<Box<str>, usize>>>,
}

/// Up to this number of members, a linear search is faster than a hash and does not need memory.
const MAX_UNINDEXED: usize = 32;

impl Object {
    /// Creates an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Checks whether there are no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Checks whether there is a member with this name.
    #[inline]
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Returns the value of the member with this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Value> {
        Some(&self.members[self.position(name)?].1)
    }

    /// Returns the value of the member with this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let position = self.position(name)?;
        Some(&mut self.members[position].1)
    }

    /// Sets a member. Replaces and returns the value of an existing member; appends a new one.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Value>) -> Option<Value> {
        let name = name.as_ref();
        let value = value.into();
        if let Some(old) = self.get_mut(name) {
            return Some(mem::replace(old, value));
        }
        self.append(name, value);
        None
    }

    /// Adds a member with a new name.
    pub(super) fn append(&mut self, name: &str, value: Value) {
        if let Some(index) = &mut self.index {
            index.insert(name.into(), self.members.len());
        }
        if self.members.len() == self.members.capacity() {
            // Most objects have one or two members, so the first allocation is for one member.
            self.members.reserve_exact(self.members.len().max(1));
        }
        self.members.push((name.into(), value));
        if self.index.is_none() && self.len() > MAX_UNINDEXED {
            self.index = Some(Box::new(self.keys().map(Into::into).zip(0..).collect()));
        }
    }

    /// Returns the size of this object's allocations, without the allocations of values and long names.
    #[inline]
    pub(super) fn heap_size(&self) -> usize {
        /// The size of an entry of the index: the name, its position, and a control byte.
        const INDEXED: usize = 32;
        /// The overhead of the copy of a name in the index.
        const NAME: usize = 16;
        let index = self.index.as_ref().map_or(0, |index| index.capacity() * INDEXED + index.len() * NAME);
        self.members.capacity() * size_of::<(Text, Value)>() + index
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.members.shrink_to_fit();
    }

    /// Removes a member and preserves the order of the others, in linear time.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let position = self.position(name)?;
        if let Some(index) = &mut self.index {
            index.remove(name);
            index.values_mut().filter(|at| **at > position).for_each(|at| *at -= 1);
        }
        Some(self.members.remove(position).1)
    }

    /// Iterates over the members in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.members.iter())
    }

    /// Iterates over the names in order.
    #[inline]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    /// Iterates over the values in order.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.members.iter().map(|(_, value)| value)
    }

    /// Iterates over the values in order.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.members.iter_mut().map(|(_, value)| value)
    }

    /// Iterates over the members whose names are not in `names`, in order.
    #[inline]
    pub fn except<'a, 'n>(
        &'a self,
        names: &'n [&'n str],
    ) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a, 'n> {
        // Comparing bytes avoids validating the names.
        let is_other = |name: &Text| !names.iter().any(|other| other.as_bytes() == name.as_bytes());
        let others = self.members.iter().filter(move |(name, _)| is_other(name));
        others.map(|(name, value)| (name.as_str(), value))
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.members.iter().position(|(other, _)| other.as_bytes() == name.as_bytes()),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Object {}

/// Returns the value of the member with this name, or null if there is none.
impl Index<&str> for Object {
    type Output = Value;

    #[inline]
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

/// Collects members. If a name occurs twice, the last value replaces the first.
impl<K: AsRef<str>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        object.extend(members);
        object
    }
}

impl<K: AsRef<str>, V: Into<Value>, const COUNT: usize> From<[(K, V); COUNT]> for Object {
    fn from(members: [(K, V); COUNT]) -> Self {
        members.into_iter().collect()
    }
}

impl<K: AsRef<str>, V: Into<Value>> Extend<(K, V)> for Object {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, members: I) {
        for (name, value) in members {
            self.insert(name, value);
        }
    }
}

/// The members of an [`Object`] in order.
#[derive(Debug, Clone)]
pub struct Iter<'a>(std::slice::Iter<'a, (Text, Value)>);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a str, &'a Value);
    type IntoIter = Iter<'a>;

    #[inline]
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The members of a consumed [`Object`] in order.
#[derive(Debug)]
pub struct IntoIter(std::vec::IntoIter<(Text, Value)>);

impl Iterator for IntoIter {
    type Item = (String, Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str().to_owned(), value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoIter {}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = IntoIter;

    #[inline]
    fn into_iter(self) -> IntoIter {
        IntoIter(self.members.into_iter())
    }
}
