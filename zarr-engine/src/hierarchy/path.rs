//! Paths of nodes in arguments.

use zarr_spec::{Format, NodePath};

use crate::error::Error;

/// The path of a node: a string or a [`NodePath`].
pub trait AsNodePath {
    /// Returns the path. The leading `/` of a string is optional, and a trailing one is allowed.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for text that is not a path in `format`: see [`NodePath::parse`].
    fn to_node_path(&self, format: Format) -> Result<NodePath, Error>;
}

impl AsNodePath for NodePath {
    fn to_node_path(&self, _format: Format) -> Result<NodePath, Error> {
        Ok(self.clone())
    }
}

impl AsNodePath for str {
    fn to_node_path(&self, format: Format) -> Result<NodePath, Error> {
        let text = self.strip_suffix('/').unwrap_or(self);
        let is_relative = format != Format::V2 && !text.is_empty() && !text.starts_with('/');
        if is_relative {
            return Ok(NodePath::parse(&format!("/{text}"), format)?);
        }
        Ok(NodePath::parse(text, format)?)
    }
}

impl AsNodePath for String {
    fn to_node_path(&self, format: Format) -> Result<NodePath, Error> {
        self.as_str().to_node_path(format)
    }
}

impl<T: AsNodePath + ?Sized> AsNodePath for &T {
    fn to_node_path(&self, format: Format) -> Result<NodePath, Error> {
        (**self).to_node_path(format)
    }
}
