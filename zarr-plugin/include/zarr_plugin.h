/* The plugin ABI of zarr-kit, version 2. Generated from zarr-plugin/src/abi.rs: do not edit.
 *
 * A library exports one symbol, zarr_plugin_v2. It may be called several times, also by several hosts.
 *
 * Growth: a struct that begins with struct_size may get further members at its end. The code that makes a struct
 * sets its size, and the code that reads it takes members beyond that size as zero. Other structs never change.
 * JSON objects may get further members. Unknown members are ignored, except in the `value` of a codec, which is
 * then refused. Members named `reserved` are 0 and are not read. Unknown flags are ignored. An unknown status from
 * 16 to 31 is taken as ZARR_IO, any other unknown status as ZARR_INTERNAL.
 *
 * Threads: every function may be called by several threads at the same time, unless its comment restricts it.
 * `destroy`, `release`, `end_batch` and `end_listing` are called once for each object, on any thread, when no other
 * call uses the object. Lent memory is not used after the call.
 *
 * Memory: lent elements and bytes may be unaligned. A function that fails returns nothing that the caller has to
 * release, except for the text in `err`. No function may unwind or jump out of its call. */
#ifndef ZARR_PLUGIN_H
#define ZARR_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major version changes when an existing part of the ABI changes. The name of the exported symbol
 * contains it. */
#define ZARR_ABI_MAJOR 2
/* The minor version changes when something is added. */
#define ZARR_ABI_MINOR 4
/* Status: the call succeeded. */
#define ZARR_OK 0
/* Status: the configuration or the request is invalid. */
#define ZARR_BAD_CONFIGURATION 1
/* Status: the stored bytes are not valid for this extension. The data is at fault. */
#define ZARR_CORRUPT 2
/* Status: the output would be larger than its limit. */
#define ZARR_LIMIT_EXCEEDED 3
/* Status: the extension does not support this data type, shape, position or operation. */
#define ZARR_UNSUPPORTED 4
/* Status: input or output failed. Unknown statuses from 16 to 31 mean the same. */
#define ZARR_IO 5
/* Status: the host cancelled the call. */
#define ZARR_CANCELLED 6
/* Status: the plugin panicked. The host does not use the instance again. */
#define ZARR_PANICKED 7
/* Status: any other failure. From a codec that encodes, it means that the elements cannot be encoded. From
 * any other function, it means that the plugin is at fault, and that nothing is known about the data.
 * Unknown statuses outside of 16 to 31 mean the same. */
#define ZARR_INTERNAL 8
/* Status: a store cannot hold this key. */
#define ZARR_INVALID_KEY 9
/* Status: input or output failed because credentials are missing or do not permit the operation. Repeating
 * it does not help. */
#define ZARR_IO_NOT_PERMITTED 16
/* Status: input or output failed because the service received too many requests. Repeat the operation later,
 * with fewer requests in flight. */
#define ZARR_IO_THROTTLED 17
/* Status: input or output failed because no answer arrived in time. Repeating the operation may help. */
#define ZARR_IO_TIMED_OUT 18
/* Status: input or output failed because the server or the device cannot be reached. */
#define ZARR_IO_UNREACHABLE 19
/* Status, since 2.4: the stored value is damaged: the store found another checksum or size than it recorded.
 * Other values may be intact. */
#define ZARR_IO_DAMAGED 20
/* Kind of item: a codec, with a zarr_codec_vtable. */
#define ZARR_CODEC 1
/* Kind of item: a data type, with a zarr_data_type_vtable. */
#define ZARR_DATA_TYPE 2
/* Kind of item: a chunk grid, with a zarr_chunk_grid_vtable. */
#define ZARR_CHUNK_GRID 3
/* Kind of item: a chunk key encoding, with a zarr_chunk_key_encoding_vtable. */
#define ZARR_CHUNK_KEY_ENCODING 4
/* Kind of item: a memory layout of chunks, with a zarr_codec_vtable. It is created for a number of
 * dimensions. */
#define ZARR_MEMORY_LAYOUT 5
/* Kind of item: a metadata encoding, with a zarr_metadata_encoding_vtable. */
#define ZARR_METADATA_ENCODING 6
/* Kind of item: a storage transformer, with a zarr_storage_transformer_vtable. */
#define ZARR_STORAGE_TRANSFORMER 7
/* Kind of item: a generic extension of the draft, with a zarr_extension_vtable. */
#define ZARR_GENERIC_EXTENSION 8
/* Kind of item: a store, with a zarr_store_vtable. Its aliases are the schemes of its URLs, each followed by
 * `:`. The alias `:` stands for paths. */
