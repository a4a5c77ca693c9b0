//! What keys there are, and erasing them in bulk.

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use zarr_spec::store::{Directory, StoreError};
use zarr_spec::{ByteRange, Key, Prefix};

use crate::fetch::Part;
use crate::{CONCURRENCY, Inside, failure};

impl Inside {
    /// Every key that begins with `prefix`, sorted.
    pub(crate) async fn keys_below(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let below = self.place.of_prefix(prefix)?;
        let wrong = |error| failure::failed("listing", self.place.url_of(prefix.as_str()), &error, None);
        let (mut keys, mut empty) = (Vec::new(), Vec::new());
        let mut listed = self.store.list(below.as_ref());
        while let Some(object) = listed.try_next().await.map_err(wrong)? {
            let key = self.place.key(&object.location).filter(|key| prefix.strip(key.as_str()).is_some());
            match key {
                Some(key) if object.size == 0 => empty.push(key),
                Some(key) => keys.push(key),
                None => {}
            }
        }
        keys.extend(self.values_among(empty).await?);
        keys.sort_unstable();
        Ok(keys)
    }

    /// Of objects without bytes, those that are values: an object that stands for a folder is called `a/b/`, and is listed
    /// as `a/b`.
    async fn values_among(&self, empty: Vec<Key>) -> Result<Vec<Key>, StoreError> {
        let looked = stream::iter(empty).map(|key| async move {
            let part = Part { key: key.clone(), range: ByteRange::Last(0), limit: 0, room: None };
            Ok::<_, StoreError>(self.fetch(&part).await?.map(|_| key))
        });
        let found: Vec<Option<Key>> = looked.buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// What lies directly below `prefix`.
    pub(crate) async fn directory(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        let below = self.place.of_prefix(prefix)?;
        let listed = self.store.list_with_delimiter(below.as_ref()).await;
        let listed = listed
            .map_err(|error| failure::failed("listing", self.place.url_of(prefix.as_str()), &error, None))?;
        let keys = listed.objects.iter().filter_map(|object| self.place.key(&object.location));
        let mut keys: Vec<Key> = keys.filter(|key| prefix.strip(key.as_str()).is_some()).collect();
        let folders = listed.common_prefixes.iter().filter_map(|path| self.place.folder(path));
        let mut prefixes: Vec<Prefix> =
            folders.filter(|folder| folder.parent().as_ref() == Some(prefix)).collect();
        keys.sort_unstable();
        prefixes.sort_unstable();
        Ok(Directory { keys, prefixes })
    }

    /// Erases objects, many with a request where the service has such requests.
    pub(crate) async fn erase(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
        at: impl Fn() -> String,
    ) -> Result<(), StoreError> {
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
