//! The documents of the nodes of final v3.

use zarr_metadata::v3::{node_key, parse_node};
use zarr_metadata::{DocumentError, DocumentKind, NodeMetadata};
use zarr_spec::{NodePath, Value};

use crate::error::Error;
use crate::hierarchy::access::{Access, encoded_at};

#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) document: Value,
    pub(super) text: Vec<u8>,
}

impl Encoded {
    pub(super) fn new(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Self, Error> {
        let document = made(path, document)?;
        let text = zarr_json::to_vec_pretty(&document).map_err(Into::into);
        Ok(Self { text: encoded_at(&node_key(path)?, text)?, document })
    }
}

pub(super) fn stored(access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
    access.get_json(&node_key(path)?, DocumentKind::V3)
}

pub(super) fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Option<Value>>, Error> {
    let keys = paths.iter().map(node_key).collect::<Result<Vec<_>, _>>()?;
    let values = access.get_all(&keys)?.into_iter().zip(&keys);
    values
        .map(|(value, key)| value.map(|value| access.parse(key, &value, DocumentKind::V3)).transpose())
        .collect()
}

pub(in crate::hierarchy) fn parse(
    access: &Access,
    path: &NodePath,
    document: &Value,
) -> Result<NodeMetadata, Error> {
    access.reading(&node_key(path)?, |reading| parse_node(document, reading))
}

pub(super) fn parse_all(
    access: &Access,
    paths: &[NodePath],
    documents: &[Option<Value>],
) -> Result<Vec<Option<NodeMetadata>>, Error> {
    let parse = |(path, document): (&NodePath, &Option<Value>)| {
        document.as_ref().map(|document| parse(access, path, document)).transpose()
    };
    paths.iter().zip(documents).map(parse).collect()
}

/// Returns the new document of the node at `path`. Errors name its key.
pub(super) fn made(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Value, Error> {
    let key = node_key(path)?;
    document.map_err(|error| Error::document(&key, error))
}
