//! What programs that read and write hierarchies use, and plugins do not: metadata documents, the codec chain and what it
//! resolves to, and the registry of plugins.
//!
//! | step | module |
//! |---|---|
//! | know the plugins of the program | [`registry`] |
//! | read and write metadata documents | [`metadata`] |
//! | create the codecs of an array | [`chain`] |
//! | resolve the codecs for chunks of one shape | [`pipeline`] |

pub mod chain;
pub mod metadata;
pub mod pipeline;
pub mod registry;
