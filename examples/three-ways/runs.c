/* The codec example.runs: run-length encoding of elements of `width` bytes (1, 2, 4 or 8; 1 by default).
 *
 * A run is one byte, the number of elements minus one, followed by the element. Bytes after the last whole element follow
 * unchanged.
 *
 * The upper part is the codec, which a crate can compile and wrap. The lower part is the plugin interface, for a native
 * library or a WebAssembly module. Neither part allocates memory or uses the C library. */
#include <stddef.h>
#include <stdint.h>

#include "runs.h"

/* Returns whether the elements at `a` and `b` are equal. */
static int same(const uint8_t *a, const uint8_t *b, size_t width) {
    size_t i;
    for (i = 0; i < width; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* Returns how many of the `count` elements at `from` equal the first one, at most 256. */
static size_t run_of(const uint8_t *from, size_t count, size_t width) {
    size_t run = 1;
    if (count > 256)
        count = 256;
    while (run < count && same(from, from + run * width, width))
        run++;
    return run;
}

size_t runs_encoded_size(const uint8_t *from, size_t len, size_t width) {
    size_t count = len / width, size = len % width;
    while (count > 0) {
        size_t run = run_of(from, count, width);
        if (size > SIZE_MAX - 1 - width)
            return SIZE_MAX;
        size += 1 + width;
        from += run * width;
        count -= run;
    }
    return size;
}

void runs_encode(const uint8_t *from, size_t len, size_t width, uint8_t *to) {
    size_t count = len / width, rest = len % width, i;
    while (count > 0) {
        size_t run = run_of(from, count, width);
        *to++ = (uint8_t)(run - 1);
        for (i = 0; i < width; i++)
            *to++ = from[i];
        from += run * width;
        count -= run;
    }
    for (i = 0; i < rest; i++)
        to[i] = from[i];
}

size_t runs_decoded_size(const uint8_t *from, size_t len, size_t width) {
    size_t size = len % (1 + width), at;
    if (size == width)
        return SIZE_MAX;
    for (at = 0; at < len / (1 + width); at++) {
        size_t run = ((size_t)from[at * (1 + width)] + 1) * width;
        if (size > SIZE_MAX - 1 - run)
            return SIZE_MAX;
        size += run;
    }
    return size;
}

/* Decodes runs; the compiler unrolls the loop for a constant `width`. */
#define DECODE(width)                                                                                                  \
    for (; at < runs; at++, from += 1 + (width)) {                                                                     \
        size_t run = (size_t)from[0] + 1, i, j;                                                                        \
        for (i = 0; i < run; i++, to += (width))                                                                       \
            for (j = 0; j < (width); j++)                                                                              \
                to[j] = from[1 + j];                                                                                   \
    }

void runs_decode(const uint8_t *from, size_t len, size_t width, uint8_t *to) {
    size_t runs = len / (1 + width), rest = len % (1 + width), at = 0;
    switch (width) {
    case 1:
        DECODE(1)
        break;
    case 2:
        DECODE(2)
        break;
    case 4:
        DECODE(4)
        break;
    default:
        DECODE(width)
    }
    for (at = 0; at < rest; at++)
        to[at] = from[at];
}

#ifndef RUNS_WITHOUT_PLUGIN
#include "zarr_plugin.h"

/* The instances of the codec: a constant for each width, so that nothing is allocated. */
static const size_t widths[] = {1, 2, 4, 8};

/* Only one thread at a time uses an instance of a WebAssembly module. */
#ifdef __wasm__
#define PER_THREAD
#else
#define PER_THREAD _Thread_local
#endif

#define TEXT(chars) {(const uint8_t *)(chars), sizeof(chars) - 1}

static int32_t fail(zarr_buf *err, int32_t status, const char *message) {
    err->ptr = (uint8_t *)message;
    err->len = 0;
    while (message[err->len] != 0)
        err->len++;
    /* The message is static, so nothing needs to be released. */
    err->owner = NULL;
    err->release = NULL;
    return status;
}

/* Skips white space and `word`. Returns 0, and skips nothing, if `word` does not follow. */
static int take(zarr_str *json, const char *word) {
    zarr_str rest = *json;
    while (rest.len > 0 && (*rest.ptr == ' ' || *rest.ptr == '\t' || *rest.ptr == '\n' || *rest.ptr == '\r'))
        rest.ptr++, rest.len--;
    for (; *word != 0; word++, rest.ptr++, rest.len--)
        if (rest.len == 0 || *rest.ptr != (uint8_t)*word)
            return 0;
    *json = rest;
    return 1;
}

/* Returns the width in `{"width": 4}`, and 1 for `{}` and `null`. Returns NULL and sets `err` for anything else. */
static const size_t *width_of(zarr_str json, zarr_buf *err) {
    static const char sentence[] = "expected member width, found ";
    static PER_THREAD char unknown[80] = "expected member width, found ";
    static const char *const digits[] = {"1", "2", "4", "8"};
    const size_t *found = &widths[0];
    if (take(&json, "null"))
        return found;
    if (!take(&json, "{"))
        return fail(err, ZARR_BAD_CONFIGURATION, "the configuration is not an object"), NULL;
    while (!take(&json, "}")) {
        size_t i;
        take(&json, ",");
        if (!take(&json, "\"width\"")) {
            take(&json, "\"");
            i = sizeof sentence - 1;
            for (; i < sizeof unknown - 1 && json.len > 0 && *json.ptr != '"' && *json.ptr < 0x80; i++, json.ptr++, json.len--)
                unknown[i] = (char)*json.ptr;
            unknown[i] = 0;
            return fail(err, ZARR_BAD_CONFIGURATION, unknown), NULL;
        }
        take(&json, ":");
        found = NULL;
        for (i = 0; i < 4 && found == NULL; i++)
            if (take(&json, digits[i]))
                found = &widths[i];
        if (found == NULL || json.len == 0 || (*json.ptr >= '0' && *json.ptr <= '9'))
            return fail(err, ZARR_BAD_CONFIGURATION, "width is not 1, 2, 4 or 8"), NULL;
    }
    return found;
}

static int32_t create(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                      zarr_codec_instance *out, zarr_buf *err) {
    const size_t *width = width_of(creation->configuration_json, err);
    (void)context;
    (void)decoded;
    if (width == NULL)
        return ZARR_BAD_CONFIGURATION;
    out->form = ZARR_FORM_BYTES_TO_BYTES;
    out->self = (void *)width;
    return ZARR_OK;
}

/* Returns the maximum: each element may be a separate run. */
static int32_t encoded_size(const void *self, const zarr_representation *decoded, zarr_size *out, zarr_buf *err) {
    const uint64_t width = *(const size_t *)self, bytes = decoded->size.bytes;
    (void)err;
    if (decoded->size.kind != ZARR_SIZE_UNKNOWN && bytes / width <= UINT64_MAX - bytes) {
        out->kind = ZARR_SIZE_AT_MOST;
        out->bytes = bytes + bytes / width;
    }
    return ZARR_OK;
}

static int32_t room(zarr_output *to, const zarr_call *call, size_t size, zarr_buf *err) {
    if (size > call->max_out_bytes || (to->capacity < size && to->reserve(to, size) != 0))
        return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    return ZARR_OK;
}

static int32_t encode(const void *self, const zarr_array *array, zarr_str decoded, const zarr_call *call,
                      zarr_output *encoded, zarr_buf *err) {
    const size_t width = *(const size_t *)self, size = runs_encoded_size(decoded.ptr, decoded.len, width);
    int32_t status = room(encoded, call, size, err);
    (void)array;
    if (status == ZARR_OK && size > 0) {
        runs_encode(decoded.ptr, decoded.len, width, encoded->start);
        encoded->len = size;
    }
    return status;
}

static int32_t decode(const void *self, const zarr_array *array, zarr_str encoded, const zarr_call *call,
                      zarr_output *decoded, zarr_buf *err) {
    const size_t width = *(const size_t *)self, size = runs_decoded_size(encoded.ptr, encoded.len, width);
    int32_t status;
    (void)array;
    if (size == SIZE_MAX)
        return fail(err, ZARR_CORRUPT, "the last run is truncated");
    status = room(decoded, call, size, err);
    if (status == ZARR_OK && size > 0) {
        runs_decode(encoded.ptr, encoded.len, width, decoded->start);
        decoded->len = size;
    }
    return status;
}

static const zarr_codec_vtable runs = {.struct_size = sizeof(zarr_codec_vtable),
                                       .create = create,
                                       .encoded_size = encoded_size,
                                       .encode = encode,
                                       .decode = decode};

static const zarr_item item = {
    .struct_size = sizeof(zarr_item),
    .kind = ZARR_CODEC,
    .name = TEXT("example.runs"),
    .summary = TEXT("Stores runs of equal elements as a number and one element."),
    .examples_json =
        TEXT("[{\"format\": \"v3\", \"document\": {\"name\": \"example.runs\"}, \"data_types\": [\"uint8\"]}, "
             "{\"format\": \"v3\", \"document\": {\"name\": \"example.runs\", \"configuration\": {\"width\": 4}}}]"),
    .vtable = &runs,
    .configuration_schema_json =
        TEXT("{\"v3\": {\"type\": \"object\", \"properties\": {\"width\": {\"enum\": [1, 2, 4, 8]}}, "
             "\"additionalProperties\": false}}")};

static const zarr_item *const items[] = {&item};

static const zarr_plugin plugin = {.struct_size = sizeof(zarr_plugin),
                                   .abi_major = ZARR_ABI_MAJOR,
                                   .abi_minor = ZARR_ABI_MINOR,
                                   .name = TEXT("example-runs"),
                                   .version = TEXT("1.0.0"),
                                   .license = TEXT("MIT"),
                                   .build = TEXT("C"),
                                   .items = items,
                                   .n_items = 1};

int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err) {
    if (host->abi_major != ZARR_ABI_MAJOR)
        return fail(err, ZARR_UNSUPPORTED, "this host uses another version of the ABI");
    *out = &plugin;
    return ZARR_OK;
}
#endif
