//! A store that contains the keys of another store below a prefix.

use std::sync::Arc;

use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, GetOptions, GetResult, Keys, Payload, ReadHints, Request,
    Responses, Store, StoreError, Version,
};
use zarr_spec::{Key, KeyError, Output, Prefix, Value};

/// The keys of a store below a prefix.
#[derive(Debug)]
pub(crate) struct Below {
    store: Arc<dyn Store>,
    root: Prefix,
}

impl Below {
    pub(crate) fn new(store: Arc<dyn Store>, root: Prefix) -> Self {
        Self { store, root }
    }

    fn outer(&self, key: &Key) -> Result<Key, KeyError> {
        self.root.key(key.as_str())
    }
}

impl Store for Below {
    fn location(&self) -> String {
        format!("{}, below `{}`", self.store.location(), self.root)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.store.get(&self.outer(key)?, options, to)
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let count = requests.len();
        let outer = requests.into_iter().map(|request| {
            let key = self.outer(&request.key)?;
            Ok(request.with_key(key))
        });
        match outer.collect::<Result<Vec<_>, KeyError>>() {
            Ok(requests) => self.store.get_many(requests, budget),
            Err(error) => Box::new((0..count).map(move |index| (index, Err(error.clone().into())))),
        }
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.store.set(&self.outer(key)?, value)
    }

    fn array_document(&self, key: &Key, document: &Value) -> Result<Option<Value>, StoreError> {
        self.store.array_document(&self.outer(key)?, document)
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.store.commit()
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        self.store.set_if(&self.outer(key)?, value, condition)
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        self.store.erase_if(&self.outer(key)?, version)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.store.erase(&self.outer(key)?)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let keys = self.store.list_prefix(&Prefix::new(format!("{}{prefix}", self.root))?)?;
        Ok(Box::new(keys.filter_map(|key| match key {
            Ok(key) => Some(Key::new(self.root.strip(key.as_str())?).map_err(StoreError::from)),
            Err(error) => Some(Err(error)),
        })))
    }

    fn read_hints(&self) -> ReadHints {
        self.store.read_hints()
    }
}
