/* The codec example.xor in C, built from the header only. Each macro adds one fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "example.xor"
#endif
#ifndef VERSION
#define VERSION "1.2.0"
#endif

#include "zarr_plugin.h"

#ifndef MAJOR
#define MAJOR ZARR_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR ZARR_ABI_MINOR
#endif

static zarr_str text(const char *chars) {
    zarr_str text = {(const uint8_t *)chars, strlen(chars)};
    return text;
}

/* Texts of this library are static, so nothing is released. */
static int32_t fail(zarr_buf *err, int32_t status, const char *message) {
    err->ptr = (uint8_t *)message;
    err->len = strlen(message);
    err->owner = NULL;
    err->release = NULL;
#ifdef LONG_MESSAGE
    err->len = (size_t)1 << 60;
#endif
    return status;
}

static int32_t create(const void *context, const zarr_creation *creation, const zarr_representation *decoded,
                      zarr_codec_instance *out, zarr_buf *err) {
    char json[64] = {0};
    char *end;
    uint8_t *key;
    long number;
    (void)context;
    (void)decoded;
    if (creation->configuration_json.len >= sizeof json)
        return fail(err, ZARR_BAD_CONFIGURATION, "the configuration is too long");
    memcpy(json, creation->configuration_json.ptr, creation->configuration_json.len);
    if (strncmp(json, "{\"key\":", 7) != 0)
        return fail(err, ZARR_BAD_CONFIGURATION, "member `key` is missing");
    number = strtol(json + 7, &end, 10);
    if (strcmp(end, "}") != 0) {
        /* The host has already copied the message of an earlier call of this thread. */
        static _Thread_local char message[96];
        snprintf(message, sizeof message, "expected only `key`, but found %s", end);
        return fail(err, ZARR_BAD_CONFIGURATION, message);
    }
    if (number < 0 || number > 255)
        return fail(err, ZARR_BAD_CONFIGURATION, "key is not 0 to 255");
    key = malloc(1);
    if (key == NULL)
        return fail(err, ZARR_INTERNAL, "no memory");
    *key = (uint8_t)number;
    out->form = ZARR_FORM_BYTES_TO_BYTES;
    out->self = key;
#ifdef FORM
    out->form = FORM;
    out->checksum_size = UINT32_MAX;
    out->n_chains = UINT32_MAX;
#endif
#ifdef NO_VALUE
    out->form = ZARR_FORM_VALUE;
    fail(&out->value, ZARR_OK, "{\"permutation\": [18446744073709551616]}");
#endif
    return ZARR_OK;
}

static void destroy(void *self) { free(self); }

static int32_t run(const void *self, const zarr_array *array, zarr_str from, const zarr_call *call, zarr_output *to,
                   zarr_buf *err) {
    const uint8_t key = *(const uint8_t *)self;
    size_t i;
    (void)array;
#ifdef IN_RUN
    IN_RUN;
#endif
#ifdef UNKNOWN_STATUS
    return 4711;
#endif
#ifdef LONG_ERROR
    fail(err, ZARR_CORRUPT, "no");
    err->len = (size_t)1 << 60;
    return ZARR_CORRUPT;
#endif
#ifdef NULL_ERROR
    fail(err, ZARR_CORRUPT, "no");
    err->ptr = NULL;
    return ZARR_CORRUPT;
#endif
#ifdef IGNORES_RESERVE
    to->reserve(to, call->max_out_bytes + 1);
    return ZARR_OK;
#endif
    if (from.len > call->max_out_bytes)
        return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    if (to->capacity < from.len && to->reserve(to, from.len) != 0)
        return fail(err, ZARR_LIMIT_EXCEEDED, "the output is too large");
    for (i = 0; i < from.len; i++)
        to->start[i] = from.ptr[i] ^ key;
    to->len = from.len;
#ifdef TOO_MUCH
    to->capacity = to->limit = SIZE_MAX;
    to->len = from.len + 1000;
#endif
#ifdef AFTER_RUN
    AFTER_RUN;
#endif
    return ZARR_OK;
}

/* encoded_size is NULL: the function is not implemented. */
static const zarr_codec_vtable xor_codec = {
    .struct_size = sizeof(zarr_codec_vtable), .create = create, .destroy = destroy, .encode = run,
#ifndef NO_DECODE
    .decode = run
#endif
};

static zarr_item item;

#ifdef NEWER
/* A possible version 2.9: more members, and an item of a kind that version 2.0 does not have. */
static struct {
    zarr_plugin known;
    uint64_t more[4];
} plugin;
static zarr_item newer = {.struct_size = sizeof(zarr_item), .kind = 4711};
static const zarr_item *const items[] = {&newer, &item};
#define KNOWN plugin.known
#else
static zarr_plugin plugin;
static const zarr_item *const items[] = {&item};
#define KNOWN plugin
#endif

#ifdef NO_SYMBOL
#define zarr_plugin_v2 something_else
int32_t something_else(const zarr_host *host, const zarr_plugin **out, zarr_buf *err);
#endif

int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err) {
    if (host->abi_major != ZARR_ABI_MAJOR)
        return fail(err, ZARR_UNSUPPORTED, "this host uses another version of the ABI");
#ifdef REFUSES
    return fail(err, ZARR_UNSUPPORTED, "it runs only on Sundays");
#endif
#ifdef LONG_MESSAGE
    return fail(err, ZARR_INTERNAL, "no");
#endif
    item.struct_size = sizeof item;
    item.kind = ZARR_CODEC;
    item.name = text(NAME);
    item.summary = text("Combines each byte with a key by exclusive or.");
    item.examples_json = text("[{\"format\": \"v3\", \"document\": {\"name\": \"example.xor\", "
                              "\"configuration\": {\"key\": 170}}}]");
    item.vtable = &xor_codec;
#ifdef NO_VTABLE
    item.vtable = NULL;
#endif
#ifdef NO_JSON
    item.examples_json = text("[");
#endif
#ifdef NOT_UTF8
    item.name = text("\xff");
#endif
    KNOWN.struct_size = sizeof plugin;
    KNOWN.abi_major = MAJOR;
    KNOWN.abi_minor = MINOR;
    KNOWN.name = text("xor-c");
    KNOWN.version = text(VERSION);
    KNOWN.license = text("MIT");
    KNOWN.build = text("cc");
    KNOWN.items = items;
    KNOWN.n_items = sizeof items / sizeof items[0];
#ifdef MANY_ITEMS
    KNOWN.n_items = SIZE_MAX / 16;
#endif
#ifdef LONG_NAME
    KNOWN.name.len = (size_t)1 << 60;
#endif
#ifdef TINY
    KNOWN.struct_size = 3;
#endif
    *out = &KNOWN;
#ifdef NULL_PLUGIN
    *out = NULL;
#endif
    return ZARR_OK;
}
