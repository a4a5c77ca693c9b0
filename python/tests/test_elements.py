"""Single elements, and many selections in one call."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numcodecs.abc
import numcodecs.registry
import numpy as np
import pytest
from dask.base import tokenize

import zarr_kit


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[list[str]]:
    """Serve the files in `tmp_path`. The first entry is the URL, and the others are the requested paths."""
    paths: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code: Any = None, size: Any = None) -> None:
            paths.append(self.path)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        paths.append(f"http://127.0.0.1:{listening.server_port}")
        yield paths
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64", "M8[s]", "S3", "U2", "bfloat16"])
def test_an_element_has_the_type_and_value_of_numpy(dtype: str) -> None:
    array = zarr_kit.create_array("memory:", shape=(2, 3), dtype=dtype, chunks=(1, 2))
    array[...] = np.arange(6).reshape(2, 3).astype(array.dtype)
    elements = array[...]
    for key in [(0, 1), (-1, -3), (1, 2)]:
        assert type(array[key]) is type(elements[key])
        assert array[key] == elements[key]


@pytest.mark.parametrize("key", [(2, 0), (0, -4), (0, 2**63), (0, 2**70), (0, 0, 0)])
def test_an_index_outside_of_the_array_is_an_index_error(key: Any) -> None:
    array = zarr_kit.create_array("memory:", data=np.arange(6).reshape(2, 3))
    with pytest.raises(IndexError):
        array[key]


def test_integers_of_other_types_are_indices_and_booleans_are_masks() -> None:
    elements = np.arange(6).reshape(2, 3)
    array = zarr_kit.create_array("memory:", data=elements)
    assert array[np.int8(1), np.uint64(2)] == 5
    assert array[True, 0].tolist() == elements[True, 0].tolist()
    assert array[1].tolist() == [3, 4, 5]
    line = zarr_kit.create_array("memory:", data=np.arange(4))
    assert line[-1] == line[(3,)] == 3
    assert line[True].tolist() == [[0, 1, 2, 3]]


def test_a_structured_element_is_writable_like_in_numpy() -> None:
    array = zarr_kit.create_array("memory:", data=np.zeros(2, dtype=[("a", "i4")]))
    element = array[0]
    element["a"] = 5
    assert element["a"] == 5


def test_many_selections_have_the_results_of_single_ones() -> None:
    elements = np.arange(60).reshape(6, 10)
    array = zarr_kit.create_array("memory:", data=elements, chunks=(4, 3))
    keys: list[Any] = [(2, 3), slice(0, 0), (slice(None, None, -2), 1), [5, 0], elements % 7 == 0, ...]
    results = array.read_many(keys)
    assert len(results) == len(keys)
    for key, result in zip(keys, results, strict=True):
        assert type(result) is type(elements[key])
        np.testing.assert_array_equal(result, elements[key])
    assert array.read_many([]) == []


def test_many_selections_of_text() -> None:
    array = zarr_kit.create_array("memory:", data=np.array(["a", "bc", "d"], dtype=np.dtypes.StringDType()))
    first = array.read_many([0, slice(1, None)])
    assert first[0] == "a"
    assert first[1].tolist() == ["bc", "d"]


class Counting(numcodecs.abc.Codec):  # type: ignore[misc]
    """A codec that counts the chunks that it decodes."""

    codec_id = "counting"
    decoded = 0

    def encode(self, buf: Any) -> bytes:
        return bytes(buf)

    def decode(self, buf: Any, out: Any = None) -> bytes:
        Counting.decoded += 1
        return bytes(buf)


WORDS = np.array(["a", "bc", "", "d" * 20, "é", "f"], dtype="T")
NUMBERS = np.arange(6)


@pytest.mark.parametrize(("dtype", "serializer"), [("string", "vlen-utf8"), ("bytes", "vlen-bytes"), ("u1", "auto")])
def test_a_chunk_of_many_selections_is_decoded_once(dtype: str, serializer: str) -> None:
    numcodecs.registry.register_codec(Counting)
    zarr_kit.use_numcodecs("counting")
    data: Any = NUMBERS if dtype == "u1" else WORDS
    if dtype == "bytes":
        data = np.array([word.encode() for word in WORDS], dtype=object)
    codecs: Any = {"serializer": serializer, "compressors": "counting"}
    array = zarr_kit.create_array("memory:", shape=6, dtype=dtype, chunks=2, **codecs)
    array[...] = data
    keys: list[Any] = [0, slice(0, 4), [3, 0, 3], slice(3, None, -1), slice(0, 0), data == data[1]]
    Counting.decoded = 0
    results = array.read_many(keys)
    # The last of three chunks is not selected.
    assert Counting.decoded == 2
    for key, result in zip(keys, results, strict=True):
        np.testing.assert_array_equal(result, data[key])


def test_a_chunk_of_many_selections_is_fetched_once(tmp_path: Path, asked: list[str]) -> None:
    zarr_kit.create_array(tmp_path / "a.zarr", data=np.arange(40).reshape(4, 10), chunks=(4, 5))
    array = zarr_kit.open_array(f"{asked[0]}/a.zarr", mode="r")
    del asked[1:]
    results = array.read_many([(slice(None), column) for column in range(10)])
    assert [int(result[0]) for result in results] == list(range(10))
    assert sorted(asked[1:]) == ["/a.zarr/c/0/0", "/a.zarr/c/0/1"]


def test_the_arrays_of_a_group_are_opened_together(tmp_path: Path) -> None:
    group = zarr_kit.create_group(tmp_path)
    for name in ["b", "a"]:
        group.create_array(name, data=np.arange(3))
    group.create_group("c")
    arrays = zarr_kit.open_group(tmp_path, mode="r").arrays()
    assert [name for name, _ in arrays] == ["a", "b"]
    assert all(array.read_only and array[2] == 2 for _, array in arrays)


def test_a_group_knows_whether_it_is_consolidated(tmp_path: Path) -> None:
    assert not zarr_kit.create_group(tmp_path).is_consolidated
    assert zarr_kit.consolidate(tmp_path).is_consolidated
    assert not zarr_kit.open_group(tmp_path, use_consolidated=False).is_consolidated


def test_tokens_of_dask_are_equal_for_equal_stores(tmp_path: Path) -> None:
    for name in ["a", "b"]:
        zarr_kit.create_array(tmp_path / name, data=np.arange(3))
    first = zarr_kit.open_array(tmp_path / "a", mode="r")
    assert tokenize(first) == tokenize(zarr_kit.open_array(tmp_path / "a", mode="r"))
    assert tokenize(first) != tokenize(zarr_kit.open_array(tmp_path / "b", mode="r"))
    in_memory = [zarr_kit.create_array("memory:", data=np.arange(3)) for _ in range(2)]
    assert tokenize(in_memory[0]) == tokenize(in_memory[0])
    assert tokenize(in_memory[0]) != tokenize(in_memory[1])


def test_a_pickled_node_uses_the_threads_of_the_new_environment(tmp_path: Path) -> None:
    pickled = tmp_path / "pickled"
    pickled.write_bytes(pickle.dumps(zarr_kit.create_group(tmp_path / "group")))
    program = "import pickle, sys; group = pickle.load(open(sys.argv[1], 'rb')); print(group._hierarchy.engine.threads)"
    command = [sys.executable, "-c", program, str(pickled)]
    environment = {**os.environ, "ZARR_KIT_THREADS": "3"}
    assert subprocess.check_output(command, env=environment, text=True) == "3\n"