#define ZARR_STORE 9
/* Format of a document: Zarr version 2. */
#define ZARR_FORMAT_V2 2
/* Format of a document: the version 3 draft of 2022. */
#define ZARR_FORMAT_V3_DRAFT 30
/* Format of a document: final version 3. */
#define ZARR_FORMAT_V3 3
/* Reading mode: everything that the specification forbids is an error. */
#define ZARR_MODE_STRICT 0
/* Reading mode: harmless forms that existing writers produce are read with a warning. */
#define ZARR_MODE_LENIENT 1
/* Reading mode: lenient, and neighbouring generations of the draft are also read. */
#define ZARR_MODE_COMPATIBILITY 2
/* Kind of representation: an array. */
#define ZARR_FOR_ARRAY 0
/* Kind of representation: bytes. */
#define ZARR_FOR_BYTES 1
/* Kind of representation: chunks with a number of dimensions, for a memory layout. */
#define ZARR_FOR_RANK 2
/* Kind of size: it depends on the elements. */
#define ZARR_SIZE_UNKNOWN 0
/* Kind of size: exactly `bytes`. */
#define ZARR_SIZE_EXACT 1
/* Kind of size: at most `bytes`. */
#define ZARR_SIZE_AT_MOST 2
/* Form of a codec: `value` describes all of it. */
#define ZARR_FORM_VALUE 0
/* Form of a codec: array to array. */
#define ZARR_FORM_ARRAY_TO_ARRAY 1
/* Form of a codec: array to bytes. */
#define ZARR_FORM_ARRAY_TO_BYTES 2
/* Form of a codec: bytes to bytes. */
#define ZARR_FORM_BYTES_TO_BYTES 3
/* Form of a codec: bytes to bytes. It appends a checksum and leaves the bytes unchanged. */
#define ZARR_FORM_CHECKSUM 4
/* Form of a codec: array to bytes, with chains of codecs that the host runs. */
#define ZARR_FORM_COMPOSITE 5
/* Form of a codec: array to bytes, a shard that `value` describes. */
#define ZARR_FORM_SHARD 6
/* Byte order: least significant byte first. */
#define ZARR_LITTLE_ENDIAN 0
/* Byte order: most significant byte first. */
#define ZARR_BIG_ENDIAN 1
/* Byte order: each unit of an element has its own. */
#define ZARR_MIXED_ENDIAN 2
/* Kind of byte range: the whole value. */
#define ZARR_RANGE_FULL 0
/* Kind of byte range: at most `size` bytes from `offset`. */
#define ZARR_RANGE_PART 1
/* Kind of byte range: everything from `offset` to the end. */
#define ZARR_RANGE_FROM 2
/* Kind of byte range: at most `size` bytes at the end. */
#define ZARR_RANGE_LAST 3
/* Flag of a read: a cache must not retain the encoded bytes. */
#define ZARR_GET_UNCACHED 1
/* Flag of a read, since 2.2: the caller writes the value with `set_if` next. The store returns current
 * bytes, not cached ones, and their version if it has `set_if`. */
#define ZARR_GET_FOR_UPDATE 2
/* Kind of element: bytes that are not known to be numbers. */
#define ZARR_KIND_OPAQUE 0
/* Kind of element: one byte, 0 or 1. */
#define ZARR_KIND_BOOL 1
/* Kind of element: an integer in two's complement. */
#define ZARR_KIND_INT 2
/* Kind of element: an unsigned integer. */
#define ZARR_KIND_UINT 3
/* Kind of element: an IEEE 754 float of 2, 4 or 8 bytes. */
#define ZARR_KIND_FLOAT 4
/* Kind of element: the upper half of an IEEE 754 float of 4 bytes. */
#define ZARR_KIND_BFLOAT 5
/* Kind of element: two floats, each of half the size. */
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
typedef struct zarr_encoded_range zarr_encoded_range;
typedef struct zarr_encoded_subset zarr_encoded_subset;
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
typedef struct zarr_get_result zarr_get_result;
typedef struct zarr_partial_value zarr_partial_value;
typedef struct zarr_list_sink zarr_list_sink;
typedef struct zarr_store_vtable zarr_store_vtable;
typedef struct zarr_item zarr_item;
typedef struct zarr_plugin zarr_plugin;
typedef struct zarr_host zarr_host;

/* Bytes that the caller lends for the duration of the call. Text is UTF-8 without a terminating zero. `ptr`
 * may be NULL if `len` is 0. */
struct zarr_str {
    const uint8_t *ptr;
    size_t len;
};

/* Bytes that one side returns to the other. The receiver copies them and then calls `release` once, unless
 * it is NULL. `release` sets itself to NULL. */
struct zarr_buf {
    uint8_t *ptr;
    size_t len;
    void *owner;
    void (*release)(zarr_buf *self);
};

/* Memory of the caller for the output of a call. The callee writes at most `capacity` bytes to `start`,
 * calls `reserve` for more, and sets `len`, which is 0 before, to the number of bytes that it wrote. The
 * memory is initialized with arbitrary bytes, and does not overlap the input. `start` may be NULL if
 * `capacity` is 0. */
struct zarr_output {
    size_t struct_size;
    uint8_t *start;
    size_t len;
    size_t capacity;
    /* The largest value that `capacity` can reach. */
    size_t limit;
    /* Makes `capacity` at least `len + more`. `start` may change; the first `len` bytes are preserved.
     * Returns a value other than 0 if that is impossible: the call should then return ZARR_LIMIT_EXCEEDED. */
    int32_t (*reserve)(zarr_output *self, size_t more);
};

/* A size in bytes. `kind` is ZARR_SIZE_EXACT or another ZARR_SIZE number. */
struct zarr_size {
    uint64_t bytes;
    uint32_t kind;
    uint32_t reserved;
};

