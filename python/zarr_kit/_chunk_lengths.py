"""The lengths of stored chunks along each dimension."""

from zarr_kit._array import Array

# One length if all chunks have it, except for the last one, which may reach past the array. All lengths otherwise.
type Lengths = int | tuple[int, ...]


def stored_lengths(array: Array) -> tuple[Lengths, ...]:
    """Return the elements of chunks, or of shards where chunks are in shards, along each dimension."""
    longest = array._engine.chunk_shape
    return tuple(_lengths(array, dimension, longest[dimension]) for dimension in range(array.ndim))


def _lengths(array: Array, dimension: int, longest: int) -> Lengths:
    grid_shape = array._engine.grid_shape
    count = grid_shape[dimension]
    # The last chunk starts there only if no chunk before it is shorter. An array without elements has no chunks.
    if 0 in grid_shape or _range(array, dimension, count - 1)[0] == (count - 1) * longest:
        return longest
    ranges = (_range(array, dimension, position) for position in range(count))
    return tuple(stop - start for start, stop in ranges)


def _range(array: Array, dimension: int, position: int) -> tuple[int, int]:
    """Return the first element and the end of a chunk along one dimension."""
    index = [0] * array.ndim
    index[dimension] = position
    return array._engine.chunk_ranges(index)[dimension]
