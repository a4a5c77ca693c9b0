/* The plugin ABI of zarr-kit, version 1. Generated from zarr-plugin/src/abi.rs: do not edit.
 *
 * A library exports one symbol, zarr_plugin_v1, which may be called more than once, also by several hosts.
 *
 * Growth: a struct that begins with struct_size may get more members at its end: whoever makes one says its
 * size, and whoever reads one takes members beyond that as zero. Other structs never grow. Objects in JSON may
 * get more members, too: one that is not known is passed over, but for the `value` of a codec, which is refused.
 * Members that are called reserved are 0 and are not looked at; so are flags that a version does not have. A
 * status that is not known is taken as ZARR_INTERNAL.
 *
 * Threads: all functions may be called by many threads at the same time, also `create` and `open`; `destroy`,
 * `release` and `end` once for what they end, on any thread, when no other call uses it. What is lent for a
 * call is not touched after it.
 *
 * Memory: elements and bytes that are lent need not be aligned. A function that fails leaves nothing behind that
 * somebody would have to end, but for the text in `err`. No function may unwind or jump out of its call. */
#ifndef ZARR_PLUGIN_H
#define ZARR_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when something that was there is different. It also stands in the name of the symbol. */
#define ZARR_ABI_MAJOR 1
/* Changes when something is added. */
#define ZARR_ABI_MINOR 0
/* It worked. */
#define ZARR_OK 0
/* The configuration does not fit. */
#define ZARR_BAD_CONFIGURATION 1
/* The stored bytes are not what this extension writes: the data is at fault. */
#define ZARR_CORRUPT 2
/* More came out than may. */
#define ZARR_LIMIT_EXCEEDED 3
/* This data type, shape or place is not for this extension. */
#define ZARR_UNSUPPORTED 4
/* Input or output failed. */
#define ZARR_IO 5
/* The host asked to stop. */
#define ZARR_CANCELLED 6
/* The plugin panicked. The instance is not used again. */
#define ZARR_PANICKED 7
/* Anything else. While a codec encodes, the elements cannot be encoded; in any other call the plugin is at
 * fault, and nothing is known about the data. */
#define ZARR_INTERNAL 8
/* Kind of item: a codec; its vtable is a zarr_codec_vtable. */
#define ZARR_CODEC 1
/* Kind of item: a data type; zarr_data_type_vtable. */
#define ZARR_DATA_TYPE 2
/* Kind of item: a chunk grid; zarr_chunk_grid_vtable. */
#define ZARR_CHUNK_GRID 3
/* Kind of item: a chunk key encoding; zarr_chunk_key_encoding_vtable. */
#define ZARR_CHUNK_KEY_ENCODING 4
/* Kind of item: a memory layout of chunks; zarr_codec_vtable, created for a number of dimensions. */
#define ZARR_MEMORY_LAYOUT 5
/* Kind of item: a metadata encoding; zarr_metadata_encoding_vtable. */
#define ZARR_METADATA_ENCODING 6
/* Kind of item: a storage transformer; zarr_storage_transformer_vtable. */
#define ZARR_STORAGE_TRANSFORMER 7
/* Kind of item: a generic extension of the draft; zarr_extension_vtable. */
#define ZARR_GENERIC_EXTENSION 8
/* Kind of item: a store; zarr_store_vtable. Its aliases are the schemes of its URLs, each with its `:`; a
 * `:` alone stands for paths. */