/* A number of more than one byte inside an element. */
struct zarr_unit {
    /* The offset of the number in the element, in bytes. */
    size_t offset;
    /* The size of the number in bytes. */
    size_t size;
};

/* The byte order of stored numbers. `order` is ZARR_LITTLE_ENDIAN, ZARR_BIG_ENDIAN or ZARR_MIXED_ENDIAN. */
struct zarr_byte_order {
    uint32_t order;
    /* For ZARR_MIXED_ENDIAN: the number of units in an element. */
    uint32_t n_units;
    /* For ZARR_MIXED_ENDIAN: for each unit, 1 if it is big endian and 0 otherwise. */
    const uint8_t *big_endian;
};

/* An array without its elements. The elements are in C order and in the byte order of the machine. Elements
 * of variable size are n + 1 offsets, each a uint64_t and the first one 0, followed by the payload that the
 * offsets refer to. */
struct zarr_array {
    size_t struct_size;
    /* The name of the data type in messages. Two types are equal if their names are. */
    zarr_str data_type_name;
    /* The size of an element in bytes; 0 for elements of variable size. */
    size_t element_size;
    /* 1 for elements of variable size, 0 otherwise. */
    uint32_t is_variable;
    uint32_t reserved;
    /* ZARR_KIND_INT or another ZARR_KIND number. */
    uint32_t kind;
    /* The size of the numbers that an element consists of, in bytes. 0: see `units`. */
    uint32_t unit_size;
    const zarr_unit *units;
    size_t n_units;
    zarr_byte_order byte_order;
    /* The bytes of one element, in the byte order of the machine. */
    zarr_str fill_value;
    /* The number of dimensions. */
    size_t rank;
    /* The number of elements in each dimension. */
    const uint64_t *shape;
    /* The functions of the data type. */
    const zarr_data_type_vtable *data_type_vtable;
    /* Passed to the functions of the data type. */
    const void *data_type;
};

/* An entry of a metadata document that names an extension. */
struct zarr_creation {
    size_t struct_size;
    /* ZARR_FORMAT_V3 or another ZARR_FORMAT number. */
    uint32_t format;
    /* ZARR_MODE_LENIENT or another ZARR_MODE number. */
    uint32_t mode;
    /* The identifier in the document. */
    zarr_str identifier;
    /* The configuration; `null` if there is none. In v2, it is the object without its `id`. The text has no
     * white space between its parts. Members are in the order of the document, and numbers have the text
     * that the document has. */
    zarr_str configuration_json;
    /* The member `type` of an extension in the draft; `null` if there is none. */
    zarr_str type_name_json;
    /* The largest size of a document in bytes. */
    size_t document_size;
    /* Reports something that is not an error but that a user should know. It may be called during this call. */
    void (*warn)(void *context, zarr_str message);
    void *warn_context;
    /* Finds extensions of the host during this call. NULL if nothing can be looked up. */
    const zarr_lookup *lookup;
};

/* Creates codecs and data types of the host for a plugin that does not have them itself. The argument
 * `creation` names the extension; its member `lookup` is NULL. */
struct zarr_lookup {
    size_t struct_size;
    void *context;
    /* Creates a codec for `decoded`, the output of the preceding codecs. The plugin owns the codec, also
     * after the call. `out` is filled as by `create` of a codec, and has a `vtable`. */
    int32_t (*codec)(void *context, const zarr_creation *creation, const zarr_representation *decoded, zarr_codec_instance *out, zarr_buf *err);
    /* Returns the entry of a codec in documents of `format`: `{"identifier": "zstd", "configuration":
     * {"level": 3}}`. */
    int32_t (*translate)(void *context, const zarr_creation *creation, const zarr_representation *decoded, uint32_t format, zarr_buf *document_json, zarr_buf *err);
    /* Creates a data type, which the plugin releases. `byte_order_json` is as from `create` of a data type. */
    int32_t (*data_type)(void *context, const zarr_creation *creation, zarr_data_type_handle *data_type, zarr_buf *byte_order_json, zarr_buf *err);
};

/* The input of a codec. */
struct zarr_representation {
    size_t struct_size;
    /* ZARR_FOR_ARRAY, ZARR_FOR_BYTES or ZARR_FOR_RANK. */
    uint32_t kind;
    /* For ZARR_FOR_RANK: the number of dimensions. */
    uint32_t rank;
    /* For ZARR_FOR_BYTES: the size of the bytes. */
    zarr_size size;
    /* For ZARR_FOR_ARRAY: the array. */
    const zarr_array *array;
};

/* Options of a call that encodes or decodes. */
struct zarr_call {
    size_t struct_size;
    /* The largest number of bytes that the call may write. */
    uint64_t max_out_bytes;
    /* The number of threads that the call may use, including its own. */
    uint32_t threads;
    /* Reserved for later versions. */
    uint32_t flags;
    /* Points to a number that another thread may set to a value other than 0 at any time: the call should
     * then return ZARR_CANCELLED. Read the number as volatile or atomic. NULL if the call cannot be
     * cancelled. */
    const int32_t *cancelled;
    /* For ZARR_FORM_COMPOSITE: runs the chains of the codec. */
    const zarr_chains *chains;
};

/* Runs the chains of a codec, on the thread of the call and one at a time. `array` is the decoded side. The
 * shape of `array` may differ from the shape that the chain was created for. */
