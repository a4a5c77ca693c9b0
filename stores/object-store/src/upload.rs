//! Writing values: with one request, or in parts.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt, PutOptions};
use zarr_spec::Key;
use zarr_spec::store::StoreResult;

use crate::Shared;
use crate::client::Seen;
use crate::failure::failed;

/// A value of at least this size is uploaded in parts, which are sent at the same time and repeated separately.
const LARGE: usize = 64 << 20;

/// The usual size of a part in bytes.
const PART: usize = 16 << 20;

/// The maximum number of parts in all services.
const MOST_PARTS: usize = 10_000;

/// The maximum number of parts that are sent at the same time.
const AT_ONCE: usize = 8;

impl Shared {
    /// Implements [`zarr_spec::store::Store::set`].
    pub(crate) async fn set(&self, key: &Key, value: Bytes) -> StoreResult<()> {
        let path = self.place.of_key(key)?;
        let seen = Seen::default();
        let written = match value.len() < LARGE {
            true => {
                let mut options = PutOptions::default();
                options.extensions.insert(seen.clone());
                self.store.put_opts(&path, value.into(), options).await.map(drop)
            }
            false => self.upload(&path, &value).await,
        };
        written.map_err(|error| failed("writing", self.place.url_of(key.as_str()), &error, Some(&seen)))
    }

    /// Uploads a value in parts. Readers see the old value until all of them are there.
    async fn upload(&self, path: &Path, value: &Bytes) -> Result<(), Error> {
        let mut upload = self.store.put_multipart(path).await?;
        let size = part_size(value.len());
        let starts = (0..value.len()).step_by(size);
        let parts = stream::iter(starts)
            .map(|start| upload.put_part(value.slice(start..value.len().min(start + size)).into()))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await;
        let completed = match parts {
            Ok(()) => upload.complete().await.map(drop),
            Err(error) => Err(error),
        };
        if completed.is_err() {
            // The parts would cost storage. If aborting fails too, the first failure is reported.
            let _aborted = upload.abort().await;
        }
        completed
    }
}

/// Returns the size of the parts of a value, all of which except the last have the same size.
fn part_size(size: usize) -> usize {
    PART.max(size.div_ceil(MOST_PARTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_at_most_as_many_parts_as_services_accept() {
        assert_eq!(part_size(LARGE), PART);
        for size in [1usize << 36, 1 << 40, (1 << 40) + 1] {
            assert!(size.div_ceil(part_size(size)) <= MOST_PARTS, "{size}");
        }
    }
}