#define ZARR_STORE 9
/* Format of a document: Zarr version 2. */
#define ZARR_FORMAT_V2 2
/* Format of a document: the version 3 draft of 2022. */
#define ZARR_FORMAT_V3_DRAFT 30
/* Format of a document: final version 3. */
#define ZARR_FORMAT_V3 3
/* Reading mode: what a text forbids is an error. */
#define ZARR_MODE_STRICT 0
/* Reading mode: harmless forms that real writers emit are read with a warning. */
#define ZARR_MODE_LENIENT 1
/* Reading mode: as lenient, and neighbouring generations of the draft open, too. */
#define ZARR_MODE_COMPATIBILITY 2
/* What a codec is created for: an array. */
#define ZARR_FOR_ARRAY 0
/* What a codec is created for: bytes. */
#define ZARR_FOR_BYTES 1
/* What a memory layout is created for: chunks with so many dimensions. */
#define ZARR_FOR_RANK 2
/* Kind of size: it depends on the elements. */
#define ZARR_SIZE_UNKNOWN 0
/* Kind of size: always this many bytes. */
#define ZARR_SIZE_EXACT 1
/* Kind of size: never more than this many bytes. */
#define ZARR_SIZE_AT_MOST 2
/* Form of a codec: all of it is in `value`. */
#define ZARR_FORM_VALUE 0
/* Form of a codec: array to array. */
#define ZARR_FORM_ARRAY_TO_ARRAY 1
/* Form of a codec: array to bytes. */
#define ZARR_FORM_ARRAY_TO_BYTES 2
/* Form of a codec: bytes to bytes. */
#define ZARR_FORM_BYTES_TO_BYTES 3
/* Form of a codec: the same bytes and a checksum beside them. */
#define ZARR_FORM_CHECKSUM 4
/* Form of a codec: array to bytes, by chains of its own that the host runs. */
#define ZARR_FORM_COMPOSITE 5
/* Form of a codec: array to bytes, a shard; see `value`. */
#define ZARR_FORM_SHARD 6
/* Order of bytes: least significant first. */
#define ZARR_LITTLE_ENDIAN 0
/* Order of bytes: most significant first. */
#define ZARR_BIG_ENDIAN 1
/* Order of bytes: each field has its own. */
#define ZARR_MIXED_ENDIAN 2
/* Kind of byte range: all of a value. */
#define ZARR_RANGE_FULL 0
/* Kind of byte range: `size` bytes from `offset`, as many of them as exist. */
#define ZARR_RANGE_PART 1
/* Kind of byte range: everything from `offset` on. */
#define ZARR_RANGE_FROM 2
/* Kind of byte range: `size` bytes at the end, as many of them as exist. */
#define ZARR_RANGE_LAST 3
/* Flag of a request to a store: its bytes need not be kept in memory by a store that does such things. */
#define ZARR_GET_ONCE 1
/* Kind of element: bytes that no number is known to be in. */
#define ZARR_KIND_OPAQUE 0
/* Kind of element: one byte, 0 or 1. */
#define ZARR_KIND_BOOL 1
/* Kind of element: an integer in two's complement. */
#define ZARR_KIND_INT 2
/* Kind of element: an unsigned integer. */
#define ZARR_KIND_UINT 3
/* Kind of element: an IEEE 754 float of 2, 4 or 8 bytes. */
#define ZARR_KIND_FLOAT 4
/* Kind of element: the upper half of a float of 4 bytes. */
#define ZARR_KIND_BFLOAT 5
/* Kind of element: two floats of half the size. */
#define ZARR_KIND_COMPLEX 6

typedef struct zarr_str zarr_str;
typedef struct zarr_buf zarr_buf;
typedef struct zarr_output zarr_output;
typedef struct zarr_size zarr_size;
typedef struct zarr_unit zarr_unit;
typedef struct zarr_byte_order zarr_byte_order;
typedef struct zarr_array zarr_array;
typedef struct zarr_creation zarr_creation;
typedef struct zarr_lookup zarr_lookup;
typedef struct zarr_representation zarr_representation;
typedef struct zarr_call zarr_call;
typedef struct zarr_chains zarr_chains;
typedef struct zarr_codec_instance zarr_codec_instance;
typedef struct zarr_codec_vtable zarr_codec_vtable;
typedef struct zarr_data_type_handle zarr_data_type_handle;
typedef struct zarr_data_type_vtable zarr_data_type_vtable;
typedef struct zarr_chunk_grid_vtable zarr_chunk_grid_vtable;
typedef struct zarr_chunk_key_encoding_vtable zarr_chunk_key_encoding_vtable;
typedef struct zarr_metadata_encoding_vtable zarr_metadata_encoding_vtable;
typedef struct zarr_extension_vtable zarr_extension_vtable;
typedef struct zarr_storage_transformer_vtable zarr_storage_transformer_vtable;
typedef struct zarr_store_handle zarr_store_handle;
typedef struct zarr_byte_range zarr_byte_range;
typedef struct zarr_store_request zarr_store_request;
typedef struct zarr_got zarr_got;
typedef struct zarr_partial_value zarr_partial_value;
typedef struct zarr_listing zarr_listing;
typedef struct zarr_store_vtable zarr_store_vtable;
typedef struct zarr_item zarr_item;
typedef struct zarr_plugin zarr_plugin;
typedef struct zarr_host zarr_host;

