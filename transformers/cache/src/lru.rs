//! A list of items in the order of their last use.

/// Marks the end of a list.
const END: usize = usize::MAX;

/// Items in stable slots, linked from least to most recently used.
#[derive(Debug)]
pub(crate) struct Lru<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    oldest: usize,
    newest: usize,
}

#[derive(Debug)]
struct Slot<T> {
    item: Option<T>,
    older: usize,
    newer: usize,
}

impl<T> Lru<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), oldest: END, newest: END }
    }

    /// Returns the slot that [`Lru::add`] uses next.
    pub(crate) fn next_slot(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slots.len())
    }

    /// Adds the most recently used item and returns its slot.
    pub(crate) fn add(&mut self, item: T) -> usize {
        let slot = self.next_slot();
        if self.free.pop().is_none() {
            self.slots.push(Slot { item: None, older: END, newer: END });
        }
        self.slots[slot].item = Some(item);
        self.link(slot);
        slot
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.item.as_ref()
    }

    /// Returns the item in a slot and makes it the most recently used one.
    pub(crate) fn touch(&mut self, slot: usize) -> Option<&mut T> {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
        self.slots[slot].item.as_mut()
    }

    /// Removes the item in a slot.
    pub(crate) fn remove(&mut self, slot: usize) -> Option<T> {
        let item = self.slots.get_mut(slot)?.item.take()?;
        self.unlink(slot);
        self.free.push(slot);
        Some(item)
    }

    /// Iterates over all items with their slots, least recently used first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let at = next;
            let slot = self.slots.get(next)?;
            next = slot.newer;
            Some((at, slot.item.as_ref()?))
        })
    }

    fn link(&mut self, slot: usize) {
        let before = std::mem::replace(&mut self.newest, slot);
        self.slots[slot].older = before;
        self.slots[slot].newer = END;
        match before {
            END => self.oldest = slot,
            before => self.slots[before].newer = slot,
        }
    }

    fn unlink(&mut self, slot: usize) {
        let Slot { older, newer, .. } = self.slots[slot];
        match older {
            END => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
        match newer {
            END => self.newest = older,
            newer => self.slots[newer].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lru: &Lru<char>) -> String {
        lru.iter().map(|(_, item)| item).collect()
    }

    #[test]
    fn used_items_move_to_the_end() {
        let mut lru = Lru::new();
        let slots: Vec<usize> = "abc".chars().map(|item| lru.add(item)).collect();
        assert_eq!(order(&lru), "abc");
        assert_eq!(lru.touch(slots[0]), Some(&mut 'a'));
        assert_eq!(lru.touch(slots[0]), Some(&mut 'a'));
        assert_eq!(order(&lru), "bca");
        assert_eq!(lru.remove(slots[2]), Some('c'));
        assert_eq!((lru.remove(slots[2]), lru.get(slots[2])), (None, None));
        assert_eq!(order(&lru), "ba");
        assert_eq!(lru.add('d'), slots[2]);
        assert_eq!(order(&lru), "bad");
        for slot in slots {
            assert!(lru.remove(slot).is_some());
        }
        assert_eq!(order(&lru), "");
        lru.add('e');
        assert_eq!(order(&lru), "e");
    }
}
