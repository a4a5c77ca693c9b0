//! A store that holds only nodes, as a store of any keys and values.

use std::sync::Arc;

use zarr_spec::store::{
    Capabilities, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Request, Response, Responses,
    Store, StoreError, StoreResult, erase_listed, rewrite_values,
};
use zarr_spec::{ByteRange, Key, Output, Prefix};

/// The document of the array that holds a value.
const DOCUMENT: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {}}"#;

/// The name of the only chunk of such an array.
const CHUNK: &str = "c";

/// Precedes every value, because a chunk has at least one byte.
const FIRST: u8 = b'v';

/// Returns the store on which rules are checked: `store`, or one that holds any keys in it.
pub(crate) fn with_any_keys(store: Arc<dyn Store>) -> Arc<dyn Store> {
    match holds_only_nodes(&*store) {
        true => Arc::new(ValuesInArrays(store)),
        false => store,
    }
}

/// Returns whether a store refuses the key of a value that is neither a document nor a chunk. Only a store that adapts
/// documents may do that.
fn holds_only_nodes(store: &dyn Store) -> bool {
    let can = store.capabilities();
    let Ok(key) = Key::new("k") else { return false };
    if !can.adapts_documents || !can.erasable {
        return false;
    }
    let is_refused = matches!(store.set(&key, (&[FIRST]).into()), Err(StoreError::Key(_)));
    // A store that accepted the value is empty again for the rule.
    let _is_erased = store.erase(&key);
    is_refused
}

/// Holds each value in the chunk of an array without dimensions. The key is the path of the array.
#[derive(Debug)]
struct ValuesInArrays(Arc<dyn Store>);

fn chunk(key: &Key) -> StoreResult<Key> {
    Ok(Key::new(format!("{key}/{CHUNK}"))?)
}

fn document(key: &Key) -> StoreResult<Key> {
    Ok(Key::new(format!("{key}/zarr.json"))?)
}

impl ValuesInArrays {
    /// Returns the range of a chunk for a range of the value in it.
    fn in_chunk(&self, key: &Key, range: ByteRange) -> StoreResult<ByteRange> {
        Ok(match range {
            ByteRange::Full => ByteRange::From(1),
            ByteRange::From(offset) => ByteRange::From(offset.saturating_add(1)),
            ByteRange::Range { offset, size } => ByteRange::Range { offset: offset.saturating_add(1), size },
            ByteRange::Last(size) => {
                let whole = self.size(key)?.unwrap_or(0);
                let size = size.min(whole);
                ByteRange::Range { offset: 1 + whole - size, size }
            }
        })
    }

    fn request(&self, request: &Request) -> StoreResult<Request> {
        let mut options = request.options;
        options.range = self.in_chunk(&request.key, options.range)?;
        Ok(Request::new(chunk(&request.key)?, options, request.limit))
    }
}

impl Store for ValuesInArrays {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = self.0.capabilities();
        can.adapts_documents = false;
        can
    }

    fn read_hints(&self) -> ReadHints {
        self.0.read_hints()
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let mut options = options;
        options.range = self.in_chunk(key, options.range)?;
        let found = self.0.get(&chunk(key)?, options, to)?;
        Ok(found.map(|found| GetResult::new(found.contents, found.size.saturating_sub(1), None)))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let inside: StoreResult<Vec<Request>> =
            requests.iter().map(|request| self.request(request)).collect();
        let inside = match inside {
            Ok(inside) => inside,
            Err(error) => return Box::new(std::iter::once((0, Err(error)))),
        };
        Box::new(self.0.get_many(inside, budget).map(|(number, response)| {
            let value = |Response { bytes, size, .. }| Response::new(bytes, size.saturating_sub(1), None);
            (number, response.map(|response| response.map(value)))
        }))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        let document = document(key)?;
        if !self.0.capabilities().writeable || self.0.size(&document)?.is_none() {
            self.0.set(&document, DOCUMENT.as_bytes().into())?;
        }
        self.0.set(&chunk(key)?, [&[FIRST], &*value].concat().into())
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        rewrite_values(self, values)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.erase_values(std::slice::from_ref(key))
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        let both = |key| Ok([document(key)?, chunk(key)?]);
        let inside: StoreResult<Vec<[Key; 2]>> = keys.iter().map(both).collect();
        self.0.erase_values(&inside?.concat())
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        // The array at the path itself holds the value of a key without the trailing slash.
        match Key::new(prefix.as_str().trim_end_matches('/')) {
            Ok(key) if self.0.size(&document(&key)?)?.is_some() => erase_listed(self, prefix),
            _ => self.0.erase_prefix(prefix),
        }
    }

    fn commit(&self) -> StoreResult<()> {
        self.0.commit()
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let prefix = prefix.clone();
        let keys = self.0.list_prefix(&prefix)?.filter_map(move |found| match found {
            Ok(found) => {
                let key = found.as_str().strip_suffix(CHUNK)?.strip_suffix('/')?;
                prefix.strip(key).map(|_| Key::new(key).map_err(Into::into))
            }
            Err(error) => Some(Err(error)),
        });
        Ok(Box::new(keys))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let inside = self.0.list_dir(prefix)?;
        let mut keys = Vec::new();
        for below in &inside.prefixes {
            let key = Key::new(below.as_str().trim_end_matches('/'))?;
            if self.0.size(&chunk(&key)?)?.is_some() {
                keys.push(key);
            }
        }
        Ok(Directory::new(keys, inside.prefixes))
    }
}
