//! The plugins of this build. Without these lines, the linker would drop the plugins and their registrations.

#[cfg(feature = "codec-adler32")]
use zarr_codec_adler32 as _;
#[cfg(feature = "codec-astype")]
use zarr_codec_astype as _;
#[cfg(feature = "codec-base64")]
use zarr_codec_base64 as _;
#[cfg(feature = "codec-bitround")]
use zarr_codec_bitround as _;
#[cfg(feature = "codec-bitshuffle")]
use zarr_codec_bitshuffle as _;
#[cfg(feature = "codec-blosc")]
use zarr_codec_blosc as _;
#[cfg(feature = "codec-blosc2")]
use zarr_codec_blosc2 as _;
#[cfg(feature = "codec-brotli")]
use zarr_codec_brotli as _;
#[cfg(feature = "codec-bytes")]
use zarr_codec_bytes as _;
#[cfg(feature = "codec-bz2")]
use zarr_codec_bz2 as _;
#[cfg(feature = "codec-cast-value")]
use zarr_codec_cast_value as _;
#[cfg(feature = "codec-categorize")]
use zarr_codec_categorize as _;
#[cfg(feature = "codec-conditional")]
use zarr_codec_conditional as _;
#[cfg(feature = "codec-crc32")]
use zarr_codec_crc32 as _;
#[cfg(feature = "codec-crc32c")]
use zarr_codec_crc32c as _;
#[cfg(feature = "codec-delta")]
use zarr_codec_delta as _;
#[cfg(feature = "codec-fill-hdf-strings")]
use zarr_codec_fill_hdf_strings as _;
#[cfg(feature = "codec-fixedscaleoffset")]
use zarr_codec_fixedscaleoffset as _;
#[cfg(feature = "codec-fletcher32")]
use zarr_codec_fletcher32 as _;
#[cfg(feature = "codec-floatpred")]
use zarr_codec_floatpred as _;
#[cfg(feature = "codec-gdeflate")]
use zarr_codec_gdeflate as _;
#[cfg(feature = "codec-gribberish")]
use zarr_codec_gribberish as _;
#[cfg(feature = "codec-gzip")]
use zarr_codec_gzip as _;
#[cfg(feature = "codec-imagecodecs-delta")]
use zarr_codec_imagecodecs_delta as _;
#[cfg(feature = "codec-imagecodecs-packbits")]
use zarr_codec_imagecodecs_packbits as _;
#[cfg(feature = "codec-jenkins-lookup3")]
use zarr_codec_jenkins_lookup3 as _;
#[cfg(feature = "codec-jpeg")]
use zarr_codec_jpeg as _;
#[cfg(feature = "codec-jpeg2k")]
use zarr_codec_jpeg2k as _;
#[cfg(feature = "codec-jpegls")]
use zarr_codec_jpegls as _;
#[cfg(feature = "codec-jpegxl")]
use zarr_codec_jpegxl as _;
#[cfg(feature = "codec-json2")]
use zarr_codec_json2 as _;
#[cfg(feature = "codec-lerc")]
use zarr_codec_lerc as _;
#[cfg(feature = "codec-lz4")]
use zarr_codec_lz4 as _;
#[cfg(feature = "codec-lz4f")]
use zarr_codec_lz4f as _;
#[cfg(feature = "codec-lz4h5")]
use zarr_codec_lz4h5 as _;
#[cfg(feature = "codec-lzf")]
use zarr_codec_lzf as _;
#[cfg(feature = "codec-lzma")]
use zarr_codec_lzma as _;
#[cfg(feature = "codec-lzw")]
use zarr_codec_lzw as _;
#[cfg(feature = "codec-msgpack2")]
use zarr_codec_msgpack2 as _;
#[cfg(feature = "codec-n5-default")]
use zarr_codec_n5_default as _;
#[cfg(feature = "codec-n5-lz4")]
use zarr_codec_n5_lz4 as _;
#[cfg(feature = "codec-optional")]
use zarr_codec_optional as _;
#[cfg(feature = "codec-packbits")]
use zarr_codec_packbits as _;
#[cfg(feature = "codec-pcodec")]
use zarr_codec_pcodec as _;
#[cfg(feature = "codec-pickle")]
use zarr_codec_pickle as _;
#[cfg(feature = "codec-png")]
use zarr_codec_png as _;
#[cfg(feature = "codec-quantize")]
use zarr_codec_quantize as _;
#[cfg(feature = "codec-record-member")]
use zarr_codec_record_member as _;
#[cfg(feature = "codec-reshape")]
use zarr_codec_reshape as _;
#[cfg(feature = "codec-scale-offset")]
use zarr_codec_scale_offset as _;
#[cfg(feature = "codec-sharding-indexed")]
use zarr_codec_sharding_indexed as _;
#[cfg(feature = "codec-shuffle")]
use zarr_codec_shuffle as _;
#[cfg(feature = "codec-snappy")]
use zarr_codec_snappy as _;
#[cfg(feature = "codec-squeeze")]
use zarr_codec_squeeze as _;
#[cfg(feature = "codec-szip")]
use zarr_codec_szip as _;
#[cfg(feature = "codec-transpose")]
use zarr_codec_transpose as _;
#[cfg(feature = "codec-vlen")]
use zarr_codec_vlen as _;
#[cfg(feature = "codec-vlen-bytes")]
use zarr_codec_vlen_bytes as _;
#[cfg(feature = "codec-vlen-ndarray")]
use zarr_codec_vlen_ndarray as _;
#[cfg(feature = "codec-vlen-utf8")]
use zarr_codec_vlen_utf8 as _;
#[cfg(feature = "codec-vlen-v2")]
use zarr_codec_vlen_v2 as _;
#[cfg(feature = "codec-wavpack")]
use zarr_codec_wavpack as _;
#[cfg(feature = "codec-webp")]
use zarr_codec_webp as _;
#[cfg(feature = "codec-zfp")]
use zarr_codec_zfp as _;
#[cfg(feature = "codec-zlib")]
use zarr_codec_zlib as _;
#[cfg(feature = "codec-zstd")]
use zarr_codec_zstd as _;
#[cfg(feature = "dtype-bfloat16")]
use zarr_dtype_bfloat16 as _;
#[cfg(feature = "dtype-bytes")]
use zarr_dtype_bytes as _;
#[cfg(feature = "dtype-core")]
use zarr_dtype_core as _;
#[cfg(feature = "dtype-datetime")]
use zarr_dtype_datetime as _;
#[cfg(feature = "dtype-fixed-length")]
use zarr_dtype_fixed_length as _;
#[cfg(feature = "dtype-json")]
use zarr_dtype_json as _;
#[cfg(feature = "dtype-optional")]
use zarr_dtype_optional as _;
#[cfg(feature = "dtype-small-float")]
use zarr_dtype_small_float as _;
#[cfg(feature = "dtype-string")]
use zarr_dtype_string as _;
#[cfg(feature = "dtype-struct")]
use zarr_dtype_struct as _;
#[cfg(feature = "dtype-sub-byte")]
use zarr_dtype_sub_byte as _;
#[cfg(feature = "dtype-vlen-ndarray")]
use zarr_dtype_vlen_ndarray as _;
#[cfg(feature = "extension-dimension-names")]
use zarr_extension_dimension_names as _;
#[cfg(feature = "extension-node-index")]
use zarr_extension_node_index as _;
#[cfg(feature = "grid-origin")]
use zarr_grid_origin as _;
#[cfg(feature = "grid-rectilinear")]
use zarr_grid_rectilinear as _;
#[cfg(feature = "grid-regular")]
use zarr_grid_regular as _;
#[cfg(feature = "key-encoding-default")]
use zarr_key_encoding_default as _;
#[cfg(feature = "key-encoding-default-suffix")]
use zarr_key_encoding_default_suffix as _;
#[cfg(feature = "key-encoding-fanout")]
use zarr_key_encoding_fanout as _;
#[cfg(feature = "key-encoding-suffix")]
use zarr_key_encoding_suffix as _;
#[cfg(feature = "key-encoding-template")]
use zarr_key_encoding_template as _;
#[cfg(feature = "key-encoding-v2")]
use zarr_key_encoding_v2 as _;
#[cfg(feature = "layout-c")]
use zarr_layout_c as _;
#[cfg(feature = "layout-f")]
use zarr_layout_f as _;
#[cfg(feature = "layout-morton")]
use zarr_layout_morton as _;
#[cfg(feature = "metadata-encoding-cbor")]
use zarr_metadata_encoding_cbor as _;
#[cfg(feature = "metadata-encoding-json")]
use zarr_metadata_encoding_json as _;
#[cfg(feature = "metadata-encoding-msgpack")]
use zarr_metadata_encoding_msgpack as _;
#[cfg(feature = "dynamic-wasm")]
use zarr_plugin_wasm as _;
#[cfg(feature = "store-filesystem")]
use zarr_store_filesystem as _;
#[cfg(feature = "store-lmdb")]
use zarr_store_lmdb as _;
#[cfg(feature = "store-memory")]
use zarr_store_memory as _;
#[cfg(feature = "store-n5")]
use zarr_store_n5 as _;
#[cfg(feature = "store-object-store")]
use zarr_store_object_store as _;
#[cfg(feature = "store-overlay")]
use zarr_store_overlay as _;
#[cfg(feature = "store-redb")]
use zarr_store_redb as _;
#[cfg(feature = "store-reference")]
use zarr_store_reference as _;
#[cfg(feature = "store-zip")]
use zarr_store_zip as _;
#[cfg(feature = "transformer-cache")]
use zarr_transformer_cache as _;
#[cfg(feature = "transformer-prefix")]
use zarr_transformer_prefix as _;
#[cfg(feature = "transformer-read-only")]
use zarr_transformer_read_only as _;
#[cfg(feature = "transformer-sharding")]
use zarr_transformer_sharding as _;
#[cfg(feature = "transformer-statistics")]
use zarr_transformer_statistics as _;