struct zarr_chains {
    size_t struct_size;
    void *context;
    /* Encodes the elements of `array`. */
    int32_t (*encode)(void *context, size_t chain, const zarr_array *array, zarr_str decoded, zarr_output *encoded, zarr_buf *err);
    /* Decodes to the elements of `array`. */
    int32_t (*decode)(void *context, size_t chain, const zarr_array *array, zarr_str encoded, zarr_output *decoded, zarr_buf *err);
};

/* A codec, as `create` returns it. */
struct zarr_codec_instance {
    size_t struct_size;
    /* ZARR_FORM_BYTES_TO_BYTES or another ZARR_FORM number. */
    uint32_t form;
    /* For ZARR_FORM_CHECKSUM: the size of the checksum in bytes. */
    uint32_t checksum_size;
    /* For ZARR_FORM_CHECKSUM: 1 if the checksum precedes the bytes, 0 if it follows them. */
    uint32_t checksum_at_start;
    /* The number of chains of the codec: see `chain`. A shard has two, for inner chunks and for the index. */
    uint32_t n_chains;
    /* Passed to the other functions. `destroy` is called unless it is NULL. */
    void *self;
    /* JSON. For ZARR_FORM_VALUE: `{"permutation": [1, 0]}` or `{"binary": "little"}`. Instead of "little",
     * there may be "big", or a list with true for each unit that is big endian. For ZARR_FORM_SHARD:
     * `{"inner_shape": [2, 3], "index_at_start": false}`. */
    zarr_buf value;
    /* The functions of the codec. NULL: the codec has the functions of the vtable whose `create` made it. If
     * `encode` of this vtable is NULL, the codec only decodes chunks like the one that it was created for. */
    const zarr_codec_vtable *vtable;
    /* For ZARR_FORM_ARRAY_TO_BYTES: 1 if the codec has `subset_ranges` and `decode_subset`. */
    uint32_t decodes_subsets;
    uint32_t reserved;
};

/* A part of the encoded bytes of an array. */
struct zarr_encoded_range {
    uint64_t offset;
    zarr_str bytes;
};

/* A subset of an array, and the encoded bytes that its codec requested. */
struct zarr_encoded_subset {
    size_t struct_size;
    /* The first element, per dimension. */
    const uint64_t *start;
    /* The number of elements, per dimension. */
    const uint64_t *shape;
    /* The encoded bytes in the range that `index_range` returned. */
    zarr_str index;
    /* Encoded bytes in ascending order, which include every range that `subset_ranges` returned. */
    const zarr_encoded_range *ranges;
    size_t n_ranges;
};

/* A codec. */
struct zarr_codec_vtable {
    size_t struct_size;
    int32_t (*create)(const void *context, const zarr_creation *creation, const zarr_representation *decoded, zarr_codec_instance *out, zarr_buf *err);
    void (*destroy)(void *self);
    /* Array to array: describes the encoded array. `encoded_json` is `{"shape": [2, 3], "fill_value": [0,
     * 0], "byte_order": "little"}`, with the bytes of the fill value. `byte_order` may also be a list with
     * true for each unit that is big endian. If the data type differs, `data_type` is set to one that the
     * host releases; otherwise it stays unchanged. */
    int32_t (*encoded_array)(const void *self, const zarr_array *decoded, zarr_buf *encoded_json, zarr_data_type_handle *data_type, zarr_buf *err);
    /* To bytes: returns the size of the encoded bytes. */
    int32_t (*encoded_size)(const void *self, const zarr_representation *decoded, zarr_size *out, zarr_buf *err);
    /* `array` describes the decoded side, which has at least one element; it is NULL if the decoded side is
     * bytes. `decoded` may be empty. If a vtable has `create` and `decode`, but `encode` is NULL, the codec
     * only decodes: hosts do not write with it. */
    int32_t (*encode)(const void *self, const zarr_array *array, zarr_str decoded, const zarr_call *call, zarr_output *encoded, zarr_buf *err);
    /* `array` describes the decoded side, which has at least one element; it is NULL if the decoded side is
     * bytes. `encoded` comes from a store: it may be empty or hold any bytes. */
    int32_t (*decode)(const void *self, const zarr_array *array, zarr_str encoded, const zarr_call *call, zarr_output *decoded, zarr_buf *err);
    /* Checksum: writes `checksum_size` bytes. */
    int32_t (*checksum)(const void *self, zarr_str bytes, uint8_t *checksum, zarr_buf *err);
    /* Returns the configuration of the same codec in documents of `format`. NULL: the configuration is the
     * same in every format. */
    int32_t (*translate)(const void *context, const zarr_creation *creation, const zarr_representation *decoded, uint32_t format, zarr_buf *configuration_json, zarr_buf *err);
    /* Bytes to bytes: decodes for a host that uses only the bytes from `start` to `end` of the result. It
     * writes as many bytes as `decode` does; bytes outside of the range may have any value. NULL: the host
     * decodes all bytes. */
    int32_t (*decode_range)(const void *self, zarr_str encoded, size_t start, size_t end, const zarr_call *call, zarr_output *decoded, zarr_buf *err);
    /* Describes a chain that the host creates and runs: its codecs, as `[{"identifier": "bytes",
     * "configuration": {"endian": "little"}}]`, and its input, in the form that `encoded_array` returns.
     * NULL if no codec has chains. */
    int32_t (*chain)(const void *self, size_t chain, zarr_buf *codecs_json, zarr_buf *array_json, zarr_data_type_handle *data_type, zarr_buf *err);
    /* Since 2.1. Array to bytes, if `decodes_subsets` is 1: sets `out` to the part of the encoded bytes that
     * `subset_ranges` needs. If it needs no bytes, this function leaves `out` unchanged or is NULL. */
    int32_t (*index_range)(const void *self, const zarr_array *array, zarr_byte_range *out, zarr_buf *err);
    /* Since 2.1. Array to bytes, if `decodes_subsets` is 1: returns the byte ranges that contain the
     * elements of a subset, as `[[0, 8], [16, 24]]`: pairs of start and end, ascending, without overlap, and
     * not empty. */
    int32_t (*subset_ranges)(const void *self, const zarr_array *array, const uint64_t *start, const uint64_t *shape, zarr_str index, zarr_buf *ranges_json, zarr_buf *err);
    /* Since 2.1. Array to bytes, if `decodes_subsets` is 1: decodes the elements of a subset, in C order. */
    int32_t (*decode_subset)(const void *self, const zarr_array *array, const zarr_encoded_subset *encoded, const zarr_call *call, zarr_output *decoded, zarr_buf *err);
};