/* Bytes that belong to the caller, for as long as the call takes. Text is UTF-8, without a zero at its end.
 * When there are none, `ptr` may be NULL. */
struct zarr_str {
    const uint8_t *ptr;
    size_t len;
};

/* Bytes that belong to whoever filled it: the other side copies them and then calls `release` once, if that
 * is not NULL. `release` sets itself to NULL. */
struct zarr_buf {
    uint8_t *ptr;
    size_t len;
    void *owner;
    void (*release)(zarr_buf *self);
};

/* The host's memory, where chunks go. A plugin writes to `start`, at most `capacity` bytes, asks `reserve`
 * for more, and leaves in `len` how many it has written; that is 0 before. The bytes there can be read, and
 * may have any value. What the plugin reads from lies elsewhere. Where `capacity` is 0, `start` may be NULL. */
struct zarr_output {
    size_t struct_size;
    uint8_t *start;
    size_t len;
    size_t capacity;
    /* `capacity` never gets larger than this. */
    size_t limit;
    /* Makes `capacity` at least `len + more`; `start` may be another one afterwards, with the same `len`
     * bytes at its beginning. Not 0 if that cannot be: the call that runs should return ZARR_LIMIT_EXCEEDED
     * then. */
    int32_t (*reserve)(zarr_output *self, size_t more);
};

/* How many bytes there are, as far as it is known: ZARR_SIZE_EXACT and so on. */
struct zarr_size {
    uint64_t bytes;
    uint32_t kind;
    uint32_t reserved;
};

/* A number of more than one byte inside an element. */
struct zarr_unit {
    /* Bytes from the start of the element. */
    size_t offset;
    /* Bytes of the number. */
    size_t size;
};

/* In which order numbers are stored: ZARR_LITTLE_ENDIAN and so on. */
struct zarr_byte_order {
    uint32_t order;
    /* For ZARR_MIXED_ENDIAN: how many units an element has, */
    uint32_t n_units;
    /* and for each of them 1 if it is big endian, else 0. */
    const uint8_t *big_endian;
};

/* An array of elements, but not the elements. Those are in C order and the machine's byte order. Elements of
 * variable size are n + 1 offsets, each a uint64_t, the first one 0, then the payload that they point into. */
struct zarr_array {
    size_t struct_size;
    /* What messages call the type. Two types are equal when their names are. */
    zarr_str data_type_name;
    /* Bytes of one element, where all have the same. */
    size_t element_size;
    /* 1 where elements are of variable size, else 0. */
    uint32_t is_variable;
    uint32_t reserved;
    /* ZARR_KIND_INT and so on. */
    uint32_t kind;
    /* Elements are numbers of this many bytes. 0: see `units`. */
    uint32_t unit_size;
    const zarr_unit *units;
    size_t n_units;
    zarr_byte_order byte_order;
    /* The bytes of one element, in the machine's byte order. */
    zarr_str fill_value;
    /* How many dimensions there are, */
    size_t rank;
    /* and how many elements in each. */
    const uint64_t *shape;
    /* More about the type: functions, */
    const zarr_data_type_vtable *data_type_vtable;
    /* and what they are called with. */
    const void *data_type;
};

/* An entry of a metadata document that names an extension. */
struct zarr_creation {
    size_t struct_size;
    /* ZARR_FORMAT_V3 and so on. */
    uint32_t format;
    /* ZARR_MODE_LENIENT and so on. */
    uint32_t mode;
    /* As the document has it. */
    zarr_str identifier;
    /* The configuration, `null` if there is none. In v2, the object without its `id`. It is written without
     * white space between its parts; members are in the order of the document, numbers as the document
     * writes them. */
    zarr_str configuration_json;
    /* The draft's `type` of an extension, `null` if there is none. */
    zarr_str type_name_json;
    /* Bytes that a document may have. */
    size_t document_size;
    /* Says something that a user should know and that is no error, during this call. */
    void (*warn)(void *context, zarr_str message);
    void *warn_context;
    /* What the host has, to be looked up during this call. NULL if nothing is. */
    const zarr_lookup *lookup;
};

