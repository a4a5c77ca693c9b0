//! A cache of one entry.

use std::sync::Mutex;

use crate::unpoisoned::Unpoisoned;

/// The last value that was made, and the key that it was made from.
#[derive(Debug)]
pub(super) struct Last<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for Last<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone, V: Clone> Last<K, V> {
    /// Returns the cached value if `is_same` is true for its key; otherwise calls `make` and caches the result. Errors
    /// are not cached.
    pub(super) fn get_or_make<E>(
        &self,
        key: &K,
        is_same: impl FnOnce(&K, &K) -> bool,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<V, E> {
        if let Some((last, made)) = &*self.0.lock().unpoisoned()
            && is_same(last, key)
        {
            return Ok(made.clone());
        }
        // The lock is not held while `make` calls plugins.
        let made = make(key)?;
        *self.0.lock().unpoisoned() = Some((key.clone(), made.clone()));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_is_made_once() {
        let last = Last::default();
        let mut calls = 0;
        let mut of = |key: i32| {
            last.get_or_make(&key, i32::eq, |key| {
                calls += 1;
                if *key < 0 { Err(()) } else { Ok(key * 2) }
            })
        };
        assert_eq!([1, 1, 2, -1, 2, 1].map(&mut of), [Ok(2), Ok(2), Ok(4), Err(()), Ok(4), Ok(2)]);
        assert_eq!(calls, 4);
    }
}
