/* A store with two values that can be read and listed. It has only the functions that it needs.
 *
 * Each macro adds one fault. */
#include <stdlib.h>
#include <string.h>

#include "zarr_plugin.h"

#define TEXT(text) { (const uint8_t *)text, sizeof(text) - 1 }

static const struct { zarr_str key, value; } VALUES[] = {
    { TEXT("a"), TEXT("0123456789") },
    { TEXT("d/b"), TEXT("22") },
};
#define COUNT (sizeof VALUES / sizeof *VALUES)

static int32_t fail(zarr_buf *err, int32_t status, const char *text) {
    if (err) {
        err->ptr = (uint8_t *)text;
        err->len = strlen(text);
        err->owner = NULL;
        err->release = NULL;
    }
    return status;
}

static int is(zarr_str a, zarr_str b) { return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0; }

static int32_t open_store(const void *context, zarr_str location, zarr_str description, const zarr_store_handle *inside,
                          void **self, zarr_buf *err) {
    static int store;
    (void)context, (void)description;
    if (inside) {
        inside->vtable->release(inside->self);
        return fail(err, ZARR_BAD_CONFIGURATION, "two values do not wrap another store");
    }
    if (location.len > 0 && !is(location, (zarr_str)TEXT("two:")))
        return fail(err, ZARR_IO, "there is no such store");
    *self = &store;
    return ZARR_OK;
}

static void release(void *self) { (void)self; }

static int32_t describe(const void *self, zarr_buf *json, zarr_buf *err) {
    (void)self, (void)err;
    return fail(json, ZARR_OK,
                "{\"location\": \"two:\", \"readable\": true, \"writeable\": false, \"listable\": true, "
                "\"erasable\": false, \"max_concurrency\": 2, \"coalesce_gap\": 0, \"caches_values\": true}");
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int32_t get(const void *self, zarr_str key, const zarr_byte_range *range, uint32_t flags, zarr_output *to,
                   zarr_get_result *result, zarr_buf *err) {
    (void)self, (void)flags;
#ifdef FAILS
    return fail(err, FAILS, "the disk is on fire");
#endif
    for (size_t i = 0; i < COUNT; i++) {
        if (!is(VALUES[i].key, key)) continue;
        uint64_t size = VALUES[i].value.len, start = 0, end = size;
        if (range->kind == ZARR_RANGE_PART || range->kind == ZARR_RANGE_FROM) start = least(range->offset, size);
        if (range->kind == ZARR_RANGE_PART) end = start + least(range->size, size - start);
        if (range->kind == ZARR_RANGE_LAST) start = size - least(range->size, size);
        result->found = 1;
        result->size = size;
#ifdef OTHER_SIZE
        result->size = size + 1;
#endif
        if (to->capacity < end - start && to->reserve(to, end - start))
            return fail(err, ZARR_LIMIT_EXCEEDED, "too much");
        if (end > start) memcpy(to->start, VALUES[i].value.ptr + start, end - start);
        to->len = end - start;
#ifdef HUGE_LENGTH
        to->len = (size_t)1 << 60;
#endif
        return ZARR_OK;
    }
#ifdef BYTES_OF_NOTHING
    if (to->reserve(to, 1) == 0) to->len = 1;
#endif
    return ZARR_OK;
}

typedef struct {
    zarr_str prefix;
    size_t next;
} listing;

static int32_t begin_listing(const void *self, zarr_str prefix, void **out, zarr_buf *err) {
    (void)self, (void)err;
    listing *it = malloc(sizeof *it + prefix.len);
    if (!it) return fail(err, ZARR_LIMIT_EXCEEDED, "no memory");
    if (prefix.len) memcpy(it + 1, prefix.ptr, prefix.len);
    it->prefix.ptr = (const uint8_t *)(it + 1);
    it->prefix.len = prefix.len;
    it->next = 0;
#ifdef OUTSIDE
    it->prefix.len = 0;
#endif
    *out = it;
    return ZARR_OK;
}

static int32_t next_keys(void *self, zarr_list_sink *keys, zarr_buf *err) {
    listing *it = self;
    (void)err;
#ifdef NO_KEY
    if (keys->add(keys, 0, (zarr_str)TEXT("a/../b"))) return ZARR_OK;
#endif
#ifdef LISTING_FAILS
    if (it->next > 0) return fail(err, ZARR_IO_THROTTLED, "slow down");
#endif
    /* Not sorted: the host sorts. */
    while (it->next < COUNT) {
        zarr_str key = VALUES[COUNT - ++it->next].key;
        if (key.len < it->prefix.len || (it->prefix.len && memcmp(key.ptr, it->prefix.ptr, it->prefix.len))) continue;
#ifdef NEVER_STOPS
        keys->add(keys, 0, key);
#else
        if (keys->add(keys, 0, key)) return ZARR_OK;
#endif
    }
    return ZARR_OK;
}

static void end_listing(void *self) { free(self); }

#ifdef BATCHES
/* Delivers the first request repeatedly, or nothing with ENDS_EARLY. */
static size_t requested;

static int32_t begin_batch(const void *self, const zarr_store_request *requests, size_t n_requests, size_t budget, void **batch,
                     zarr_buf *err) {
    (void)self, (void)requests, (void)budget, (void)err;
    requested = n_requests;
    *batch = &requested;
    return ZARR_OK;
}

static int32_t next_response(void *batch, size_t *number, zarr_output *to, zarr_get_result *result, zarr_buf *err) {
    (void)batch, (void)to, (void)result, (void)err;
#ifdef ENDS_EARLY
    *number = requested;
#else
    *number = 0;
#endif
    return ZARR_OK;
}

static void end_batch(void *batch) { (void)batch; }
#endif

static const zarr_store_vtable STORE = {
    .struct_size = sizeof STORE,
    .open = open_store,
    .release = release,
    .describe = describe,
    .get = get,
#ifdef BATCHES
    .begin_batch = begin_batch,
    .next_response = next_response,
    .end_batch = end_batch,
#endif
    .begin_listing = begin_listing,
    .next_keys = next_keys,
    .end_listing = end_listing,
};

static const zarr_str SCHEMES[] = { TEXT("two:") };

static const zarr_item ITEM = {
    .struct_size = sizeof ITEM,
    .kind = ZARR_STORE,
    .name = TEXT("two"),
    .aliases = SCHEMES,
    .n_aliases = 1,
    .summary = TEXT("Two values that never change."),
    .examples_json = TEXT("[{\"format\": \"v3\", \"document\": {\"type\": \"two\"}}]"),
    .vtable = &STORE,
};

static const zarr_item *const ITEMS[] = { &ITEM };

static const zarr_plugin PLUGIN = {
    .struct_size = sizeof PLUGIN,
    .abi_major = ZARR_ABI_MAJOR,
    .abi_minor = ZARR_ABI_MINOR,
    .name = TEXT("store-c"),
    .version = TEXT("1.2.0"),
    .license = TEXT("MIT"),
    .build = TEXT(__VERSION__),
    .items = ITEMS,
    .n_items = 1,
};

int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err) {
    (void)host, (void)err;
    *out = &PLUGIN;
    return ZARR_OK;
}
