//! The items that programs need to read and write hierarchies, and plugins do not: the codec chain, the pipeline that
//! it resolves to, and the registry of plugins. Metadata documents are in the crate `zarr-metadata`.
//!
//! | step | module |
//! |---|---|
//! | know the plugins of the program | [`registry`] |
//! | create the codecs of an array | [`chain`] |
//! | resolve the codecs for chunks of one shape | [`pipeline`] |

pub mod chain;
pub mod pipeline;
pub mod registry;
