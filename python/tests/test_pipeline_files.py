"""Chunks in files, which the codec pipeline for zarr-python reads and writes without a call for each of them."""

import multiprocessing
import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.codecs
import zarr.storage
from zarr.core.buffer.cpu import NDBuffer

import zarr_kit
from zarr_kit import _pipeline, _pipeline_chunks

DATA = np.arange(35 * 26, dtype="u2").reshape(35, 26)


@pytest.fixture(autouse=True)
def _ours() -> Iterator[None]:
    with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
        yield


@pytest.fixture
def _only_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it an error to read or write a chunk that is not a file."""

    def refused(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("a chunk was not read or written as a file")

    monkeypatch.setattr(_pipeline, "read_chunks", refused)
    monkeypatch.setattr(_pipeline, "write_chunks", refused)


def created(folder: Path, **options: Any) -> Any:
    return zarr.create_array(folder, shape=DATA.shape, dtype=DATA.dtype, chunks=(4, 5), fill_value=7, **options)


@pytest.mark.usefixtures("_only_files")
@pytest.mark.parametrize("options", [{}, {"compressors": None}, {"shards": (8, 10)}, {"zarr_format": 2, "order": "F"}])
def test_boxes_of_any_layout_take_one_call(tmp_path: Path, options: dict[str, Any]) -> None:
    array = created(tmp_path, **options)
    expected = np.full(DATA.shape, 7, dtype=DATA.dtype)
    values: list[tuple[Any, Any]] = [
        ((slice(None), slice(None)), DATA),
        ((slice(1, 30), slice(2, 26)), np.asfortranarray(DATA[1:30, 2:26])[::-1, ::-1]),
        ((slice(3, 9), 4), DATA[3:9, 9]),
        ((17, 21), DATA[2, 2]),
        ((slice(8, 12), slice(5, 10)), 7),
        ((slice(0, 20), slice(None)), 9),
    ]
    for key, value in values:
        array[key] = value
        expected[key] = value
        np.testing.assert_array_equal(array[...], expected)
        np.testing.assert_array_equal(array[key], expected[key])
    stored = zarr_kit.open_array(tmp_path, mode="r")
    np.testing.assert_array_equal(stored[...], expected)


@pytest.mark.usefixtures("_only_files")
def test_a_chunk_of_fill_values_is_erased(tmp_path: Path) -> None:
    array = created(tmp_path)
    array[:8, :10] = DATA[:8, :10]
    assert len(list((tmp_path / "c").rglob("?"))) == 6
    array[:4] = 7
    assert not (tmp_path / "c/0").exists() or not list((tmp_path / "c/0").iterdir())
    assert array[:8, :10].tolist() == np.where(np.arange(8)[:, None] < 4, 7, DATA[:8, :10]).tolist()


def test_other_selections_of_files_are_read_and_written(tmp_path: Path) -> None:
    array = created(tmp_path)
    expected = np.full(DATA.shape, 7, dtype=DATA.dtype)
    array[::2, ::3] = DATA[::2, ::3]
    expected[::2, ::3] = DATA[::2, ::3]
    array.oindex[[3, 1, 30], 5:9] = DATA[[3, 1, 30], 5:9]
    expected[[3, 1, 30], 5:9] = DATA[[3, 1, 30], 5:9]
    np.testing.assert_array_equal(array[...], expected)
    np.testing.assert_array_equal(array[1::4, 2:], expected[1::4, 2:])
    np.testing.assert_array_equal(array.vindex[[0, 34], [25, 0]], expected[[0, 34], [25, 0]])


def test_elements_are_read_into_memory_of_any_strides(tmp_path: Path) -> None:
    array = created(tmp_path)
    array[...] = DATA
    around = np.zeros((70, 52), dtype="u2")
    for view in (around[::2, ::2], around[:35, :26][::-1], around[:26, :35].T):
        around[...] = 0
        array.get_basic_selection(..., out=NDBuffer.from_numpy_array(view))
        np.testing.assert_array_equal(view, DATA)
        assert np.count_nonzero(around) == np.count_nonzero(DATA)


def test_a_store_that_is_read_only_is_not_written(tmp_path: Path) -> None:
    created(tmp_path)[:4] = 1
    array: Any = zarr.open_array(zarr.storage.LocalStore(tmp_path, read_only=True), mode="r")
    assert array[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        array[:4] = 2
    assert array[0, 0] == 1


def test_folders_may_be_removed_moved_and_replaced_between_calls(tmp_path: Path) -> None:
    array = created(tmp_path / "a")
    array[...] = 1
    shutil.rmtree(tmp_path / "a/c")
    assert (array[...] == 7).all()
    array[...] = 2
    os.rename(tmp_path / "a", tmp_path / "b")
    shutil.copytree(tmp_path / "b", tmp_path / "a")
    array[...] = 3
    assert (zarr_kit.open_array(tmp_path / "b", mode="r")[...] == 2).all()
    assert (zarr_kit.open_array(tmp_path / "a", mode="r")[...] == 3).all()


def test_chunks_behind_a_link_to_another_folder_are_written(tmp_path: Path) -> None:
    array = created(tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a/c").symlink_to(tmp_path / "elsewhere")
    array[...] = DATA
    np.testing.assert_array_equal(array[...], DATA)
    assert (tmp_path / "elsewhere/0/0").is_file()


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    array = created(tmp_path)
    (tmp_path / "c/1").mkdir(parents=True)
    (tmp_path / "c/1/2").mkdir()
    (tmp_path / "c/1/2/file").touch()
    with pytest.raises(OSError, match="c/1/2"):
        array[...] = DATA


def test_the_damaged_one_of_many_chunks_is_named(tmp_path: Path) -> None:
    array = created(tmp_path)
    array[...] = DATA
    (tmp_path / "c/5/3").write_bytes(b"damaged")
    with pytest.raises(zarr_kit.ZarrError, match="c/5/3"):
        array[...]
    with pytest.raises(zarr_kit.ZarrError, match="c/5/3"):
        array[21, 16] = 1
    np.testing.assert_array_equal(array[:20], DATA[:20])
    # A write of the whole chunk does not read it.
    array[20:24, 15:20] = DATA[20:24, 15:20]
    np.testing.assert_array_equal(array[...], DATA)


def test_more_chunks_than_one_step_reads(tmp_path: Path) -> None:
    data = np.arange(10_000, dtype="u4")
    array: Any = zarr.create_array(tmp_path, data=data, chunks=(2,), compressors=None)
    (tmp_path / "c/4999").unlink()
    data[9998:] = 0
    np.testing.assert_array_equal(array[...], data)
    assert array[9997:].tolist() == [9997, 0, 0]


def test_a_pipeline_that_was_used_is_pickled_and_forked(tmp_path: Path) -> None:
    array = created(tmp_path)
    array[...] = DATA
    other = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(other[...], DATA)
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        assert pool.apply(read_in_child, (str(tmp_path),)) == int(DATA.sum())


def read_in_child(folder: str) -> int:
    array: Any = zarr.open_array(folder, mode="r")
    return int(array[...].sum())


def test_all_chunks_of_text_are_stored_in_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    write_files = _pipeline_chunks._write_files

    def counted(folder: str, chunks: Any, *others: Any) -> Any:
        calls.append(len(chunks))
        return write_files(folder, chunks, *others)

    monkeypatch.setattr(_pipeline_chunks, "_write_files", counted)
    words = np.array(["a", "", "é", "word"], dtype="T")
    array: Any = zarr.create_array(tmp_path, shape=4, dtype=words.dtype, chunks=(2,))
    array[...] = words
    assert calls == [2]
    assert array[...].tolist() == words.tolist()
    array[:2] = ""
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["1"]