/* What a plugin may look up in its host: codecs and data types that it does not have itself. `creation`
 * names them and has no `lookup` of its own. */
struct zarr_lookup {
    size_t struct_size;
    void *context;
    /* A codec for what the codecs before it leave. It belongs to the plugin, also after the call, and is
     * filled in as by `create` of a codec, with its `vtable`. */
    int32_t (*codec)(void *context, const zarr_creation *creation, const zarr_representation *decoded, zarr_codec_instance *out, zarr_buf *err);
    /* What documents of `format` call a codec: `{"identifier": "zstd", "configuration": {"level": 3}}`. */
    int32_t (*translate)(void *context, const zarr_creation *creation, const zarr_representation *decoded, uint32_t format, zarr_buf *document_json, zarr_buf *err);
    /* A data type, which the plugin releases; `byte_order_json` as from `create` of a data type. */
    int32_t (*data_type)(void *context, const zarr_creation *creation, zarr_data_type_handle *data_type, zarr_buf *byte_order_json, zarr_buf *err);
};

/* What a codec is created for, or has the size of its encoded form asked for. */
struct zarr_representation {
    size_t struct_size;
    /* ZARR_FOR_ARRAY and so on. */
    uint32_t kind;
    /* For ZARR_FOR_RANK: how many dimensions. */
    uint32_t rank;
    /* For ZARR_FOR_BYTES: how many. */
    zarr_size size;
    /* For ZARR_FOR_ARRAY. */
    const zarr_array *array;
};

/* What a host may tell about a call that encodes or decodes. */
struct zarr_call {
    size_t struct_size;
    /* More may not come out. */
    uint64_t max_out_bytes;
    /* Threads that the call may use; 1 means its own. */
    uint32_t threads;
    /* For later versions. */
    uint32_t flags;
    /* Not 0 once the call should end with ZARR_CANCELLED, which another thread may say at any time: it is
     * read as a volatile or atomic number. NULL if nobody ever does. */
    const int32_t *cancelled;
    /* For ZARR_FORM_COMPOSITE: what runs its chains. */
    const zarr_chains *chains;
};

/* Runs the chains of a codec, on the thread of the call and one at a time. `array` is the decoded side, and
 * may have another shape than the array that the chain was made for. */
struct zarr_chains {
    size_t struct_size;
    void *context;
    /* Writes what a chain encodes the elements of `array` to. */
    int32_t (*encode)(void *context, size_t chain, const zarr_array *array, zarr_str decoded, zarr_output *encoded, zarr_buf *err);
    /* Writes the elements of `array` that a chain decodes `encoded` to. */
    int32_t (*decode)(void *context, size_t chain, const zarr_array *array, zarr_str encoded, zarr_output *decoded, zarr_buf *err);
};

/* What `create` of a codec leaves. */
struct zarr_codec_instance {
    size_t struct_size;
    /* ZARR_FORM_BYTES_TO_BYTES and so on. */
    uint32_t form;
    /* For ZARR_FORM_CHECKSUM: bytes of the checksum, */
    uint32_t checksum_size;
    /* and whether it stands before the bytes. */
    uint32_t checksum_at_start;
    /* How many chains it has: see `chain`. A shard has two, one for inner chunks and one for the index. */
    uint32_t n_chains;
    /* What the other functions are called with; `destroy` is called unless it is NULL. */
    void *self;
    /* For ZARR_FORM_VALUE, JSON: `{"permutation": [1, 0]}`, or `{"binary": "little"}`, where "big" or a list
     * may stand, with true for each unit that is big endian. For ZARR_FORM_SHARD: `{"inner_shape": [2, 3],
     * "index_at_start": false}`. */
    zarr_buf value;
    /* Where its functions are. NULL: where `create` is. */
    const zarr_codec_vtable *vtable;
};