/* A data type and its functions. The owner calls `release` of the vtable once. */
struct zarr_data_type_handle {
    const zarr_data_type_vtable *vtable;
    void *self;
};

/* A data type: of a plugin, or of a host that passes it to a plugin. `create` and each `retain` make an
 * owner, which calls `release` once. */
struct zarr_data_type_vtable {
    size_t struct_size;
    /* Creates a type. Not called, and possibly NULL, in the vtable of a type that a host passes to a plugin. */
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *byte_order_json, zarr_buf *err);
    /* Returns the same type for a further owner. */
    void *(*retain)(const void *self);
    void (*release)(void *self);
    /* `{"name": "float64", "size": 8, "unit_size": 8, "kind": 4, "default_fill_value": [0, 0, 0, 0, 0, 0, 0,
     * 0], "settles": false, "may_omit_byte_order": false}`. `size` is null for elements of variable size. If
     * the units of an element differ, `units`, a list of pairs of offset and size, replaces `unit_size`. A
     * structured type also has `"fields": [{"name": "x", "shape": [2], "offset": 0}]`. A type whose elements
     * may be missing has `"optional": true`. */
    int32_t (*describe)(const void *self, zarr_buf *json, zarr_buf *err);
    /* Returns the type in documents of a format: `{"identifier": "float64", "json": "float64",
     * "configuration": null, "type": null, "fallback": []}`. */
    int32_t (*document)(const void *self, uint32_t format, const zarr_byte_order *order, zarr_buf *json, zarr_buf *err);
    /* Returns the bytes of the element that the member `fill_value` of a document represents. */
    int32_t (*fill_value)(const void *self, zarr_str fill_value_json, const zarr_creation *reading, const zarr_byte_order *order, zarr_buf *element, zarr_buf *err);
    /* Returns the member `fill_value` of a document that represents an element. */
    int32_t (*fill_value_json)(const void *self, zarr_str element, uint32_t format, const zarr_byte_order *order, zarr_buf *json, zarr_buf *err);
    /* Returns an element as text for people. */
    int32_t (*print)(const void *self, zarr_str element, zarr_buf *text, zarr_buf *err);
    /* Fails if the bytes are not valid elements: a sequence of them, or one element of variable size. NULL:
     * all bytes are valid. */
    int32_t (*check)(const void *self, zarr_str elements, zarr_buf *err);
    /* Replaces stored elements, in place, by their form in memory. An element may have several stored forms,
     * but has one form in memory. NULL: each element has one stored form. */
    int32_t (*settle)(const void *self, uint8_t *elements, size_t len, uint32_t mode, zarr_buf *err);
    /* Returns the type of a field by its index, or the type of the elements that are not missing. The caller
     * releases it. NULL: there are no such types. */
    int32_t (*inner)(const void *self, size_t field, zarr_data_type_handle *data_type, zarr_buf *err);
};

