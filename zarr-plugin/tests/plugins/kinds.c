/* Two codecs, a permutation and a chunk key encoding in C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zarr_plugin.h"

#define TEXT(text) { (const uint8_t *)(text), sizeof(text) - 1 }

static int32_t fail(zarr_buf *err, int32_t status, const char *text) {
    if (err) {
        err->ptr = (uint8_t *)text;
        err->len = strlen(text);
        err->owner = NULL;
        err->release = NULL;
    }
    return status;
}

static int is_empty(zarr_str json) {
    return json.len == 0 || (json.len == 4 && memcmp(json.ptr, "null", 4) == 0) ||
           (json.len == 2 && memcmp(json.ptr, "{}", 2) == 0);
}

static void release(zarr_buf *buf) {
    free(buf->owner);
    buf->owner = NULL;
    buf->release = NULL;
}

/* Refuses a configuration. The message shows its first hundred bytes. */
static int32_t refuse(zarr_buf *err, const char *what, zarr_str json) {
    char *text = err ? malloc(strlen(what) + 128) : NULL;
    if (text == NULL) return fail(err, ZARR_BAD_CONFIGURATION, what);
    const int shown = json.len < 100 ? (int)json.len : 100;
    err->len = (size_t)sprintf(text, "%s, but found %.*s", what, shown, (const char *)json.ptr);
    err->ptr = (uint8_t *)text;
    err->owner = text;
    err->release = release;
    return ZARR_BAD_CONFIGURATION;
}

static int32_t reserve(zarr_output *to, size_t size) {
    return size <= to->capacity || to->reserve(to, size) == 0 ? ZARR_OK : ZARR_LIMIT_EXCEEDED;
}

/* kinds.steps: the difference of each byte to the preceding one. With {"start": 7}, the byte before the first is 7. */

static int32_t steps_create(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                            zarr_codec_instance *out, zarr_buf *err) {
    static const char member[] = "{\"start\":";
    const size_t known = sizeof member - 1;
    const zarr_str json = creation->configuration_json;
    unsigned start = 0;
    (void)context, (void)decoded;
    if (!is_empty(json)) {
        size_t i = known;
        if (json.len < known + 2 || memcmp(json.ptr, member, known) != 0)
            return refuse(err, "expected one member `start` from 0 to 255", json);
        for (; i + 1 < json.len && json.ptr[i] >= '0' && json.ptr[i] <= '9' && start < 256; i++)
            start = start * 10 + (json.ptr[i] - '0');
        if (i + 1 != json.len || json.ptr[i] != '}' || start > 255)
            return refuse(err, "expected one member `start` from 0 to 255", json);
    }
    uint8_t *kept = malloc(1);
    if (kept == NULL) return fail(err, ZARR_INTERNAL, "no memory");
    *kept = (uint8_t)start;
    out->form = ZARR_FORM_BYTES_TO_BYTES;
    out->self = kept;
    return ZARR_OK;
}

static void steps_destroy(void *self) { free(self); }

static int32_t steps_size(const void *self, const zarr_representation *decoded, zarr_size *out, zarr_buf *err) {
    (void)self, (void)err;
    *out = decoded->size;
    return ZARR_OK;
}

static int32_t steps_encode(const void *self, const zarr_array *array, zarr_str decoded, const zarr_call *call,
                            zarr_output *encoded, zarr_buf *err) {
    uint8_t before = *(const uint8_t *)self;
    (void)array, (void)call;
    if (reserve(encoded, decoded.len)) return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    for (size_t i = 0; i < decoded.len; i++) {
        encoded->start[i] = (uint8_t)(decoded.ptr[i] - before);
        before = decoded.ptr[i];
    }
    encoded->len = decoded.len;
    return ZARR_OK;
}

static int32_t steps_decode(const void *self, const zarr_array *array, zarr_str encoded, const zarr_call *call,
                            zarr_output *decoded, zarr_buf *err) {
    uint8_t before = *(const uint8_t *)self;
    (void)array, (void)call;
    if (reserve(decoded, encoded.len)) return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    for (size_t i = 0; i < encoded.len; i++) before = decoded->start[i] = (uint8_t)(before + encoded.ptr[i]);
    decoded->len = encoded.len;
    return ZARR_OK;
}