/* A codec. */
struct zarr_codec_vtable {
    size_t struct_size;
    int32_t (*create)(const void *context, const zarr_creation *creation, const zarr_representation *decoded, zarr_codec_instance *out, zarr_buf *err);
    void (*destroy)(void *self);
    /* Array to array: what the encoded array is. `encoded_json` is `{"shape": [2, 3], "fill_value": [0, 0],
     * "byte_order": "little"}` with the bytes of the fill value; `byte_order` may also be a list with true
     * for each unit that is big endian. Left alone, the data type stays the same; otherwise `data_type` is
     * one that the host releases. */
    int32_t (*encoded_array)(const void *self, const zarr_array *decoded, zarr_buf *encoded_json, zarr_data_type_handle *data_type, zarr_buf *err);
    /* To bytes: how many bytes come out. */
    int32_t (*encoded_size)(const void *self, const zarr_representation *decoded, zarr_size *out, zarr_buf *err);
    /* `array` is the decoded side, which has at least one element; NULL for bytes. There may be 0 bytes. */
    int32_t (*encode)(const void *self, const zarr_array *array, zarr_str decoded, const zarr_call *call, zarr_output *encoded, zarr_buf *err);
    /* `array` is the decoded side, which has at least one element; NULL for bytes. `encoded` is what a store
     * has: any bytes, 0 of them too. */
    int32_t (*decode)(const void *self, const zarr_array *array, zarr_str encoded, const zarr_call *call, zarr_output *decoded, zarr_buf *err);
    /* Checksum: writes `checksum_size` bytes. */
    int32_t (*checksum)(const void *self, zarr_str bytes, uint8_t *checksum, zarr_buf *err);
    /* The configuration that another format has. NULL: the same. */
    int32_t (*translate)(const void *context, const zarr_creation *creation, const zarr_representation *decoded, uint32_t format, zarr_buf *configuration_json, zarr_buf *err);
    /* Bytes to bytes, for a host that looks at the bytes from `start` to `end` of what is decoded alone: as
     * many are written as by `decode`, and the others may be anything. NULL: all are decoded. */
    int32_t (*decode_range)(const void *self, zarr_str encoded, size_t start, size_t end, const zarr_call *call, zarr_output *decoded, zarr_buf *err);
    /* A chain that the host makes and runs: `[{"identifier": "bytes", "configuration": {"endian":
     * "little"}}]`, and the array that it is made for, as `encoded_array` has it. NULL where no codec has
     * chains. */
    int32_t (*chain)(const void *self, size_t chain, zarr_buf *codecs_json, zarr_buf *array_json, zarr_data_type_handle *data_type, zarr_buf *err);
};

/* A data type that somebody owns: `release` of the vtable ends that. */
struct zarr_data_type_handle {
    const zarr_data_type_vtable *vtable;
    void *self;
};

/* A data type: of a plugin, or of a host that hands it to a plugin. It has as many owners as `create` and
 * `retain` have made, and each calls `release` once. */
struct zarr_data_type_vtable {
    size_t struct_size;
    /* NULL in a type that a host hands out. */
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *byte_order_json, zarr_buf *err);
    /* The same type once more, to be released on its own. */
    void *(*retain)(const void *self);
    void (*release)(void *self);
    /* `{"name": "float64", "size": 8, "unit_size": 8, "kind": 4, "default_fill_value": [0, 0, 0, 0, 0, 0, 0,
     * 0], "settles": false, "may_omit_byte_order": false}`. `size` is null for a variable one; `units`,
     * pairs of offset and size, stands in the place of `unit_size` where units differ. A structured type
     * also has `"fields": [{"name": "x", "shape": [2], "offset": 0}]`; one whose elements may be missing has
     * `"optional": true`. */
    int32_t (*describe)(const void *self, zarr_buf *json, zarr_buf *err);
    /* As documents of a format name it: `{"identifier": "float64", "json": "float64", "configuration": null,
     * "type": null, "fallback": []}`. */
    int32_t (*document)(const void *self, uint32_t format, const zarr_byte_order *order, zarr_buf *json, zarr_buf *err);
    /* The bytes of the element that a member `fill_value` stands for. */
    int32_t (*fill_value)(const void *self, zarr_str fill_value_json, const zarr_creation *reading, const zarr_byte_order *order, zarr_buf *element, zarr_buf *err);
    /* The member `fill_value` that stands for an element. */
    int32_t (*fill_value_json)(const void *self, zarr_str element, uint32_t format, const zarr_byte_order *order, zarr_buf *json, zarr_buf *err);
    /* An element as people read it. */
    int32_t (*print)(const void *self, zarr_str element, zarr_buf *text, zarr_buf *err);
    /* Whether the bytes are elements, one after another, or a single one of variable size. NULL: any are. */
    int32_t (*check)(const void *self, zarr_str elements, zarr_buf *err);
    /* Makes elements of stored bytes, in place, where several stored forms stand for one. NULL: none do. */
    int32_t (*settle)(const void *self, uint8_t *elements, size_t len, uint32_t mode, zarr_buf *err);
    /* The type of a field, by its number, or that of the elements which are there; the caller releases it.
     * NULL: there is none. */
    int32_t (*inner)(const void *self, size_t field, zarr_data_type_handle *data_type, zarr_buf *err);
};