/* A chunk grid of an array. */
struct zarr_chunk_grid_vtable {
    size_t struct_size;
    /* `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`. `chunk_shape`
     * is left out if chunks differ. If the grid begins before the array, `"before_array": [4, 0]` counts the
     * elements of the first chunk that precede the array, for each dimension. */
    int32_t (*create)(const void *context, const zarr_creation *creation, const uint64_t *shape, size_t rank, void **self, zarr_buf *json, zarr_buf *err);
    void (*destroy)(void *self);
    /* Returns the elements of a chunk along a dimension: from `start` to before `end`, which may lie beyond
     * the array. */
    int32_t (*chunk_range)(const void *self, size_t dimension, uint64_t chunk, uint64_t *start, uint64_t *end, zarr_buf *err);
    /* Returns the chunk that holds an element along a dimension. */
    int32_t (*chunk_of)(const void *self, size_t dimension, uint64_t element, uint64_t *chunk, zarr_buf *err);
    /* Returns the index that keys contain for a chunk along a dimension. NULL: keys contain the index of the
     * chunk. */
    int32_t (*key_index)(const void *self, size_t dimension, uint64_t chunk, uint64_t *key_index, zarr_buf *err);
    /* Returns the chunk whose keys contain `key_index`, and sets `found` to 1; leaves `found` 0 if there is
     * no such chunk. NULL: keys contain the index of the chunk. */
    int32_t (*chunk_of_key)(const void *self, size_t dimension, uint64_t key_index, uint64_t *chunk, uint32_t *found, zarr_buf *err);
    /* Returns the configuration of the same grid for an array that begins `start` elements later in each
     * dimension (earlier if it is negative), so that every chunk keeps its elements. `configuration_json`
     * stays empty if there is no such configuration. NULL: there is never such a configuration. */
    int32_t (*moved)(const void *self, const int64_t *start, size_t rank, zarr_buf *configuration_json, zarr_buf *err);
    /* Since 2.3. Returns the number of elements that are stored after those of a chunk along a dimension and
     * are not part of the array. They count in `largest_chunk`, and a grid with `chunk_shape` has none.
     * NULL: there are none. */
    int32_t (*padding)(const void *self, size_t dimension, uint64_t chunk, uint64_t *padding, zarr_buf *err);
};

/* A chunk key encoding. */
struct zarr_chunk_key_encoding_vtable {
    size_t struct_size;
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *err);
    void (*destroy)(void *self);
    /* Writes the last part of the key of the chunk at `index`. */
    int32_t (*encode)(const void *self, const uint64_t *index, size_t rank, zarr_output *key, zarr_buf *err);
    /* Returns the index of the chunk that a key names and sets `found` to 1; leaves `found` 0 if the key
     * does not name a chunk. */
    int32_t (*decode)(const void *self, zarr_str key, uint64_t *index, size_t rank, uint32_t *found, zarr_buf *err);
};

/* A metadata encoding of the draft. Documents are passed as JSON, which may also have the numbers NaN,
 * Infinity and -Infinity. */
struct zarr_metadata_encoding_vtable {
    size_t struct_size;
    /* `key_suffix` is the end of the keys of documents. */
    int32_t (*create)(const void *context, const zarr_creation *creation, void **self, zarr_buf *key_suffix, zarr_buf *err);
    void (*destroy)(void *self);
    int32_t (*decode)(const void *self, zarr_str bytes, const zarr_creation *reading, zarr_buf *json, zarr_buf *err);
    int32_t (*encode)(const void *self, zarr_str json, zarr_buf *bytes, zarr_buf *err);
};

/* A generic extension of the draft. */
struct zarr_extension_vtable {
    size_t struct_size;
    /* `is_array` is 0 in the entry point of a hierarchy. In an array, it is 1 and `shape` is the shape of
     * the array. `json` is `{"dimension_names": ["y", null], "node_index": "meta/index"}`; members that the
     * extension does not define are left out. */
    int32_t (*create)(const void *context, const zarr_creation *creation, uint32_t is_array, const uint64_t *shape, size_t rank, zarr_buf *json, zarr_buf *err);
};

/* A storage transformer of an array. */
struct zarr_storage_transformer_vtable {
    size_t struct_size;
    /* A transformer that wraps a store leaves `shard_json` empty. A transformer that combines chunks into
     * shards of the draft sets it to `{"chunks_per_shard": [2, 2]}` and leaves `self` NULL: the host reads
     * and writes the shards. */
    int32_t (*create)(const void *context, const zarr_creation *creation, const uint64_t *shape, size_t rank, void **self, zarr_buf *shard_json, zarr_buf *err);
    void (*destroy)(void *self);
    /* Returns the store that an array uses instead of `next`. The plugin owns `next` as soon as `wrap` is
     * called, even if `wrap` fails. The keys of the chunks of the array begin with `array`; all other keys
     * are passed to `next` unchanged. */
    int32_t (*wrap)(const void *self, const zarr_store_handle *next, zarr_str array, zarr_store_handle *wrapped, zarr_buf *err);
};

/* A store and its functions. The owner calls `release` of the vtable once. */
struct zarr_store_handle {
    const zarr_store_vtable *vtable;
    void *self;
};

/* A part of a value. `kind` is ZARR_RANGE_PART or another ZARR_RANGE number. */
struct zarr_byte_range {
    uint64_t offset;
    uint64_t size;
    uint32_t kind;
    uint32_t reserved;
};

/* A request for a part of a value. */
struct zarr_store_request {
    zarr_str key;
    zarr_byte_range range;
    /* The largest number of bytes that the caller accepts. The request fails with ZARR_LIMIT_EXCEEDED if
     * there are more. */
    size_t limit;
    /* The expected size of the response in bytes, which counts against the budget of the batch; 0 if
     * unknown. */
    size_t expected;
    /* ZARR_GET_UNCACHED, ZARR_GET_FOR_UPDATE, both or 0. Unknown flags are ignored. */
    uint32_t flags;
    uint32_t reserved;
};

