//! Helpers for authors of Zarr plugins. Contracts are in `zarr-spec`; nothing here is needed to implement one.
//!
//! | task | helper |
//! |---|---|
//! | compute with the numbers of an array | [`numbers`], [`Cast`], [`with_number!`] |
//! | implement an array-to-array codec that maps numbers to numbers | [`Sides`] |
//! | check that the decoded side is an array | [`array()`] |
//! | read and write data type members of configurations | [`typestrings`] |
//! | compute the sizes of NumPy data types in configurations | [`numpy`] |
//! | call a library that encodes and decodes a stream in pieces | [`stream`] |
//! | handle elements of variable size | [`items`], and [`json_items`] for arbitrary objects |
//! | handle elements that are arrays of variable length | [`ragged`] |
//! | read and write fill values of small float types | [`decimals`] |
//! | decode subsets of an array | [`subsets`] |
//! | store chunks as images | [`images`] |
//! | group the bytes or bits of elements by their position | [`planes`] |
//! | name a data type that v2 represents as objects | [`ObjectNames`] |
//! | accept no configuration | [`NoConfiguration`] |
//! | place a checksum before or after the bytes | [`ChecksumLocation`] |
//! | read and write JSON | [`json`] |
//! | list the keys of a store that has all of them in memory | [`sorted`] |
//! | implement a store on a database with sorted keys and transactions | [`database`] |

mod casts;
mod configuration;
pub mod database;
pub mod decimals;
pub mod images;
pub mod items;
pub mod json_items;
pub mod numbers;
pub mod numpy;
mod object_names;
pub mod planes;
pub mod ragged;
mod sides;
pub mod sorted;
pub mod stream;
pub mod subsets;
pub mod typestrings;

pub use casts::Cast;
pub use configuration::{ChecksumLocation, NoConfiguration};
pub use object_names::ObjectNames;
pub use sides::{Sides, array};
pub use zarr_json as json;