/* A chunk grid, made for an array of a shape. */
struct zarr_chunk_grid_vtable {
    size_t struct_size;
    /* `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`; `chunk_shape`
     * is left out where chunks differ. In a grid that begins before the array, `"before_array": [4, 0]` has
     * how many elements of the first chunk along each dimension lie there. */
    int32_t (*create)(const void *context, const zarr_creation *creation, const uint64_t *shape, size_t rank, void **self, zarr_buf *json, zarr_buf *err);
    void (*destroy)(void *self);
    /* The elements of a chunk along a dimension: from `start` up to `end`, which may lie beyond the array. */
    int32_t (*chunk_range)(const void *self, size_t dimension, uint64_t chunk, uint64_t *start, uint64_t *end, zarr_buf *err);
    /* The chunk that holds an element along a dimension. */
    int32_t (*chunk_of)(const void *self, size_t dimension, uint64_t element, uint64_t *chunk, zarr_buf *err);
    /* What stands in keys for a chunk along a dimension. NULL: its number. */
    int32_t (*key_index)(const void *self, size_t dimension, uint64_t chunk, uint64_t *key_index, zarr_buf *err);
    /* The chunk that an index in keys stands for; `found` is left 0 if there is none. NULL: as `key_index`. */
    int32_t (*chunk_of_key)(const void *self, size_t dimension, uint64_t key_index, uint64_t *chunk, uint32_t *found, zarr_buf *err);
    /* The configuration of the same grid for an array that begins `start` elements later per dimension
     * (earlier, where that is negative), so that no chunk moves. It is left empty if there is none. NULL:
     * there never is. */
    int32_t (*moved)(const void *self, const int64_t *start, size_t rank, zarr_buf *configuration_json, zarr_buf *err);
};

/* A chunk key encoding. */
struct zarr_chunk_key_encoding_vtable {
    size_t struct_size;
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *err);
    void (*destroy)(void *self);
    /* The last part of the key of the chunk at `index`. */
    int32_t (*encode)(const void *self, const uint64_t *index, size_t rank, zarr_output *key, zarr_buf *err);
    /* The chunk that a key names. `found` is left 0 if it is no key of a chunk. */
    int32_t (*decode)(const void *self, zarr_str key, uint64_t *index, size_t rank, uint32_t *found, zarr_buf *err);
};

/* A metadata encoding of the draft. Documents cross as JSON, in which the numbers NaN, Infinity and
 * -Infinity may stand. */
struct zarr_metadata_encoding_vtable {
    size_t struct_size;
    /* `key_suffix` is what keys of documents end in. */
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *key_suffix, zarr_buf *err);
    void (*destroy)(void *self);
    int32_t (*decode)(const void *self, zarr_str bytes, const zarr_creation *reading, zarr_buf *json, zarr_buf *err);
    int32_t (*encode)(const void *self, zarr_str json, zarr_buf *bytes, zarr_buf *err);
};

/* A generic extension of the draft. */
struct zarr_extension_vtable {
    size_t struct_size;
    /* `is_array` is 0 in the entry point of a hierarchy; in an array, `shape` is that of the array. `json`
     * is `{"dimension_names": ["y", null], "node_index": "meta/index"}`, with what the extension brings. */
    int32_t (*create)(const void *context, const zarr_creation *creation, uint32_t is_array, const uint64_t *shape, size_t rank, zarr_buf *json, zarr_buf *err);
};

