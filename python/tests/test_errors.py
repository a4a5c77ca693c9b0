"""Errors have the classes that Python programs catch, and the text of the engine."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors


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
