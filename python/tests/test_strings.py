"""Arrays of strings, whose memory NumPy manages itself."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import zarr_kit
from zarr_kit._dtypes import data_type_of

STRINGS = np.dtypes.StringDType()

# NumPy stores strings of up to 15 bytes in the array itself, up to 255 bytes with a short header, and others with a long one.
LENGTHS = [0, 1, 14, 15, 16, 254, 255, 256, 100_000]


def strings(texts: list[str]) -> NDArray[Any]:
    return np.array(texts, dtype=STRINGS)


def test_strings_of_every_length_are_written_and_read() -> None:
    data = strings(["é" * (length // 2) + "x" * (length % 2) for length in LENGTHS])
    array = zarr_kit.create_array("memory:", data=data, chunks=(4,))
    read = array[:]
    assert read.dtype == STRINGS
    assert read.tolist() == data.tolist()
    # NumPy reuses the memory of an array that is not used any more.
    for _ in range(10):
        assert array[::-1].tolist() == data[::-1].tolist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), min_size=1, max_size=40))
def test_any_text_is_read_as_it_was_written(texts: list[str]) -> None:
    array = zarr_kit.create_array("memory:", data=strings(texts), chunks=(7,))
    assert array[:].tolist() == texts


def test_views_with_strides_are_written() -> None:
    data = strings([f"{number} is a number in a text" for number in range(24)]).reshape(4, 6)
    array = zarr_kit.create_array("memory:", shape=(2, 6), chunks=(1, 4), dtype="string")
    array[:] = data[::2]
    assert array[:].tolist() == data[::2].tolist()
    array[:] = data.T[:, :2].T[:, ::-1]
    assert array[:].tolist() == data[:2, ::-1].tolist()


def test_writing_does_not_copy_the_array_of_strings() -> None:
    data = strings(["a", "a text that does not fit into the array itself"])
    element = data_type_of("string")[1]
    assert element is not None
    assert element.array(data) is data
    array = zarr_kit.create_array("memory:", shape=(2, 2), chunks=(2, 2), dtype="string")
    array[:] = data
    assert array[:].tolist() == [data.tolist()] * 2


def test_no_strings_are_written_and_read() -> None:
    array = zarr_kit.create_array("memory:", shape=(3,), chunks=(2,), dtype="string")
    array[1:1] = strings([])
    assert array[:].tolist() == ["", "", ""]


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_strings_are_converted_as_numpy_does(missing: Any) -> None:
    data: NDArray[Any] = np.array(["a", missing], dtype=np.dtypes.StringDType(na_object=missing))
    array = zarr_kit.create_array("memory:", shape=(2,), chunks=(2,), dtype="string")
    array[:] = data
    assert array[:].tolist() == np.asarray(data, dtype=STRINGS).tolist() == ["a", str(missing)]


def test_threads_read_and_write_strings_at_the_same_time() -> None:
    data = strings([str(number) * 9 for number in range(1000)])
    array = zarr_kit.create_array("memory:", data=data, chunks=(100,))

    def run(number: int) -> bool:
        array[number * 100 : number * 100 + 100] = data[number * 100 : number * 100 + 100]
        return bool((array[:] == data).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(run, range(10)))


def test_zarr_python_stores_the_same_strings(tmp_path: Path) -> None:
    data = strings(["", "é", "a longer text than NumPy has in an array", "x" * 300])
    zarr_kit.create_array(tmp_path / "ours", data=data, chunks=(3,))
    zarr.create_array(tmp_path / "theirs", data=data, chunks=(3,))
    for name in ["ours", "theirs"]:
        assert np.asarray(zarr.open_array(tmp_path / name)[:]).tolist() == data.tolist()
        assert zarr_kit.open_array(tmp_path / name)[:].tolist() == data.tolist()


def test_a_chunk_with_bytes_that_are_not_text_is_an_error(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=strings(["abc"]), compressors=None)
    chunk = tmp_path / "c" / "0"
    chunk.write_bytes(chunk.read_bytes().replace(b"abc", b"a\xff\xfe"))
    with pytest.raises(zarr_kit.errors.ZarrError, match="UTF-8"):
        zarr_kit.open_array(tmp_path)[:]
