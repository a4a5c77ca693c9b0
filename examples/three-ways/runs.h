/* Runs of equal elements of `width` bytes: see runs.c. */
#ifndef RUNS_H
#define RUNS_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes `runs_encode` writes; SIZE_MAX if they cannot be counted. */
size_t runs_encoded_size(const uint8_t *from, size_t len, size_t width);

void runs_encode(const uint8_t *from, size_t len, size_t width, uint8_t *to);

/* How many bytes `runs_decode` writes; SIZE_MAX if the last run is cut off or they cannot be counted. */
size_t runs_decoded_size(const uint8_t *from, size_t len, size_t width);

void runs_decode(const uint8_t *from, size_t len, size_t width, uint8_t *to);

#endif
