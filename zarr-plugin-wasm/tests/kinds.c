/* Codecs of every kind, for WebAssembly: array to array, array to bytes, a checksum, and one that consists only of data. */
#include "zarr_plugin.h"

#define TEXT(chars) {(const uint8_t *)(chars), sizeof(chars) - 1}

static int32_t say(zarr_buf *to, const char *chars) {
    zarr_str text = TEXT("");
    for (text.ptr = (const uint8_t *)chars; chars[text.len] != 0; text.len++)
        ;
    to->ptr = (uint8_t *)text.ptr;
    to->len = text.len;
    return ZARR_OK;
}

static int self;

static int32_t created(zarr_codec_instance *out, uint32_t form) {
    out->form = form;
    out->self = &self;
    return ZARR_OK;
}

static uint64_t count(const zarr_array *array) {
    uint64_t count = 1;
    size_t i;
    for (i = 0; i < array->rank; i++)
        count *= array->shape[i];
    return count;
}

/* Writes `from` with the bytes of each element reversed. */
static int32_t turned(const zarr_array *array, zarr_str from, const zarr_call *call, zarr_output *to) {
    size_t at, i;
    if (from.len != count(array) * array->element_size || from.len > call->max_out_bytes)
        return ZARR_CORRUPT;
    if (to->capacity < from.len && to->reserve(to, from.len) != 0)
        return ZARR_LIMIT_EXCEEDED;
    for (at = 0; at < from.len; at += array->element_size)
        for (i = 0; i < array->element_size; i++)
            to->start[at + i] = from.ptr[at + array->element_size - 1 - i];
    to->len = from.len;
    return ZARR_OK;
}

static int32_t step(const void *it, const zarr_array *array, zarr_str from, const zarr_call *call, zarr_output *to,
                    zarr_buf *err) {
    (void)it;
    (void)err;
    return turned(array, from, call, to);
}

/* example.flat, array to array: flattens two dimensions to one. */
static int32_t create_flat(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                           zarr_codec_instance *out, zarr_buf *err) {
    static const zarr_str warning = TEXT("flat as it is");
    (void)context;
    if (decoded->kind != ZARR_FOR_ARRAY || decoded->array->rank != 2) {
        say(err, "not of two dimensions");
        return ZARR_UNSUPPORTED;
    }
    creation->warn(creation->warn_context, warning);
    return created(out, ZARR_FORM_ARRAY_TO_ARRAY);
}

/* Whether the host still holds the text that `flat` returned. */
static int is_lent;

static void release(zarr_buf *buf) {
    is_lent = 0;
    buf->release = NULL;
}

static int32_t flat(const void *it, const zarr_array *decoded, zarr_buf *json, zarr_data_type_handle *type, zarr_buf *err) {
    static uint8_t text[64] = "{\"fill_value\": [1, 0], \"byte_order\": \"big\", \"shape\": [000]}";
    uint64_t elements = count(decoded);
    size_t digit = 0;
    (void)it;
    (void)type;
    (void)err;
    if (is_lent)
        return ZARR_INTERNAL;
    is_lent = 1;
    while (text[digit] != 0)
        digit++;
    /* JSON does not allow leading zeros. */
    text[digit - 3] = (uint8_t)('0' + elements % 10);
    text[digit - 4] = elements < 10 ? ' ' : (uint8_t)('0' + elements / 10 % 10);
    text[digit - 5] = ' ';
    json->ptr = text;
    json->len = digit;
    json->release = release;
    return ZARR_OK;
}

static int32_t translate(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                         uint32_t format, zarr_buf *json, zarr_buf *err) {
    (void)context;
    (void)creation;
    (void)decoded;
    (void)err;
    return say(json, format == ZARR_FORMAT_V2 ? "{\"order\": 2}" : "{}");
}

/* example.turned, array to bytes. */
static int32_t create_turned(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                             zarr_codec_instance *out, zarr_buf *err) {
    (void)context;
    (void)creation;
    (void)decoded;
    (void)err;
    return created(out, ZARR_FORM_ARRAY_TO_BYTES);
}

static int32_t size(const void *it, const zarr_representation *decoded, zarr_size *out, zarr_buf *err) {
    (void)it;
    (void)err;
    out->kind = ZARR_SIZE_EXACT;
    out->bytes = count(decoded->array) * decoded->array->element_size;
    return ZARR_OK;
}

/* example.sum, a checksum: a byte of the sum of the bytes, twice. */
static int32_t create_sum(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                            zarr_codec_instance *out, zarr_buf *err) {
    (void)context;
    (void)creation;
    (void)decoded;
    (void)err;
    out->checksum_size = 2;
    out->checksum_at_start = 1;
    return created(out, ZARR_FORM_CHECKSUM);
}

static int32_t checksum(const void *it, zarr_str bytes, uint8_t *to, zarr_buf *err) {
    size_t i;
    (void)it;
    (void)err;
    for (i = 0; i < bytes.len; i++)
        to[0] += bytes.ptr[i];
    to[1] = to[0];
    return ZARR_OK;
}

/* example.swap, which consists only of data. */
static int32_t create_swap(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                           zarr_codec_instance *out, zarr_buf *err) {
    (void)creation;
    (void)decoded;
    (void)err;
    return say(&out->value, context == &self ? "{\"permutation\": [1, 0]}" : "{}");
}

#define VTABLE .struct_size = sizeof(zarr_codec_vtable)
static const zarr_codec_vtable flat_codec = {
    VTABLE, .create = create_flat, .encoded_array = flat, .encode = step, .decode = step, .translate = translate};
static const zarr_codec_vtable turned_codec = {
    VTABLE, .create = create_turned, .encoded_size = size, .encode = step, .decode = step};
static const zarr_codec_vtable sum_codec = {VTABLE, .create = create_sum, .checksum = checksum};
static const zarr_codec_vtable swap_codec = {VTABLE, .create = create_swap};

#define ITEM .struct_size = sizeof(zarr_item), .kind = ZARR_CODEC
static const zarr_str aliases[] = {TEXT("example.flattened"), TEXT("example.level")};
static const zarr_item unknown_item = {.struct_size = sizeof(zarr_item), .kind = 4711};
static const zarr_item flat_item = {
    ITEM, .name = TEXT("example.flat"), .id = TEXT("flat"), .aliases = aliases, .n_aliases = 2, .vtable = &flat_codec};
static const zarr_item turned_item = {ITEM, .name = TEXT("example.turned"), .vtable = &turned_codec};
static const zarr_item sum_item = {ITEM, .name = TEXT("example.sum"), .vtable = &sum_codec};
static const zarr_item swap_item = {ITEM, .context = &self, .name = TEXT("example.swap"), .vtable = &swap_codec};
static const zarr_item *const items[] = {&unknown_item, &flat_item, &turned_item, &sum_item, &swap_item};

static const zarr_plugin plugin = {.struct_size = sizeof(zarr_plugin),
                                   .abi_major = ZARR_ABI_MAJOR,
                                   .abi_minor = ZARR_ABI_MINOR,
                                   .name = TEXT("kinds"),
                                   .version = TEXT("1.0.0"),
                                   .license = TEXT("MIT"),
                                   .build = TEXT("C"),
                                   .items = items,
                                   .n_items = sizeof items / sizeof items[0]};

int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err) {
    if (host->abi_major != ZARR_ABI_MAJOR || host->struct_size != sizeof(zarr_host) || host->log != NULL) {
        say(err, "another host");
        return ZARR_UNSUPPORTED;
    }
    *out = &plugin;
    return ZARR_OK;
}
