//! Storage transformers for these tests: one that changes nothing, and one that tags the keys and values that
//! it stores.

use std::sync::Arc;

use zarr_kit::Registry;
use zarr_kit::spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError, get_value,
};
use zarr_kit::spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_kit::spec::{Identifiers, Invalid, Key, Output, Prefix};

pub(super) const IDENTITY: &str = "https://e.org/st/identity/1.0";
pub(super) const TAGGING: &str = "https://e.org/st/tagging/1.0";

/// Registers both transformers.
pub(super) fn register(registry: &mut Registry) {
    let identifiers = |uri| Identifiers::uri(uri);
    let identity = StorageTransformerPlugin::new(identifiers(IDENTITY), &|_, _| {
        Ok(StorageTransformer::Wrap(Arc::new(Identity)))
    });
    registry.register(identity).unwrap();
    let tagging = StorageTransformerPlugin::new(identifiers(TAGGING), &|creation, _| {
        let tag = creation
            .configuration
            .as_object()
            .and_then(|members| members.get("tag")?.as_str()?.chars().next());
        let tag = tag.and_then(|tag| u8::try_from(tag).ok());
        let tag = tag.ok_or_else(|| Invalid::new("expected `tag` to be a letter"))?;
        Ok(StorageTransformer::Wrap(Arc::new(Tagging { tag })))
    });
    registry.register(tagging).unwrap();
}

/// Forwards everything.
#[derive(Debug)]
pub(super) struct Identity;

impl WrappingTransformer for Identity {
    fn wrap(&self, next: Arc<dyn Store>, _array: &Prefix) -> Arc<dyn Store> {
        Arc::new(Same(next))
    }
}

#[derive(Debug)]
struct Same(Arc<dyn Store>);

zarr_kit::spec::delegate_store! {
    impl Store for Same {
        forward(self.0): describe, read, cache, write, remove, list;
    }
}

/// Adds a letter before each name below the array, and after the bytes of each value of the array.
#[derive(Debug)]
pub(super) struct Tagging {
    pub(super) tag: u8,
}

impl WrappingTransformer for Tagging {
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store> {
        Arc::new(Tagged { next, array: array.clone(), tag: self.tag })
    }
}

#[derive(Debug)]
struct Tagged {
    next: Arc<dyn Store>,
    array: Prefix,
    tag: u8,
}

impl Tagged {
    /// Returns the key in the next stage for a key of the array; `None` for other keys.
    fn inner(&self, key: &Key) -> Option<Key> {
        let rest = self.array.strip(key.as_str())?;
        Some(self.array.key(&format!("{}-{rest}", char::from(self.tag))).unwrap())
    }

    /// Returns the key in this stage for a key of the next stage; `None` for a key of the array without the letter.
    fn outer(&self, key: &Key) -> Option<Key> {
        match self.array.strip(key.as_str()) {
            None => Some(key.clone()),
            Some(rest) => {
                let rest = rest.strip_prefix(char::from(self.tag))?.strip_prefix('-')?;
                Some(self.array.key(rest).unwrap())
            }
        }
    }
}

impl Store for Tagged {
    fn location(&self) -> String {
        format!("tagging {}", self.next.location())
    }

    fn capabilities(&self) -> Capabilities {
        self.next.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.next.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let Some(inner) = self.inner(key) else { return self.next.get(key, options, to) };
        let Some(value) = get_value(&*self.next, &inner, usize::MAX)? else { return Ok(None) };
        let Some((tag, bytes)) = value.split_last() else {
            return Err(Invalid::new("the tag is missing").into());
        };
        assert_eq!(*tag, self.tag, "a value of another stage");
        let size = bytes.len() as u64;
        let range = options.range.within(size);
        let part = &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
        to.put(part).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        Ok(Some(GetResult::new(Contents::Written, size, None)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        match self.inner(key) {
            Some(inner) => self.next.set(&inner, [&*value, &[self.tag]].concat().into()),
            None => self.next.set(key, value),
        }
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.next.erase(&self.inner(key).unwrap_or_else(|| key.clone()))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let keys = self.next.list()?;
        let mut keys: Vec<Key> = keys.iter().filter_map(|key| self.outer(key)).collect();
        keys.retain(|key| prefix.strip(key.as_str()).is_some());
        Ok(Box::new(keys.into_iter().map(Ok)))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        match self.inner(key) {
            Some(inner) => Ok(self.next.size(&inner)?.map(|size| size.saturating_sub(1))),
            None => self.next.size(key),
        }
    }
}
