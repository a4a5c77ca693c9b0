"""Indexing gives the result of NumPy, or an IndexError."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

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


@settings(max_examples=400, deadline=None)
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


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=100, deadline=None)
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
