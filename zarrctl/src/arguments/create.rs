//! The arguments of `create`.

use clap::Args;
use zarr_kit::Format;
use zarr_kit::spec::Value;

use crate::values::{self, Codec, Member, Shape};

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Folder, archive, URL or JSON description of a store; a new hierarchy is created if there is none
    pub(crate) store: String,
    /// Path of the array or group
    pub(crate) path: String,
    /// Create a group
    #[arg(long, conflicts_with_all = [
        "shape", "dtype", "like", "chunks", "shards", "codecs", "fill", "dimension_names", "separator", "grid",
        "key_encoding", "layout", "transformers", "extensions", "fallbacks",
    ])]
    pub(crate) group: bool,
    /// Create an array or group like the one at this path: options replace its shape, chunks, shards, codecs, fill value
    /// and dimension names, and add attributes. Elements and nodes below a group are not copied
    #[arg(long, value_name = "PATH", conflicts_with_all = ["dtype", "grid"])]
    pub(crate) like: Option<String>,
    /// The store of the array or group of --like. Default: STORE
    #[arg(long, value_name = "STORE", requires = "like")]
    pub(crate) like_store: Option<String>,
    /// Elements per dimension: "100,200"; "" for an array without dimensions
    #[arg(
        long,
        value_parser = values::shape,
        allow_hyphen_values = true,
        required_unless_present_any = ["group", "like"]
    )]
    pub(crate) shape: Option<Shape>,
    /// Elements of a chunk per dimension. Default: chunks of about 1 MiB
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) chunks: Option<Shape>,
    /// The data type: a name such as uint16, the name in the format (<f4), the name that `info` prints
    /// (`numpy.datetime64[s]`), or its JSON. `zarrctl plugins` lists all
    #[arg(long, value_parser = values::text_or_json, required_unless_present_any = ["group", "like"])]
    pub(crate) dtype: Option<Value>,
    /// The format of a new hierarchy. Default: the format in the store, else v3
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a shard per dimension (v3); chunks are then the inner chunks
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shards: Option<Shape>,
    /// Add a codec, in the order of encoding: NAME or NAME:{"member":value}; repeatable. `none` stores chunks
    /// without codecs; the codec that converts elements to bytes may be omitted. Default: zstd or gzip.
    /// `zarrctl plugins` lists all
    #[arg(long = "codec", value_name = "NAME[:JSON]", value_parser = values::codec)]
    pub(crate) codecs: Vec<Codec>,
    /// The fill value, as in metadata documents: 0, NaN, "text", `[1,2]`
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json, allow_hyphen_values = true)]
    pub(crate) fill: Option<Value>,
    /// Set an attribute; repeatable
    #[arg(long = "attr", value_name = "K=JSON", value_parser = values::member)]
    pub(crate) attributes: Vec<Member>,
    /// Names of the dimensions: "y,x"; an empty name leaves a dimension without one
    #[arg(long, value_name = "NAMES")]
    pub(crate) dimension_names: Option<String>,
    /// Separator between the indices in chunk keys
    #[arg(long, value_name = "CHARACTER", value_parser = ["/", "."])]
    pub(crate) separator: Option<String>,
    /// The chunk grid as in metadata documents, instead of --chunks
    #[arg(long, value_name = "JSON", value_parser = values::json, conflicts_with_all = ["chunks", "shards"])]
    pub(crate) grid: Option<Value>,
    /// The chunk key encoding as in metadata documents
    #[arg(long, value_name = "JSON", value_parser = values::json)]
    pub(crate) key_encoding: Option<Value>,
    /// The chunk memory layout: "C" or "F", or in the v3 draft its document
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json)]
    pub(crate) layout: Option<Value>,
    /// The metadata encoding of a new hierarchy of the v3 draft
    #[arg(long, value_name = "NAME")]
    pub(crate) metadata_encoding: Option<String>,
    /// Add a generic extension to a new hierarchy of the v3 draft; repeatable
    #[arg(long = "hierarchy-extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) hierarchy_extensions: Vec<Value>,
    /// Add a storage transformer; repeatable
    #[arg(long = "transformer", value_name = "JSON", value_parser = values::json)]
    pub(crate) transformers: Vec<Value>,
    /// Add a generic extension to the array (v3 draft); repeatable
    #[arg(long = "extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) extensions: Vec<Value>,
    /// Add a data type that readers may use instead of an unknown one (v3 draft), best first; repeatable
    #[arg(long = "fallback", value_name = "TYPE", value_parser = values::text_or_json)]
    pub(crate) fallbacks: Vec<Value>,
}
