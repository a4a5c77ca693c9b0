//! A cache of groups without consolidated metadata.

use std::collections::HashMap;
use std::sync::Mutex;

use zarr_metadata::v3::node_key;
use zarr_metadata::{DocumentKind, GroupMetadata, NodeMetadata};
use zarr_spec::store::Version;
use zarr_spec::{Format, Key, NodePath, Object};

use super::documents::parse;
use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::unpoisoned::Unpoisoned;

/// Maximum number of cached groups.
const MOST_PLAIN_GROUPS: usize = 10_000;

/// The versions of the documents of groups without consolidated metadata. Creating a node requires the groups above it;
/// a document whose version has not changed is not read again.
///
/// Without this cache, creating 100 arrays in memory takes 17 % more instructions (`create/100-arrays`).
#[derive(Debug, Default)]
pub(super) struct PlainGroups(Mutex<HashMap<Key, Version>>);

impl PlainGroups {
    /// Reads the node at `path`. A cached group is returned without its attributes.
    pub(super) fn read(&self, access: &Access, path: &NodePath) -> Result<Option<NodeMetadata>, Error> {
        let key = node_key(path)?;
        let known = self.0.lock().unpoisoned().get(&key).cloned();
        if known.is_some() && access.version(&key)? == known {
            return Ok(Some(NodeMetadata::Group(GroupMetadata::new(Format::V3, Object::new()))));
        }
        let Some((bytes, version)) = access.get_with_version(&key)? else { return Ok(None) };
        let node = parse(access, path, &access.parse(&key, &bytes, DocumentKind::V3)?)?;
        if let (NodeMetadata::Group(GroupMetadata { consolidated: None, .. }), Some(version)) =
            (&node, version)
        {
            let mut groups = self.0.lock().unpoisoned();
            if groups.len() >= MOST_PLAIN_GROUPS {
                groups.clear();
            }
            groups.insert(key, version);
        }
        Ok(Some(node))
    }
}
