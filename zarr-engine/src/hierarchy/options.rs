//! Options for opening a hierarchy.

use zarr_spec::Format;

/// How a hierarchy is opened.
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
    /// Any format, with consolidated metadata if there are any.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the hierarchy of this format, in a store that may hold others too.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Whether to use the consolidated metadata of v2 and v3 if there are any (the default). They are a copy: changes that
    /// other programs have made since are not visible.
    #[must_use]
    pub fn consolidated(self, consolidated: bool) -> Self {
        Self { consolidated, ..self }
    }
}
