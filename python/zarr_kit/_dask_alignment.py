"""Checks that no two Dask tasks write the same chunk.

Along each dimension, a block must begin and end where a chunk begins or ends, or at the end of the array.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from zarr_kit._chunk_lengths import Lengths
from zarr_kit.errors import InvalidInputError

type Blocks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of the chunks of an array along one dimension.

    `length` is the number of elements, and `starts` contains the first element of each chunk.
    """

    length: int
    chunks: Lengths
    starts: Sequence[int]

    @classmethod
    def of(cls, length: int, chunks: Lengths) -> "Edges":
        """Return the edges of chunks along a dimension of `length` elements."""
        if isinstance(chunks, int):
            return cls(length, chunks, range(0, length, chunks))
        return cls(length, chunks, list(accumulate(chunks[:-1], initial=0)))

    def floor(self, position: int) -> int:
        """Return the last edge that is not after `position`."""
        return self.length if position >= self.length else self.starts[bisect_right(self.starts, position) - 1]

    def ceiling(self, position: int) -> int:
        """Return the first edge that is not before `position`."""
        following = bisect_left(self.starts, position)
        return self.starts[following] if following < len(self.starts) else self.length

    def is_edge(self, position: int) -> bool:
        """Return whether a chunk begins or ends at `position`."""
        return self.floor(position) == position

    def blocks(self, start: int, stop: int) -> tuple[int, ...]:
        """Return the lengths of the chunks between two edges, without elements outside of the array."""
        between = self.starts[bisect_left(self.starts, start) : bisect_left(self.starts, stop)]
        return tuple(end - begin for begin, end in pairwise([*between, stop])) or (0,)


def check_region(region: Sequence[slice], edges: Sequence[Edges]) -> None:
    """Raise an error if the region contains only a part of a chunk.

    Another call may write the rest of the chunk at the same time, and the elements of one call would be lost.
    """
    aligned = tuple(
        slice(edge.floor(part.start), edge.ceiling(part.stop)) for part, edge in zip(region, edges, strict=True)
    )
    if aligned != tuple(region):
        raise InvalidInputError(
            f"the region {_text(region)} has parts of chunks, but only whole chunks are written: use a region such as"
            f" {_text(aligned)}"
        )


def check_blocks(blocks: Blocks, region: Sequence[slice], edges: Sequence[Edges]) -> None:
    """Raise an error if two blocks contain elements of the same chunk. The region consists of whole chunks."""
    inside = {}
    suggestion = {}
    for dimension, lengths in enumerate(blocks):
        edge = edges[dimension]
        part = region[dimension]
        ends = [end for end in accumulate(lengths, initial=part.start) if not edge.is_edge(end)]
        if ends:
            inside[dimension] = ends[0]
            suggestion[dimension] = _aligned(lengths, part, edge)
    if not inside:
        return
    first = min(inside)
    end = inside[first]
    raise InvalidInputError(
        f"a block ends at element {end} of dimension {first}, inside of the chunk of elements {edges[first].floor(end)} to"
        f" {edges[first].ceiling(end) - 1}, so that two tasks would write one chunk: use array.rechunk({suggestion})"
    )


def chunks_of_blocks(blocks: Blocks) -> tuple[int, ...]:
    """Return the chunk shape of a new array that has one chunk for each block."""
    irregular = {}
    for dimension, lengths in enumerate(blocks):
        if len(set(lengths[:-1])) > 1 or lengths[-1] > lengths[0]:
            irregular[dimension] = max(lengths)
    if irregular:
        first = next(iter(irregular))
        raise InvalidInputError(
            f"blocks along dimension {first} have {min(blocks[first])} to {max(blocks[first])} elements, but chunks have"
            f" one length: give `chunks`, or use array.rechunk({irregular})"
        )
    return tuple(max(lengths[0], 1) for lengths in blocks)


def _aligned(lengths: tuple[int, ...], region: slice, edge: Edges) -> int | tuple[int, ...]:
    if isinstance(edge.chunks, int):
        return -(-max(lengths) // edge.chunks) * edge.chunks
    return edge.blocks(region.start, region.stop)


def _text(region: Sequence[slice]) -> str:
    return "(" + ", ".join(f"slice({part.start}, {part.stop})" for part in region) + ")"
