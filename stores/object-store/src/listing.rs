//! Listing keys, and erasing many of them.

use std::vec;

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::ObjectMeta;
use object_store::path::Path;
use zarr_spec::store::{Directory, StoreError, StoreResult};
use zarr_spec::{ByteRange, Key, Prefix};

use crate::client::Seen;
use crate::fetch::Part;
use crate::{CONCURRENCY, RemoteStore, Shared, failure};

/// Maximum number of objects in memory: services return this number per response.
const PAGE: usize = 1000;

/// Iterates over every key that starts with a prefix. Requests a response when all keys of the previous one are
/// taken.
pub(crate) struct Listing<'s> {
    store: &'s RemoteStore,
    prefix: Prefix,
    keys: vec::IntoIter<Key>,
    /// `None` at the end.
    objects: Option<Objects>,
    seen: Seen,
}

/// Listed objects, grouped by response.
type Objects = BoxStream<'static, Vec<object_store::Result<ObjectMeta>>>;

/// The keys of one response, and the objects of the later responses.
struct Page {
    keys: Vec<Key>,
    objects: Option<Objects>,
}

impl<'s> Listing<'s> {
    /// Waits for the first response.
    ///
    /// # Errors
    ///
    /// Those of the service.
    pub(crate) fn begin(store: &'s RemoteStore, prefix: &Prefix) -> StoreResult<Self> {
        let below = prefix.clone();
        let seen = Seen::of_listing();
        let of_page = seen.clone();
        let Page { keys, objects } = store.wait("listing", |shared| async move {
            let path = shared.place.of_prefix(&below)?;
            let objects = shared.store.list(path.as_ref()).ready_chunks(PAGE).boxed();
            shared.page(&below, objects, &of_page).await
        })?;
        Ok(Self { store, prefix: prefix.clone(), keys: keys.into_iter(), objects, seen })
    }
}

impl Iterator for Listing<'_> {
    type Item = StoreResult<Key>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(key) = self.keys.next() {
                return Some(Ok(key));
            }
            let objects = self.objects.take()?;
            let prefix = self.prefix.clone();
            let seen = self.seen.clone();
            let page = self
                .store
                .wait("listing", |shared| async move { shared.page(&prefix, objects, &seen).await });
            match page {
                Ok(Page { keys, objects }) => {
                    self.keys = keys.into_iter();
                    self.objects = objects;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Shared {
    /// Returns the keys of the next response.
    async fn page(&self, prefix: &Prefix, mut objects: Objects, seen: &Seen) -> StoreResult<Page> {
        let Some(listed) = seen.during(objects.next()).await else {
            return Ok(Page { keys: Vec::new(), objects: None });
        };
        let mut keys = Vec::with_capacity(listed.len());
        let mut empty = Vec::new();
        for object in listed {
            let object = object.map_err(|error| self.cannot_list(prefix, &error, seen))?;
            let key = self.place.key(&object.location).filter(|key| prefix.strip(key.as_str()).is_some());
            match key {
                Some(key) if object.size == 0 => empty.push(key),
                Some(key) => keys.push(key),
                None => {}
            }
        }
        keys.extend(self.values_among(empty).await?);
        Ok(Page { keys, objects: Some(objects) })
    }

    /// Returns the keys of empty objects that are values. An object that represents a folder is called `a/b/`
    /// but listed as `a/b`.
    async fn values_among(&self, empty: Vec<Key>) -> StoreResult<Vec<Key>> {
        let looked = stream::iter(empty).map(|key| async move {
            let part = Part { key: key.clone(), range: ByteRange::Last(0), limit: 0, budget: None };
            Ok::<_, StoreError>(self.fetch(&part).await?.map(|_| key))
        });
        let found: Vec<Option<Key>> = looked.buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns the keys and prefixes directly below `prefix`.
    pub(crate) async fn directory(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let below = self.place.of_prefix(prefix)?;
        let seen = Seen::of_listing();
        let listed = seen.during(self.store.list_with_delimiter(below.as_ref())).await;
        let listed = listed.map_err(|error| self.cannot_list(prefix, &error, &seen))?;
        let keys = listed.objects.iter().filter_map(|object| self.place.key(&object.location));
        let keys = keys.filter(|key| prefix.strip(key.as_str()).is_some());
        let folders = listed.common_prefixes.iter().filter_map(|path| self.place.folder(path));
        let prefixes = folders.filter(|folder| folder.parent().as_ref() == Some(prefix));
        Ok(Directory::new(keys.collect(), prefixes.collect()))
    }

    fn cannot_list(&self, prefix: &Prefix, error: &object_store::Error, seen: &Seen) -> StoreError {
        failure::failed("listing", self.place.url_of(prefix.as_str()), error, Some(seen))
    }

    /// Erases objects, many per request if the service supports that.
    pub(crate) async fn erase(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
        at: impl Fn() -> String,
    ) -> StoreResult<()> {
        let mut erased = self.store.delete_stream(paths);
        while let Some(result) = erased.next().await {
            match result {
                Err(error) if !failure::is_missing_key(&error) => {
                    return Err(failure::failed("erasing", at(), &error, None));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}
