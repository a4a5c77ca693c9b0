//! Options for opening a hierarchy.

use zarr_spec::Format;

/// Options for [`Hierarchy::open_with`](crate::Hierarchy::open_with).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    pub(super) format: Option<Format>,
    pub(super) consolidated: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { format: None, consolidated: true }
    }
}

impl OpenOptions {
    /// Returns the default options: any format, and consolidated metadata if present.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens only a hierarchy of `format`. The store may hold other formats, too.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Sets whether to use the consolidated metadata of v2 and v3 if present (default: true). They are a copy, so later
    /// changes by other programs may be missing from them.
    #[must_use]
    pub fn consolidated(self, consolidated: bool) -> Self {
        Self { consolidated, ..self }
    }
}