/* A byte depends on the preceding bytes, but not on the following ones. */
static int32_t steps_decode_range(const void *self, zarr_str encoded, size_t start, size_t end, const zarr_call *call,
                                  zarr_output *decoded, zarr_buf *err) {
    (void)start;
    if (end > encoded.len) return fail(err, ZARR_CORRUPT, "the range ends after the bytes");
    const size_t len = encoded.len;
    encoded.len = end;
    if (reserve(decoded, len)) return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    const int32_t status = steps_decode(self, NULL, encoded, call, decoded, err);
    if (status == ZARR_OK) decoded->len = len;
    return status;
}

static const zarr_codec_vtable STEPS = {
    .struct_size = sizeof STEPS,
    .create = steps_create,
    .destroy = steps_destroy,
    .encoded_size = steps_size,
    .encode = steps_encode,
    .decode = steps_decode,
    .decode_range = steps_decode_range,
};

/* kinds.sum: a checksum of four bytes, little endian, before the bytes. It starts at 1; each byte multiplies it by 3 and is
 * added. */

static int32_t sum_create(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                          zarr_codec_instance *out, zarr_buf *err) {
    (void)context, (void)decoded;
    if (!is_empty(creation->configuration_json))
        return refuse(err, "expected no members", creation->configuration_json);
    out->form = ZARR_FORM_CHECKSUM;
    out->checksum_size = 4;
    out->checksum_at_start = 1;
    return ZARR_OK;
}

static int32_t sum(const void *self, zarr_str bytes, uint8_t *checksum, zarr_buf *err) {
    uint32_t sum = 1;
    (void)self, (void)err;
    for (size_t i = 0; i < bytes.len; i++) sum = sum * 3 + bytes.ptr[i];
    for (int i = 0; i < 4; i++) checksum[i] = (uint8_t)(sum >> 8 * i);
    return ZARR_OK;
}

static const zarr_codec_vtable SUM = {.struct_size = sizeof SUM, .create = sum_create, .checksum = sum};

/* kinds.last-first: stores the last dimension first. The host applies the permutation. */

static int32_t turn_create(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                           zarr_codec_instance *out, zarr_buf *err) {
    (void)context;
    if (!is_empty(creation->configuration_json))
        return refuse(err, "expected no members", creation->configuration_json);
    if (decoded->kind != ZARR_FOR_ARRAY || decoded->array->rank > 64)
        return fail(err, ZARR_UNSUPPORTED, "expected an array of at most 64 dimensions");
    const size_t rank = decoded->array->rank;
    char *json = malloc(32 + 4 * rank);
    if (json == NULL) return fail(err, ZARR_INTERNAL, "no memory");
    size_t len = (size_t)sprintf(json, "{\"permutation\":[");
    for (size_t i = 0; i < rank; i++)
        len += (size_t)sprintf(json + len, "%s%zu", i ? "," : "", (i + rank - 1) % rank);
    len += (size_t)sprintf(json + len, "]}");
    out->form = ZARR_FORM_VALUE;
    out->value.ptr = (uint8_t *)json;
    out->value.len = len;
    out->value.owner = json;
    out->value.release = release;
    return ZARR_OK;
}

static const zarr_codec_vtable TURN = {.struct_size = sizeof TURN, .create = turn_create};

/* kinds.letters: the key of chunk (1, 23) is `a1b23`. At most 26 dimensions. */

static int32_t keys_create(const void *context, const zarr_creation *creation, void **self, zarr_buf *err) {
    (void)context, (void)self;
    if (!is_empty(creation->configuration_json))
        return refuse(err, "expected no members", creation->configuration_json);
    return ZARR_OK;
}

static int32_t keys_encode(const void *self, const uint64_t *index, size_t rank, zarr_output *key, zarr_buf *err) {
    char number[24];
    (void)self;
    if (rank > 26) return fail(err, ZARR_UNSUPPORTED, "expected at most 26 dimensions");
    if (rank == 0) {
        if (reserve(key, 1)) return fail(err, ZARR_LIMIT_EXCEEDED, "the key is too long");
        key->start[0] = '-';
        key->len = 1;
    }
    for (size_t i = 0; i < rank; i++) {
        const size_t len = (size_t)sprintf(number, "%c%llu", (char)('a' + i), (unsigned long long)index[i]);
        if (key->capacity - key->len < len && key->reserve(key, len))
            return fail(err, ZARR_LIMIT_EXCEEDED, "the key is too long");
        memcpy(key->start + key->len, number, len);
        key->len += len;
    }
    return ZARR_OK;
}

