"""The lengths of stored chunks along each dimension."""

from zarr_kit._array import Array

# One length if all chunks except the last one have it; the last one may extend past the array. Otherwise all lengths.
type Lengths = int | tuple[int, ...]


def stored_lengths(array: Array) -> tuple[Lengths, ...]:
    """Return the lengths of chunks, or of shards of a sharded array, along each dimension."""
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
    """Return the range of elements of a chunk along one dimension."""
    index = [0] * array.ndim
    index[dimension] = position
    return array._engine.chunk_ranges(index)[dimension]