/* Receives what a read found, except for the bytes. */
struct zarr_get_result {
    size_t struct_size;
    /* The store sets it to 1 if the key exists. A missing key is not an error. */
    uint32_t found;
    uint32_t reserved;
    /* The size of the whole value in bytes. */
    uint64_t size;
    /* Memory for the version of the value, such as an ETag. Two states of a value have different versions. */
    uint8_t *version;
    /* The size of the memory at `version`, in bytes. */
    size_t version_capacity;
    /* The number of bytes that the store wrote to `version`: 0 if the store has no versions or the memory is
     * too small. */
    size_t version_len;
};

/* Bytes to write into a value at an offset. */
struct zarr_partial_value {
    zarr_str key;
    uint64_t offset;
    zarr_str bytes;
};

/* Receives the keys and prefixes of a listing. */
struct zarr_list_sink {
    size_t struct_size;
    void *context;
    /* Adds a key if `is_prefix` is 0, and a prefix, which ends in `/`, if it is 1. After a result other than
     * 0, the store adds nothing more and returns ZARR_OK. */
    int32_t (*add)(zarr_list_sink *self, uint32_t is_prefix, zarr_str text);
};

/* A store: of a plugin, or of a host that passes it to a plugin. Functions fail with ZARR_UNSUPPORTED if the
 * store does not have the operation, ZARR_INVALID_KEY for a key that it cannot hold, ZARR_BAD_CONFIGURATION
 * for another invalid request, ZARR_LIMIT_EXCEEDED if there are more bytes than the caller accepts, and
 * otherwise with ZARR_IO or a ZARR_IO number that tells programs how to react. A missing key is not an
 * error. Functions that take a batch or a listing are called by one thread at a time. */
struct zarr_store_vtable {
    size_t struct_size;
    /* Opens the store at `location`, a URL or path. If `location` is empty, opens the store of
     * `description_json`: `{"type": "its name", ...}`. If `inside` is not NULL, it is the store that the
     * description names as `"store": {"type": "given"}`; the plugin owns it as soon as `open` is called.
     * Fails with ZARR_UNSUPPORTED if `location` or the member `path` is a location that the host must open:
     * since 2.2, the host then opens it and calls `open` again with that store as `inside`. Not called, and
     * possibly NULL, in the vtable of a store that is already open. */
    int32_t (*open)(const void *context, zarr_str location, zarr_str description_json, const zarr_store_handle *inside, void **self, zarr_buf *err);
    void (*release)(void *self);
    /* `{"location": "memory:", "readable": true, "writeable": true, "listable": true, "erasable": true,
     * "max_concurrency": 0, "coalesce_gap": 0, "caches_values": false}`. `max_concurrency` is the number of
     * concurrent requests that the store benefits from; 0 if a read does not wait. Two parts of a value are
     * read with one request if at most `coalesce_gap` bytes lie between them. `caches_values` is true if the
     * store retains encoded values in memory; the caller then does not need a cache of its own. Since 2.2,
     * `"conditional_set": true` and `"conditional_erase": true` are added by a store with `set_if` and
     * `erase_if`, and `"adapts_documents": true` by a store with `array_document`. */
    int32_t (*describe)(const void *self, zarr_buf *json, zarr_buf *err);
    /* Reads as much of the range as exists. `flags` is as in zarr_store_request. */
    int32_t (*get)(const void *self, zarr_str key, const zarr_byte_range *range, uint32_t flags, zarr_output *to, zarr_get_result *result, zarr_buf *err);
    /* Returns the size of a value in bytes and sets `found` to 1; leaves `found` 0 if the key is missing.
     * NULL: the caller reads 0 bytes of the value. */
    int32_t (*size)(const void *self, zarr_str key, uint64_t *size, uint32_t *found, zarr_buf *err);
    /* Begins to read parts of values. At most about `budget` bytes, but at least one request, are in flight,
     * or fetched and not yet taken. NULL: the caller reads the parts one by one. */
    int32_t (*begin_batch)(const void *self, const zarr_store_request *requests, size_t n_requests, size_t budget, void **batch, zarr_buf *err);
    /* Waits for the next response, in any order, and sets `number` to the index of its request. Sets
     * `number` to the number of requests if all responses were taken. An error belongs to that request. */
    int32_t (*next_response)(void *batch, size_t *number, zarr_output *to, zarr_get_result *result, zarr_buf *err);
    /* Ends a batch, always before the store is released. Cancels the requests whose responses were not
     * taken. */
    void (*end_batch)(void *batch);
    /* Replaces a value atomically: concurrent readers see the old value or the new one, never a mixture. */
    int32_t (*set)(const void *self, zarr_str key, zarr_str value, zarr_buf *err);
    /* Writes parts of values. A value grows as needed, with zeros in gaps. NULL: the caller reads and writes
     * whole values. */
    int32_t (*set_partial_values)(const void *self, const zarr_partial_value *values, size_t n_values, zarr_buf *err);
    /* Removes a value. It is not an error if the key is missing. */
    int32_t (*erase)(const void *self, zarr_str key, zarr_buf *err);
    /* Removes several values. NULL: the caller removes them one by one. */
    int32_t (*erase_values)(const void *self, const zarr_str *keys, size_t n_keys, zarr_buf *err);
    /* Removes every value whose key begins with `prefix`. NULL: the caller lists the keys and removes them. */
    int32_t (*erase_prefix)(const void *self, zarr_str prefix, zarr_buf *err);
    /* Begins to list the keys that begin with `prefix`, which is empty or ends in `/`. Keys that are set or
     * erased during the listing may or may not be included; all other keys are. The caller may use the store
     * during the listing. */
    int32_t (*begin_listing)(const void *self, zarr_str prefix, void **listing, zarr_buf *err);
    /* Adds further keys, each once and in any order, until `add` of `keys` stops this call or there are no
     * more. A call that adds no key ends the listing. A long listing needs no more memory than a short one. */
    int32_t (*next_keys)(void *listing, zarr_list_sink *keys, zarr_buf *err);
    /* Ends a listing, always before the store is released. */
    void (*end_listing)(void *listing);
    /* Adds the keys and prefixes directly below `prefix`. Prefixes of empty folders may be among them. NULL:
     * the caller lists all keys below `prefix`. */
    int32_t (*list_dir)(const void *self, zarr_str prefix, zarr_list_sink *found, zarr_buf *err);
    /* Since 2.2. Writes a value if the key is missing, if `version` is NULL, or if the value has this
     * version, which a read with ZARR_GET_FOR_UPDATE returned. Otherwise writes nothing and sets `conflict`
     * to 1. Comparing and writing are one step with respect to every other write of the key, by any program.
     * `result` receives the new version if the store knows it. NULL: the store does not have conditional
     * writes. */
    int32_t (*set_if)(const void *self, zarr_str key, zarr_str value, const zarr_str *version, zarr_get_result *result, uint32_t *conflict, zarr_buf *err);
    /* Since 2.2. Removes a value if it has this version. Otherwise removes nothing and sets `conflict` to 1,
     * also if the key is missing. NULL: the store cannot do that. */
    int32_t (*erase_if)(const void *self, zarr_str key, zarr_str version, uint32_t *conflict, zarr_buf *err);
    /* Since 2.2. Takes the lock of `key` and sets `lock`. Waits first until no other caller of this
     * function, in any process, holds the lock. Leaves `lock` NULL if the store does not have locks. The
     * system releases the lock when the process ends. NULL: the store does not have locks. */
    int32_t (*lock)(const void *self, zarr_str key, void **lock, zarr_buf *err);
    /* Since 2.2. Releases a lock, possibly on another thread or after the store is released. */
    void (*unlock)(void *lock);
    /* Since 2.2. Makes the changes of all finished calls permanent and visible to other processes. NULL: the
     * store does that in each call. */
    int32_t (*commit)(const void *self, zarr_buf *err);
    /* Since 2.2. Fills `adapted` with the document of a new array of v3 in the form that the store can hold,
     * or leaves it empty if the store holds `document_json` itself. The elements of both arrays are the
     * same. Fails with ZARR_BAD_CONFIGURATION and all reasons if the store cannot hold the array. NULL: the
     * store holds every document. */
    int32_t (*array_document)(const void *self, zarr_str key, zarr_str document_json, zarr_buf *adapted, zarr_buf *err);
};