static int32_t keys_decode(const void *self, zarr_str key, uint64_t *index, size_t rank, uint32_t *found,
                           zarr_buf *err) {
    size_t at = 0;
    (void)self, (void)err;
    if (rank > 26) return ZARR_OK;
    if (rank == 0) {
        *found = key.len == 1 && key.ptr[0] == '-';
        return ZARR_OK;
    }
    for (size_t i = 0; i < rank; i++) {
        uint64_t number = 0;
        if (at >= key.len || key.ptr[at++] != 'a' + i) return ZARR_OK;
        const size_t first = at;
        for (; at < key.len && key.ptr[at] >= '0' && key.ptr[at] <= '9'; at++) {
            const uint64_t digit = (uint64_t)(key.ptr[at] - '0');
            if (number > (UINT64_MAX - digit) / 10) return ZARR_OK;
            number = number * 10 + digit;
        }
        if (at == first || (key.ptr[first] == '0' && at > first + 1)) return ZARR_OK;
        index[i] = number;
    }
    *found = at == key.len;
    return ZARR_OK;
}

static const zarr_chunk_key_encoding_vtable KEYS = {
    .struct_size = sizeof KEYS, .create = keys_create, .encode = keys_encode, .decode = keys_decode};

static const zarr_str ALIASES[] = {TEXT("kinds.differences")};

static const zarr_item ITEMS[] = {
    {
        .struct_size = sizeof(zarr_item),
        .kind = ZARR_CODEC,
        .uri = TEXT("https://example.org/kinds/steps/1.0"),
        .name = TEXT("kinds.steps"),
        .id = TEXT("kinds.steps"),
        .aliases = ALIASES,
        .n_aliases = 1,
        .summary = TEXT("Stores the difference of each byte to the preceding one."),
        .examples_json = TEXT("[{\"format\": \"v3\", \"document\": {\"name\": \"kinds.steps\", "
                              "\"configuration\": {\"start\": 7}}}, "
                              "{\"format\": \"v2\", \"document\": {\"id\": \"kinds.steps\", \"start\": 255}}, "
                              "{\"format\": \"v3-draft\", \"document\": {\"type\": "
                              "\"https://example.org/kinds/steps/1.0\", \"configuration\": {\"start\": 0}}}]"),
        .vtable = &STEPS,
        .configuration_schema_json =
            TEXT("{\"v3\": {\"type\": \"object\", \"properties\": {\"start\": {\"type\": \"integer\", "
                 "\"minimum\": 0, \"maximum\": 255}}, \"additionalProperties\": false}}"),
    },
    {
        .struct_size = sizeof(zarr_item),
        .kind = ZARR_CODEC,
        .name = TEXT("kinds.sum"),
        .summary = TEXT("Stores a checksum of four bytes before the bytes."),
        .examples_json = TEXT("[{\"format\": \"v3\", \"document\": {\"name\": \"kinds.sum\"}}]"),
        .vtable = &SUM,
    },
    {
        .struct_size = sizeof(zarr_item),
        .kind = ZARR_CODEC,
        .name = TEXT("kinds.last-first"),
        .summary = TEXT("Stores the last dimension first."),
        .examples_json =
            TEXT("[{\"format\": \"v3\", \"document\": {\"name\": \"kinds.last-first\"}, \"shape\": [2, 3, 4]}]"),
        .vtable = &TURN,
    },
    {
        .struct_size = sizeof(zarr_item),
        .kind = ZARR_CHUNK_KEY_ENCODING,
        .name = TEXT("kinds.letters"),
        .summary = TEXT("Names chunks by a letter and a number for each dimension, such as a1b23."),
        .examples_json = TEXT("[{\"format\": \"v3\", \"document\": {\"name\": \"kinds.letters\"}}]"),
        .vtable = &KEYS,
    },
};

static const zarr_item *const LISTED[] = {&ITEMS[0], &ITEMS[1], &ITEMS[2], &ITEMS[3]};

static const zarr_plugin PLUGIN = {
    .struct_size = sizeof PLUGIN,
    .abi_major = ZARR_ABI_MAJOR,
    .abi_minor = ZARR_ABI_MINOR,
    .name = TEXT("kinds-c"),
    .version = TEXT("1.0.0"),
    .license = TEXT("MIT OR Apache-2.0"),
    .build = TEXT("cc " __VERSION__),
    .items = LISTED,
    .n_items = sizeof LISTED / sizeof LISTED[0],
};

int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err) {
    if (host->abi_major != ZARR_ABI_MAJOR) return fail(err, ZARR_UNSUPPORTED, "this host uses another version of the ABI");
    *out = &PLUGIN;
    return ZARR_OK;
}
