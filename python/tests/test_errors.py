"""Errors have the classes that Python programs catch, and the text of the engine."""

import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import _engine, errors


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (errors.NodeNotFoundError, KeyError),
        (errors.NodeNotFoundError, FileNotFoundError),
        (errors.NodeExistsError, FileExistsError),
        (errors.WrongKindError, TypeError),
        (errors.SelectionError, IndexError),
        (errors.ElementsError, TypeError),
        (errors.StorePermissionError, PermissionError),
        (errors.ReadOnlyError, PermissionError),
        (errors.OutOfMemoryError, MemoryError),
        (errors.StoreTimeoutError, TimeoutError),
    ],
)
def test_a_class_derives_from_what_programs_catch(error: type[Exception], base: type[Exception]) -> None:
    assert issubclass(error, base)
    assert issubclass(error, zarr_kit.ZarrError)
    assert str(error("there is 'one'")) == "there is 'one'"


def test_a_missing_hierarchy_and_a_missing_node_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.NodeNotFoundError, match="no Zarr hierarchy"):
        zarr_kit.open(tmp_path)
    group = zarr_kit.create_group(tmp_path)
    with pytest.raises(KeyError, match="there is no node at /a"):
        group["a"]
    with pytest.raises(errors.NodeNotFoundError, match="there is no node at /a"):
        zarr_kit.open(tmp_path, "a")


def test_a_node_of_the_other_kind_is_a_type_error(tmp_path: Path) -> None:
    zarr_kit.create_group(tmp_path)
    with pytest.raises(errors.WrongKindError, match="group"):
        zarr_kit.open_array(tmp_path, mode="r")


def test_the_error_lists_unknown_metadata(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
    document = tmp_path / "zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"example.unknown"'))
    with pytest.raises(errors.NotUnderstoodError, match=r"example\.unknown"):
        zarr_kit.open(tmp_path)


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path, data=np.arange(4, dtype="i4"), chunks=(2,))
    (tmp_path / "c" / "1").write_bytes(b"damaged")
    assert array[:2].tolist() == [0, 1]
    with pytest.raises(errors.DamagedError, match=r"chunk \[1\].*zstd"):
        array[...]
    with pytest.raises(ValueError, match="chunk"):
        array.read(out=np.zeros(4, dtype="i4"))


def test_tolerated_documents_cause_a_warning_or_an_error_in_strict_mode(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
    document = tmp_path / "zarr.json"
    document.write_text(document.read_text().replace('"endian": "little"', ""))
    with pytest.warns(zarr_kit.ZarrWarning, match="endian") as warned:
        zarr_kit.open(tmp_path)
    assert warned[0].filename == __file__
    with pytest.raises(zarr_kit.ZarrError, match="endian"):
        zarr_kit.open(tmp_path, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(zarr_kit.ZarrWarning):
            zarr_kit.open(tmp_path)


def test_the_number_of_threads_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(4))
    with pytest.raises(ValueError, match="threads"):
        zarr_kit.open(tmp_path, threads=0)
    monkeypatch.setenv("ZARR_KIT_THREADS", "many")
    with pytest.raises(ValueError, match="ZARR_KIT_THREADS"):
        zarr_kit.open(tmp_path)
    monkeypatch.setenv("ZARR_KIT_THREADS", "3")
    assert zarr_kit.open(tmp_path)._hierarchy.engine.threads == 3
    assert zarr_kit.open(tmp_path, threads=1)._hierarchy.engine.threads == 1


@pytest.mark.filterwarnings("ignore::zarr_kit.ZarrWarning")
def test_arguments_out_of_range_never_cause_a_panic(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path / "a", data=np.arange(12, dtype="u2").reshape(3, 4), chunks=(2, 2))
    words = zarr_kit.create_array(tmp_path / "b", data=np.array(["x", "y"], dtype="T"))
    node = array._engine
    hierarchy = array._hierarchy.engine
    most = 2**64 - 1
    progress = _engine.Progress()
    numbers = [0, 1, 5, 2**31, 2**63, most, -1]
    keys: list[Any] = [(a, b) for a in numbers for b in numbers]
    keys += [((0, a, 1), (b, c, d)) for a in numbers for b in (0, 3, most) for c in (2, most) for d in (0, 1, most)]
    keys += [[np.array([a], "u8"), np.array([b], "u8")] for a in numbers[:6] for b in numbers[:6]]
    keys += [(), [], (1,), (1, 1, 1), [np.array([1], "u8")], [np.array([1, 2], "u8"), np.array([1], "u8")]]
    data = np.zeros(12, "u1")
    calls: list[Callable[[], object]] = []
    for key in keys:
        calls += [
            lambda key=key: node.read(key),  # type: ignore[misc]
            lambda key=key: node.read_many([key]),  # type: ignore[misc]
            lambda key=key: node.read_into(key, data),  # type: ignore[misc]
            lambda key=key: node.write(key, data),  # type: ignore[misc]
            lambda key=key: words._engine.read_list(key),  # type: ignore[misc]
            lambda key=key: words._engine.write_list(key, ["z"]),  # type: ignore[misc]
        ]
    for number in numbers:
        calls += [
            lambda number=number: node.chunk_ranges([number, 0]),  # type: ignore[misc]
            lambda number=number: node.append(number, data, progress),  # type: ignore[misc]
            lambda number=number: node.read_element((number, number)),  # type: ignore[misc]
            lambda number=number: node.resize([number], progress),  # type: ignore[misc]
        ]
    for text in ["", "/", "//", "/a/../b", "\0", "é" * 300, "{", "[]", '{"shape": [-1]}', '{"shape": [1e400]}']:
        calls += [
            lambda text=text: hierarchy.array(text),  # type: ignore[misc]
            lambda text=text: hierarchy.kind(text),  # type: ignore[misc]
            lambda text=text: hierarchy.create_array("/c", text),  # type: ignore[misc]
            lambda text=text: _engine.ChunkCoder.open(text, "v3", False, None),  # type: ignore[misc]
            lambda text=text: zarr_kit.open(tmp_path / "a", text),  # type: ignore[misc]
            lambda text=text: zarr_kit.copy(tmp_path / "a", tmp_path / "copy", path=text),  # type: ignore[misc]
        ]
    for call in calls:
        # `PanicException` derives only from `BaseException`, so that it would end this test.
        with contextlib.suppress(Exception):
            call()
    assert zarr_kit.open_array(tmp_path / "a", mode="r").ndim == 2
