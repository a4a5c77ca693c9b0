"""The lengths of stored chunks along each dimension."""

from zarr_kit._array import Array

# One length if all chunks except the last one have it; the last one may extend past the array. Otherwise all lengths.
type Lengths = int | tuple[int, ...]


def stored_lengths(array: Array) -> tuple[Lengths, ...]:
    """Return the lengths of chunks, or of shards of a sharded array, along each dimension."""
    longest = array._engine.chunk_shape
    grid_shape = array._engine.grid_shape
    # An array without elements has no chunks.
    if 0 in grid_shape:
        return tuple(longest)
    last = array._engine.chunk_ranges([count - 1 for count in grid_shape])
    # The last chunk starts at `(count - 1) * length` only if every chunk before it has the longest length.
    return tuple(
        length if start == (count - 1) * length else _lengths(array, dimension, count)
        for dimension, (length, count, (start, _)) in enumerate(zip(longest, grid_shape, last, strict=True))
    )


def _lengths(array: Array, dimension: int, count: int) -> tuple[int, ...]:
    """Return the lengths of all chunks along one dimension."""
    index = [0] * array.ndim
    lengths = []
    for index[dimension] in range(count):
        start, stop = array._engine.chunk_ranges(index)[dimension]
        lengths.append(stop - start)
    return tuple(lengths)