/* A storage transformer, made for an array of a shape. */
struct zarr_storage_transformer_vtable {
    size_t struct_size;
    /* `shard_json` is left empty by a transformer that wraps a store. One that puts chunks together in the
     * draft's form of shards says `{"chunks_per_shard": [2, 2]}` and leaves `self` NULL: the host does the
     * rest. */
    int32_t (*create)(const void *context, const zarr_creation *creation, const uint64_t *shape, size_t rank, void **self, zarr_buf *shard_json, zarr_buf *err);
    void (*destroy)(void *self);
    /* The store that an array uses instead of `next`, which the plugin owns from the call on, whatever it
     * returns. `array` is what the keys of its chunks begin with; other keys pass untouched. */
    int32_t (*wrap)(const void *self, const zarr_store_handle *next, zarr_str array, zarr_store_handle *wrapped, zarr_buf *err);
};

/* A store that somebody owns: `release` of the vtable ends that. */
struct zarr_store_handle {
    const zarr_store_vtable *vtable;
    void *self;
};

/* A part of a value: ZARR_RANGE_PART and so on. */
struct zarr_byte_range {
    uint64_t offset;
    uint64_t size;
    uint32_t kind;
    uint32_t reserved;
};

/* One part of one value. */
struct zarr_store_request {
    zarr_str key;
    zarr_byte_range range;
    /* Bytes that the caller has room for: more is ZARR_LIMIT_EXCEEDED. */
    size_t limit;
    /* Bytes that will probably come: what a budget counts. 0 where nobody knows. */
    size_t expected;
    /* ZARR_GET_ONCE. Flags that are not known are passed over. */
    uint32_t flags;
    uint32_t reserved;
};

/* What was found of a value, besides its bytes. */
struct zarr_got {
    size_t struct_size;
    /* 0 if there is no such key, which is no error. */
    uint32_t found;
    uint32_t reserved;
    /* Bytes of the whole value. */
    uint64_t size;
    /* Where there is room for what tells one state of a value from another, such as an etag: so many bytes. */
    uint8_t *version;
    size_t version_room;
    /* How many were written there; 0 if the store cannot tell or they are too many. */
    size_t version_len;
};

/* Bytes that become a part of a value. */
struct zarr_partial_value {
    zarr_str key;
    uint64_t offset;
    zarr_str bytes;
};

/* Where a listing goes. */
struct zarr_listing {
    size_t struct_size;
    void *context;
    /* Adds a key, or where `is_prefix` is 1 a prefix, which ends in `/`. Not 0 if the listing should end. */
    int32_t (*add)(zarr_listing *self, uint32_t is_prefix, zarr_str text);
};

/* A store: of a plugin, or of a host that hands it to a storage transformer. Of the functions of one batch,
 * one is called at a time. They fail with ZARR_UNSUPPORTED where the store cannot do it at all,
 * ZARR_BAD_CONFIGURATION for a key that it cannot have, ZARR_LIMIT_EXCEEDED where more would come out than
 * may, and ZARR_IO. A missing key is no failure. */
