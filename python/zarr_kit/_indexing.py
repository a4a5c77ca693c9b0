"""NumPy keys as selections of the engine.

A plan depends only on a key and the shape of the array. It determines which elements the engine reads or writes, and
their arrangement in the result, which is the same as in NumPy.
"""

import math
import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

type Range = tuple[int, int, int]
type Indices = NDArray[np.uint64]
# One entry per dimension, or the coordinates of single elements.
type Entries = tuple[int | Range | Indices, ...] | list[Indices]

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid"
    " indices"
)


# The axes of a result that has them in the order of the array.
_IN_ORDER = tuple(range(64))


class Plan(NamedTuple):
    """The elements to read or write, and their arrangement."""

    entries: Entries
    # The shape of the elements in the engine, and the axes with a negative step.
    stored_shape: tuple[int, ...]
    reversed_axes: tuple[int, ...]
    # The shape after indices with several dimensions are expanded, and the order of its axes in the result.
    expanded_shape: tuple[int, ...]
    axes: tuple[int, ...]
    # The shape of the result, with new axes.
    shape: tuple[int, ...]
    is_scalar: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the elements are in the order of the result."""
        return not self.reversed_axes and self.axes == _IN_ORDER[: len(self.axes)]

    def arrange(self, elements: NDArray[Any]) -> NDArray[Any]:
        """Arrange elements from the engine like NumPy, without a copy."""
        if self.is_direct:
            return elements.reshape(self.shape)
        elements = elements.reshape(self.stored_shape)
        if self.reversed_axes:
            elements = np.flip(elements, self.reversed_axes)
        return elements.reshape(self.expanded_shape).transpose(self.axes).reshape(self.shape)

    def gather(self, value: NDArray[Any]) -> tuple[Entries, NDArray[Any]]:
        """Return the selection to write and its elements, in the form that the engine accepts."""
        while value.ndim > len(self.shape) and value.shape[0] == 1:
            value = value[0]
        value = _broadcast(value, self.shape)
        value = value.reshape(tuple(self.expanded_shape[axis] for axis in self.axes))
        value = value.transpose(np.argsort(self.axes)).reshape(self.stored_shape)
        if self.reversed_axes:
            value = np.flip(value, self.reversed_axes)
        return _last_of_each(self.entries, value)


def plan(key: Any, shape: tuple[int, ...]) -> Plan:
    """Return the plan of `array[key]`."""
    if isinstance(key, tuple) and len(key) == len(shape) and (box := _box_plan(key, shape)) is not None:
        return box
    tokens = _tokens(key, shape)
    has_ellipsis = key is Ellipsis or (isinstance(key, tuple) and any(part is Ellipsis for part in key))
    if any(isinstance(token, _Advanced) for token in tokens):
        return _advanced_plan(tokens, shape)
    return _basic_plan(tokens, is_scalar=not has_ellipsis)


def _box_plan(key: tuple[Any, ...], shape: tuple[int, ...]) -> Plan | None:
    """Return the plan of a key of integers and slices without a step, or None for other keys.

    Programs read and write single elements and small boxes in loops, where the general case would take most of the time.
    """
    entries: list[int | Range | Indices] = []
    lengths: list[int] = []
    for dimension, (part, length) in enumerate(zip(key, shape, strict=True)):
        if type(part) is int:
            entries.append(_located_index(part, dimension, length))
        elif type(part) is slice and part.step is None:
            start, stop, _ = part.indices(length)
            if stop <= start:
                return None
            entries.append((start, stop, 1))
            lengths.append(stop - start)
        else:
            return None
    stored = tuple(lengths)
    return Plan(tuple(entries), stored, (), stored, _IN_ORDER[: len(stored)], stored, not stored)


def orthogonal_plan(key: Any, shape: tuple[int, ...]) -> Plan:
    """Return the plan of `array.oindex[key]`: every combination of the indices of all dimensions."""
    parts = key if isinstance(key, tuple) else (key,)
    tokens = [token for token in _tokens(key, shape) if token is not Ellipsis]
    if len(tokens) != len(shape) or any(np.ndim(part) > 1 for part in parts):
        raise IndexError("oindex takes one integer, slice, list or mask of one dimension for each dimension")
    selected = _Selected()
    for token in tokens:
        selected.add(token)
    stored = tuple(selected.lengths)
    axes = tuple(range(len(stored)))
    return Plan(tuple(selected.entries), stored, tuple(selected.reversed_axes), stored, axes, stored)


def coordinate_plan(key: Any, shape: tuple[int, ...]) -> Plan:
    """Return the plan of `array.vindex[key]`: single elements, by their coordinates or by a mask of the array."""
    tokens = _tokens(key, shape)
    if any(isinstance(token, _Slice) or token is None for token in tokens):
        raise IndexError("vindex takes integers or lists of coordinates for all dimensions, or a mask of the array")
    return _advanced_plan(tokens, shape)


@dataclass(frozen=True, slots=True)
class _Slice:
    """The elements that a slice selects along a dimension."""

    dimension: int
    range: Range
    count: int
    is_reversed: bool

    def values(self) -> NDArray[Any]:
        start, stop, step = self.range
        values = np.arange(start, stop, step, dtype=np.uint64)
        return values[::-1] if self.is_reversed else values


@dataclass(frozen=True, slots=True)
class _Advanced:
    """Indices along a dimension. The indices of a zero-dimensional mask only affect broadcasting."""

    dimension: int | None
    values: NDArray[Any]


type _Token = int | _Slice | _Advanced | EllipsisType | None


class _Selected:
    """The entries of the engine for the tokens of a key, and the axes of the selected elements."""

    def __init__(self) -> None:
        self.entries: list[int | Range | Indices] = []
        self.lengths: list[int] = []
        self.reversed_axes: list[int] = []

    def add(self, token: _Token) -> None:
        match token:
            case _Slice():
                if token.is_reversed:
                    self.reversed_axes.append(len(self.lengths))
                self.entries.append(token.range)
                self.lengths.append(token.count)
            case _Advanced():
                self.entries.append(token.values.reshape(-1).astype(np.uint64))
                self.lengths.append(token.values.size)
            case int():
                self.entries.append(token)
            case _:
                # An ellipsis or a new axis selects nothing.
                pass


def _tokens(key: Any, shape: tuple[int, ...]) -> list[_Token]:
    parts = [_checked(part) for part in (key if isinstance(key, tuple) else (key,))]
    given = sum(_dimension_count(part) for part in parts)
    rank = len(shape)
    if given > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {given} were indexed")
    ellipses = [position for position, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    # An ellipsis for no dimensions also remains, because it separates the indices next to it.
    position = ellipses[0] + 1 if ellipses else len(parts)
    parts[position:position] = [slice(None)] * (rank - given)
    tokens: list[_Token] = []
    dimension = 0
    for part in parts:
        tokens.extend(_located(part, dimension, shape))
        dimension += _dimension_count(part)
    return tokens


type _Part = int | slice | EllipsisType | NDArray[Any] | None


def _checked(part: Any) -> _Part:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, (bool, np.bool_)):
        return np.asarray(part)
    try:
        return operator.index(part)
    except TypeError:
        pass
    try:
        values = np.asarray(part)
    except ValueError as error:
        raise IndexError(_INVALID) from error
    if values.size == 0 and not isinstance(part, np.ndarray):
        values = values.astype(np.intp)
    if values.dtype.kind not in "iub":
        raise IndexError(_INVALID)
    return values


def _dimension_count(part: _Part) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1


def _located(part: _Part, dimension: int, shape: tuple[int, ...]) -> list[_Token]:
    if part is None or part is Ellipsis:
        return [part]
    if isinstance(part, slice):
        return [_located_slice(part, dimension, shape[dimension])]
    if isinstance(part, int):
        return [_located_index(part, dimension, shape[dimension])]
    if part.dtype.kind == "b":
        return list(_located_mask(part, dimension, shape))
    return [_Advanced(dimension, _located_indices(part, dimension, shape[dimension]))]


def _located_slice(part: slice, dimension: int, length: int) -> _Slice:
    selected = range(*part.indices(length))
    if not selected:
        return _Slice(dimension, (0, 0, 1), 0, False)
    if selected.step > 0:
        return _Slice(dimension, (selected.start, selected.stop, selected.step), len(selected), False)
    return _Slice(dimension, (selected[-1], selected.start + 1, -selected.step), len(selected), True)


def _located_index(index: int, dimension: int, length: int) -> int:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {dimension} with size {length}")
    return index % length


def _located_indices(values: NDArray[Any], dimension: int, length: int) -> NDArray[Any]:
    outside = (values < -length) | (values >= length) if values.dtype.kind == "i" else values >= length
    if outside.any():
        index = values[outside][0]
        raise IndexError(f"index {index} is out of bounds for axis {dimension} with size {length}")
    if values.dtype.kind == "i":
        values = np.where(values < 0, values.astype(np.int64) + length, values)
    return values.astype(np.uint64)


def _located_mask(mask: NDArray[Any], dimension: int, shape: tuple[int, ...]) -> list[_Advanced]:
    if mask.ndim == 0:
        return [_Advanced(None, np.zeros(int(mask), dtype=np.uint64))]
    for axis, length in enumerate(mask.shape):
        if length != shape[dimension + axis]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {dimension + axis}; size of axis is"
                f" {shape[dimension + axis]} but size of corresponding boolean axis is {length}"
            )
    return [_Advanced(dimension + axis, indices) for axis, indices in enumerate(mask.nonzero())]


def _basic_plan(tokens: list[_Token], *, is_scalar: bool) -> Plan:
    selected = _Selected()
    shape: list[int] = []
    for token in tokens:
        selected.add(token)
        if isinstance(token, _Slice):
            shape.append(token.count)
        elif token is None:
            shape.append(1)
    lengths = tuple(selected.lengths)
    axes = tuple(range(len(lengths)))
    is_scalar = is_scalar and not shape
    reversed_axes = tuple(selected.reversed_axes)
    return Plan(tuple(selected.entries), lengths, reversed_axes, lengths, axes, tuple(shape), is_scalar)


def _advanced_plan(tokens: list[_Token], shape: tuple[int, ...]) -> Plan:
    # As in NumPy, an integer next to an index array counts as a zero-dimensional array.
    advanced = [token for token in tokens if isinstance(token, _Advanced)]
    lists = [token for token in advanced if token.values.ndim > 0]
    try:
        broadcast = np.broadcast_shapes(*(token.values.shape for token in advanced))
    except ValueError as error:
        shapes = " ".join(str(token.values.shape) for token in advanced)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        ) from error
    result = _result_tokens(tokens)
    if len(advanced) == 1 and lists and lists[0].dimension is not None:
        return _one_list_plan(tokens, result, broadcast)
    return _points_plan(tokens, result, broadcast, shape)


def _result_tokens(tokens: list[_Token]) -> list[_Slice | EllipsisType | None]:
    """Return the slices and new axes of the result; the ellipsis stands for the axes of all indices."""
    positions = [position for position, token in enumerate(tokens) if isinstance(token, (int, _Advanced))]
    is_together = positions[-1] - positions[0] + 1 == len(positions)
    first = positions[0] if is_together else 0
    result: list[_Slice | EllipsisType | None] = []
    for position, token in enumerate(tokens):
        if position == first:
            result.append(Ellipsis)
        if token is None or isinstance(token, _Slice):
            result.append(token)
    return result


def _shape_of(
    result: list[_Slice | EllipsisType | None], broadcast: tuple[int, ...], *, new_axes: bool
) -> tuple[int, ...]:
    shape: list[int] = []
    for token in result:
        if isinstance(token, _Slice):
            shape.append(token.count)
        elif token is Ellipsis:
            shape.extend(broadcast)
        elif new_axes:
            shape.append(1)
    return tuple(shape)


def _one_list_plan(
    tokens: list[_Token], result: list[_Slice | EllipsisType | None], broadcast: tuple[int, ...]
) -> Plan:
    selected = _Selected()
    expanded: list[int] = []
    list_axis = 0
    for token in tokens:
        selected.add(token)
        if isinstance(token, _Slice):
            expanded.append(token.count)
        elif isinstance(token, _Advanced):
            list_axis = len(expanded)
            expanded.extend(broadcast)
    of_list = list(range(list_axis, list_axis + len(broadcast)))
    others = [axis for axis in range(len(expanded)) if axis not in of_list]
    before = sum(isinstance(token, _Slice) for token in result[: result.index(Ellipsis)])
    axes = (*others[:before], *of_list, *others[before:])
    shape = _shape_of(result, broadcast, new_axes=True)
    stored = tuple(selected.lengths)
    return Plan(tuple(selected.entries), stored, tuple(selected.reversed_axes), tuple(expanded), axes, shape)


def _points_plan(
    tokens: list[_Token],
    result: list[_Slice | EllipsisType | None],
    broadcast: tuple[int, ...],
    shape: tuple[int, ...],
) -> Plan:
    expanded = _shape_of(result, broadcast, new_axes=False)
    axes_of_slices: dict[int, int] = {}
    end_of_lists = 0
    axis = 0
    for part in result:
        if isinstance(part, _Slice):
            axes_of_slices[part.dimension] = axis
            axis += 1
        elif part is Ellipsis:
            axis += len(broadcast)
            end_of_lists = axis
    coordinates: list[Indices] = []
    for token in tokens:
        if token is None or token is Ellipsis or (isinstance(token, _Advanced) and token.dimension is None):
            continue
        if isinstance(token, _Slice):
            values = token.values()
            trailing = len(expanded) - 1 - axes_of_slices[token.dimension]
        else:
            values = np.asarray(token.values if isinstance(token, _Advanced) else token)
            trailing = len(expanded) - end_of_lists
        values = values.reshape(values.shape + (1,) * trailing)
        coordinates.append(np.array(np.broadcast_to(values, expanded), dtype=np.uint64).reshape(-1))
    count = math.prod(expanded)
    axes = tuple(range(len(expanded)))
    result_shape = _shape_of(result, broadcast, new_axes=True)
    if not shape:
        return Plan((), expanded, (), expanded, axes, result_shape)
    return Plan(coordinates, (count,), (), expanded, axes, result_shape)


def _broadcast(value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if value.shape == shape:
        return value
    try:
        broadcast = np.broadcast_to(value, shape, subok=True)
    except ValueError as error:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {shape}") from error
    return broadcast


def _last_of_each(entries: Entries, value: NDArray[Any]) -> tuple[Entries, NDArray[Any]]:
    """Drop elements that a later element with the same index replaces."""
    if isinstance(entries, list):
        kept = _last_positions(np.stack(entries, axis=1)) if entries else None
        if kept is None:
            return entries, value
        return [indices[kept] for indices in entries], value[kept]
    result: list[int | Range | Indices] = []
    axis = 0
    for entry in entries:
        if isinstance(entry, np.ndarray):
            kept = _last_positions(entry)
            if kept is not None:
                entry = entry[kept]
                value = np.take(value, kept, axis)
        axis += not isinstance(entry, int)
        result.append(entry)
    return tuple(result), value


def _last_positions(indices: NDArray[Any]) -> NDArray[np.intp] | None:
    """Return the position of the last occurrence of each index, or None if all differ."""
    count = len(indices)
    _, positions = np.unique(indices[::-1], axis=0, return_index=True)
    return None if len(positions) == count else np.sort(count - 1 - positions)
