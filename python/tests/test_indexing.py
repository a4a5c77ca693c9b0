"""Indexing gives the result of NumPy, or an IndexError."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from strategies import examples

import zarr_kit

SHAPES = st.lists(st.integers(0, 7), min_size=0, max_size=3).map(tuple)


def stored(elements: NDArray[Any], chunk: int = 3) -> zarr_kit.Array:
    """Return an array in memory with small chunks."""
    chunks = tuple(max(1, min(chunk, length)) for length in elements.shape)
    return zarr_kit.create_array("memory:", data=elements, chunks=chunks)


def numbers(shape: tuple[int, ...]) -> NDArray[np.int32]:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw any key of NumPy: basic, integer arrays, or masks."""
    basic = npst.basic_indices(shape, allow_newaxis=True)
    choices: list[st.SearchStrategy[Any]] = [basic, st.just(...), st.just(())]
    if shape and 0 not in shape:
        choices.append(npst.integer_array_indices(shape))
        choices.append(npst.arrays(np.bool_, shape))
        choices.append(st.tuples(*(mixed_part(length) for length in shape)))
    return draw(st.one_of(choices))


def mixed_part(length: int) -> st.SearchStrategy[Any]:
    """Draw an integer, a slice, a list or a mask along one dimension."""
    return st.one_of(
        st.integers(-length, length - 1),
        st.slices(length),
        st.lists(st.integers(-length, length - 1), max_size=4),
        npst.arrays(np.bool_, length),
        st.none(),
    )


def of_numpy(elements: NDArray[Any], key: Any) -> Any:
    """Return NumPy's result, or None if the key is refused."""
    try:
        return elements[key]
    except IndexError:
        return None


@examples(400)
@given(st.data())
def test_reads_are_those_of_numpy(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    elements = numbers(shape)
    key = data.draw(keys(shape))
    expected = of_numpy(elements, key)
    array = stored(elements)
    if expected is None:
        with pytest.raises(IndexError):
            array[key]
        return
    result = array[key]
    assert type(result) is type(expected)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)


@examples(300)
@given(st.data())
def test_writes_are_those_of_numpy(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    elements = numbers(shape)
    key = data.draw(keys(shape))
    expected = of_numpy(elements, key)
    if expected is None:
        return
    array = stored(elements)
    values = np.arange(np.size(expected), dtype=np.int32).reshape(np.shape(expected)) + 1000
    if values.ndim and data.draw(st.booleans()):
        values = values[:1]
    elements[key] = values
    array[key] = values
    np.testing.assert_array_equal(array[...], elements)


@examples(100)
@given(st.data())
def test_oindex_takes_every_combination(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
    elements = numbers(shape)
    lists = tuple(data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4)) for n in shape)
    array = stored(elements)
    np.testing.assert_array_equal(array.oindex[lists], elements[np.ix_(*lists)])
    values = np.arange(np.prod([len(indices) for indices in lists]), dtype=np.int32).reshape(
        [len(indices) for indices in lists]
    )
    array.oindex[lists] = values
    elements[np.ix_(*lists)] = values
    np.testing.assert_array_equal(array[...], elements)