/* An extension of a library. */
struct zarr_item {
    size_t struct_size;
    /* ZARR_CODEC or another kind of item: the type of `vtable`. */
    uint32_t kind;
    uint32_t reserved;
    /* Passed to `create`. */
    const void *context;
    /* The identifier in the v3 draft; empty if there is none. */
    zarr_str uri;
    /* The name in final v3; empty if there is none. */
    zarr_str name;
    /* The id in v2; empty if there is none. */
    zarr_str id;
    /* Further names and URIs, which are read and never written. */
    const zarr_str *aliases;
    size_t n_aliases;
    /* The purpose of the extension, in one sentence. */
    zarr_str summary;
    /* Examples: `[{"format": "v3", "document": {...}, "data_types": [], "shape": [], "loss": null}]`. `loss`
     * is null, "unbounded", `{"absolute": 0.5}` or `{"relative": 0.001}`. */
    zarr_str examples_json;
    const void *vtable;
    /* The JSON Schemas (draft 2020-12) of the configuration, for each format that has one: `{"v3": {"type":
     * "object", "properties": {"level": {"type": "integer"}}}}`. */
    zarr_str configuration_schema_json;
};

/* The contents of a library. They stay valid as long as the library, which is never unloaded. */
struct zarr_plugin {
    size_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t reserved;
    zarr_str name;
    /* MAJOR.MINOR.PATCH, as in Semantic Versioning. */
    zarr_str version;
    zarr_str license;
    /* The compiler or program that built the library. */
    zarr_str build;
    const zarr_item *const *items;
    size_t n_items;
};

/* The program that loads a library. It stays valid as long as the program runs. Its functions may be called
 * at any time and by many threads at the same time. */
struct zarr_host {
    size_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t reserved;
    void *context;
    /* Reports a message to the user of the program: `level` is 1 for an error, 2 for a warning, 3 for
     * information. NULL if the program does not report messages. */
    void (*log)(void *context, int32_t level, zarr_str message);
    /* Returns a service of a later version. NULL if there are none. */
    const void *(*get_interface)(void *context, zarr_str id);
};

/* Sets `out` to the contents of the library and returns a status. */
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err);

#ifdef __cplusplus
}
#endif

#endif
