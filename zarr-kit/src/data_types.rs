//! Data types as values. [`DataType::downcast_ref`](crate::spec::DataType) returns them from the data type of an array.

#[cfg(feature = "dtype-bfloat16")]
pub use zarr_dtype_bfloat16::BFloat16;
#[cfg(feature = "dtype-bytes")]
pub use zarr_dtype_bytes::VariableBytes;
#[cfg(feature = "dtype-core")]
pub use zarr_dtype_core::{CoreType, Raw};
#[cfg(feature = "dtype-datetime")]
pub use zarr_dtype_datetime::Time;
#[cfg(feature = "dtype-fixed-length")]
pub use zarr_dtype_fixed_length::{Content, FixedLength};
#[cfg(feature = "dtype-json")]
pub use zarr_dtype_json::Json;
#[cfg(feature = "dtype-optional")]
pub use zarr_dtype_optional::Optional;
#[cfg(feature = "dtype-small-float")]
pub use zarr_dtype_small_float::SmallFloat;
#[cfg(feature = "dtype-string")]
pub use zarr_dtype_string::Text;
#[cfg(feature = "dtype-struct")]
pub use zarr_dtype_struct::{Member, Structure};
#[cfg(feature = "dtype-sub-byte")]
pub use zarr_dtype_sub_byte::SubByte;
#[cfg(feature = "dtype-vlen-ndarray")]
pub use zarr_dtype_vlen_ndarray::Ragged;
