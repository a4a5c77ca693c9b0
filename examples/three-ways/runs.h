/* Run-length encoding of elements of `width` bytes: see runs.c. */
#ifndef RUNS_H
#define RUNS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes that `runs_encode` writes, or SIZE_MAX if it overflows. */
size_t runs_encoded_size(const uint8_t *from, size_t len, size_t width);

void runs_encode(const uint8_t *from, size_t len, size_t width, uint8_t *to);

/* Returns the number of bytes that `runs_decode` writes, or SIZE_MAX if the last run is truncated or the number overflows. */
size_t runs_decoded_size(const uint8_t *from, size_t len, size_t width);

void runs_decode(const uint8_t *from, size_t len, size_t width, uint8_t *to);

#endif