struct zarr_store_vtable {
    size_t struct_size;
    /* Opens the store at `location`, a URL or path, or where that is empty the one that `description_json`
     * is of: `{"type": "its name", ...}`. `inside`, if it is not NULL, is what stands there as `"store":
     * {"type": "given"}`, and belongs to the plugin from the call on. NULL in a store that is open. */
    int32_t (*open)(const void *context, zarr_str location, zarr_str description_json, const zarr_store_handle *inside, void **self, zarr_buf *err);
    void (*release)(void *self);
    /* `{"location": "memory:", "readable": true, "writeable": true, "listable": true, "erasable": true,
     * "concurrency": 0, "join_gap": 0}`: requests in flight that pay, 0 if none do, and bytes between two
     * ranges that are cheaper to read than a request is to make. */
    int32_t (*describe)(const void *self, zarr_buf *json, zarr_buf *err);
    /* Writes a value or part of it, as much as exists. `flags` as in a request. */
    int32_t (*get)(const void *self, zarr_str key, const zarr_byte_range *range, uint32_t flags, zarr_output *to, zarr_got *got, zarr_buf *err);
    /* Bytes of a value. `found` is left 0 if there is no such key. */
    int32_t (*size)(const void *self, zarr_str key, uint64_t *size, uint32_t *found, zarr_buf *err);
    /* Begins to get parts of values, about `budget` bytes of which may be fetched and not yet taken. NULL:
     * they are got one by one. */
    int32_t (*begin)(const void *self, const zarr_store_request *requests, size_t n_requests, size_t budget, void **batch, zarr_buf *err);
    /* Waits for the next of them, in whatever order they come, and leaves which one it is in `number`: as
     * many as there are requests when all were taken. A failure is that of the request. */
    int32_t (*next)(void *batch, size_t *number, zarr_output *to, zarr_got *got, zarr_buf *err);
    /* Ends a batch, before the store is released; what was not taken is not wanted any more. */
    void (*end)(void *batch);
    /* Stores a value, all or nothing, in the place of an older one. */
    int32_t (*set)(const void *self, zarr_str key, zarr_str value, zarr_buf *err);
    /* Writes parts of values, which grow as needed, with zeros in gaps. NULL: values are read and written
     * whole. */
    int32_t (*set_partial_values)(const void *self, const zarr_partial_value *values, size_t n_values, zarr_buf *err);
    /* Removes a value; none there is fine. */
    int32_t (*erase)(const void *self, zarr_str key, zarr_buf *err);
    /* Removes values. NULL: one by one. */
    int32_t (*erase_values)(const void *self, const zarr_str *keys, size_t n_keys, zarr_buf *err);
    /* Removes every value whose key begins with `prefix`. NULL: those that are listed, one by one. */
    int32_t (*erase_prefix)(const void *self, zarr_str prefix, zarr_buf *err);
    /* Every key that begins with `prefix`; that is empty or ends in `/`. */
    int32_t (*list_prefix)(const void *self, zarr_str prefix, zarr_listing *keys, zarr_buf *err);
    /* What lies directly below `prefix`: keys, and prefixes one level down. NULL: it follows from the keys. */
    int32_t (*list_dir)(const void *self, zarr_str prefix, zarr_listing *found, zarr_buf *err);
};

/* One extension that a library has. */
struct zarr_item {
    size_t struct_size;
    /* ZARR_CODEC and so on: what `vtable` points to. */
    uint32_t kind;
    uint32_t reserved;
    /* Handed to `create`. */
    const void *context;
    /* The identifier in the v3 draft; none where it is empty. */
    zarr_str uri;
    /* The name in final v3. */
    zarr_str name;
    /* The id in v2. */
    zarr_str id;
    /* Further names and URIs that are read and never written. */
    const zarr_str *aliases;
    size_t n_aliases;
    /* One sentence: what it does. */
    zarr_str summary;
    /* Uses of it: `[{"format": "v3", "document": {...}, "data_types": [], "shape": [], "loss": null}]`.
     * `loss` is null, "unbounded", `{"absolute": 0.5}` or `{"relative": 0.001}`. */
    zarr_str examples_json;
    const void *vtable;
    /* The JSON Schema (draft 2020-12) of its configuration in each format, where it says one: `{"v3":
     * {"type": "object", "properties": {"level": {"type": "integer"}}}}`. */
    zarr_str configuration_schema_json;
};

/* All that a library has. It stays as long as the library does, which is never unloaded. */
struct zarr_plugin {
    size_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t reserved;
    zarr_str name;
    /* MAJOR.MINOR.PATCH, as Semantic Versioning has it. */
    zarr_str version;
    zarr_str license;
    /* What it was built with. */
    zarr_str build;
    const zarr_item *const *items;
    size_t n_items;
};

/* The program that loads a library. It stays as long as the program. Its functions may be called at any
 * time, by many threads at the same time. */
struct zarr_host {
    size_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t reserved;
    void *context;
    /* A message for whoever runs the program: `level` is 1 for an error, 2 for a warning, 3 for information.
     * NULL if nobody listens. */
    void (*log)(void *context, int32_t level, zarr_str message);
    /* Services of later versions. NULL if there are none. */
    const void *(*get_interface)(void *context, zarr_str id);
};

/* Returns a zarr_status; `out` is left pointing to what the library has. */
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
int32_t zarr_plugin_v1(const zarr_host *host, const zarr_plugin **out, zarr_buf *err);

#ifdef __cplusplus
}
#endif

#endif