@st.composite
def parts_of_dimensions(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Draw an integer, a slice, a list or a mask for each dimension."""
    return tuple(draw(mixed_part(length).filter(lambda part: part is not None)) for length in shape)


def indices_of(part: Any, length: int) -> NDArray[np.intp]:
    """Return the indices along a dimension that a part of a key selects."""
    everything = np.arange(length)
    return np.atleast_1d(everything[np.asarray(part, dtype=np.intp) if isinstance(part, list) else part])


@examples(200)
@given(st.data())
def test_oindex_is_the_outer_product_of_the_parts(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
    expected = numbers(shape)
    key = data.draw(parts_of_dimensions(shape))
    selected = np.ix_(*(indices_of(part, length) for part, length in zip(key, shape, strict=True)))
    dropped = tuple(axis for axis, part in enumerate(key) if isinstance(part, int))
    array = stored(expected)
    found = array.oindex[key]
    np.testing.assert_array_equal(found, expected[selected].squeeze(axis=dropped))
    values = np.arange(np.size(found), dtype=np.int32).reshape(np.shape(found)) + 1000
    array.oindex[key] = values
    expected[selected] = np.expand_dims(values, dropped)
    np.testing.assert_array_equal(array[...], expected)


@examples(200)
@given(st.data())
def test_vindex_takes_broadcast_coordinates_or_a_mask(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
    expected = numbers(shape)
    coordinates = npst.integer_array_indices(shape, result_shape=npst.array_shapes(min_dims=0, max_dims=3, max_side=4))
    key = data.draw(st.one_of(coordinates, npst.arrays(np.bool_, shape)))
    array = stored(expected)
    found = array.vindex[key]
    np.testing.assert_array_equal(found, expected[key])
    assert np.shape(found) == np.shape(expected[key])
    values = np.arange(np.size(found), dtype=np.int32).reshape(np.shape(found)) + 1000
    array.vindex[key] = values
    expected[key] = values
    np.testing.assert_array_equal(array[...], expected)


@examples(150)
@given(st.data())
def test_blocks_are_the_chunks_of_a_range(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple))
    chunks = tuple(data.draw(st.integers(1, length)) for length in shape)
    shards = tuple(length * data.draw(st.integers(1, 2)) for length in chunks) if data.draw(st.booleans()) else None
    expected = numbers(shape)
    array = zarr_kit.create_array("memory:", data=expected, chunks=chunks, shards=shards)
    blocks = chunks if shards is None else shards
    key: list[Any] = []
    same: list[slice] = []
    for length, block in zip(shape, blocks, strict=True):
        count = -(-length // block)
        part = data.draw(
            st.one_of(st.integers(-count, count - 1), st.tuples(st.integers(0, count), st.integers(0, count)))
        )
        first, end = part if isinstance(part, tuple) else (part % count, part % count + 1)
        key.append(slice(first, end) if isinstance(part, tuple) else part)
        same.append(slice(first * block, max(first, end) * block))
    found = array.blocks[tuple(key)]
    np.testing.assert_array_equal(found, expected[tuple(same)])
    array.blocks[tuple(key)] = found + 1000
    expected[tuple(same)] += 1000
    np.testing.assert_array_equal(array[...], expected)


@examples(100)
@given(st.data())
def test_many_keys_and_given_memory_have_the_results_of_numpy(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    expected = numbers(shape)
    array = stored(expected)
    drawn = data.draw(st.lists(keys(shape), max_size=4))
    valid = [key for key in drawn if of_numpy(expected, key) is not None]
    for key, found in zip(valid, array.read_many(valid), strict=True):
        np.testing.assert_array_equal(found, expected[key])
        out = np.full(np.shape(found), -1, dtype=np.int32)
        np.testing.assert_array_equal(array.read(key, out=out), expected[key])


def test_oindex_mixes_integers_slices_lists_and_masks() -> None:
    elements = numbers((4, 5, 6))
    array = stored(elements)
    mask = np.array([True, False, True, False, True])
    np.testing.assert_array_equal(array.oindex[1, mask, ::-2], elements[1][mask][:, ::-2])
    np.testing.assert_array_equal(array.oindex[[2, 0], 3], elements[[2, 0], 3])
    with pytest.raises(IndexError, match="one dimension"):
        array.oindex[np.zeros((4, 5), dtype=bool)]


def test_vindex_takes_coordinates_or_a_mask() -> None:
    elements = numbers((4, 5))
    array = stored(elements)
    np.testing.assert_array_equal(array.vindex[[0, -1], [[1], [2]]], elements[[0, -1], [[1], [2]]])
    np.testing.assert_array_equal(array.vindex[elements > 7], elements[elements > 7])
    array.vindex[[0, 1], [0, 1]] = [70, 71]
    assert (array[0, 0], array[1, 1]) == (70, 71)
    with pytest.raises(IndexError, match="vindex"):
        array.vindex[0:2, [1]]


def test_blocks_are_chunks() -> None:
    elements = numbers((7, 5))
    array = stored(elements)
    np.testing.assert_array_equal(array.blocks[1, 0], elements[3:6, 0:3])
    np.testing.assert_array_equal(array.blocks[-1], elements[6:7])
    np.testing.assert_array_equal(array.blocks[1:, 1], elements[3:, 3:])
    assert array.blocks[5:, 0].shape == (0, 3)
    array.blocks[2, 1] = 9
    assert (array[6:, 3:] == 9).all()
    with pytest.raises(IndexError):
        array.blocks[3, 0]
    with pytest.raises(IndexError, match="step of 1"):
        array.blocks[::2]


@pytest.mark.parametrize("key", [4, -5, (0, 0, 0), [4], "x", 1.5, [1.0], (..., ...), np.zeros(3, dtype=bool)])
def test_keys_that_numpy_refuses_are_index_errors(key: Any) -> None:
    array = stored(numbers((4, 5)))
    with pytest.raises(IndexError):
        array[key]


def test_the_last_of_several_values_for_one_element_is_stored() -> None:
    elements = numbers((6, 4))
    array = stored(elements)
    repeated: list[Any] = [([1, 1, 0], slice(None)), ([2, 2], [3, 3]), ([0, 0, 0],)]
    for key in repeated:
        values = np.arange(np.size(elements[key]), dtype=np.int32).reshape(elements[key].shape) + 50
        array[key] = values
        elements[key] = values
    np.testing.assert_array_equal(array[...], elements)


def test_values_that_do_not_fit_the_selection_are_refused() -> None:
    array = stored(numbers((4, 5)))
    with pytest.raises(ValueError, match="could not broadcast"):
        array[:2] = np.zeros((3, 5))
    with pytest.raises(TypeError, match="converted"):
        array[0, 0] = "text"
    with pytest.raises(OverflowError):
        array[0, 0] = 2**40


def test_out_is_the_memory_of_the_result() -> None:
    elements = numbers((40, 50))
    array = stored(elements, 16)
    out = np.zeros((40, 50), dtype=np.int32)
    assert array.read(out=out) is out
    np.testing.assert_array_equal(out, elements)
    part = out[:10, ::-1][:, :20]
    array.read((slice(0, 10), slice(20)), out=part)
    np.testing.assert_array_equal(part, elements[:10, :20])
    memory = bytearray(4 * 50)
    array.read(3, out=memoryview(memory).cast("i"))
    assert bytes(memory) == elements[3].tobytes()
    with pytest.raises(ValueError, match="has shape"):
        array.read(0, out=out)
    with pytest.raises(TypeError):
        array.read(out=np.zeros((40, 50), dtype=bool))


def test_results_are_writable_and_independent() -> None:
    array = stored(numbers((4, 5)))
    result = array[...]
    result[0, 0] = 99
    assert array[0, 0] == 0
    assert np.asarray(array).tolist() == numbers((4, 5)).tolist()
    assert [row.tolist() for row in array] == numbers((4, 5)).tolist()
    assert len(array) == 4
