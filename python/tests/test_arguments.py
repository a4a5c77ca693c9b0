"""Arguments that a function does not have, or that contradict others, are errors that name the argument."""

# Functions of Dask have no annotations.
# mypy: allow-untyped-calls

import inspect
import math
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_kit
import zarr_kit.cubed
import zarr_kit.dask
import zarr_kit.xarray
from zarr_kit.errors import InvalidInputError

ZEROS: Any = da.zeros((4, 6), chunks=(2, 3))
SHAPE: dict[str, Any] = {"shape": (2,), "dtype": "i4"}

# Calls with a location and keywords. None of them may read or change anything if a keyword is wrong.
CALLS: dict[str, Callable[..., object]] = {
    "open": zarr_kit.open,
    "open, mode a": lambda path, **wrong: zarr_kit.open(path, mode="a", **wrong),
    "open, mode w": lambda path, **wrong: zarr_kit.open(path, mode="w", **wrong),
    "open_array": zarr_kit.open_array,
    "open_array, mode w": lambda path, **wrong: zarr_kit.open_array(path, mode="w", **SHAPE, **wrong),
    "open_group": zarr_kit.open_group,
    "open_group, mode w": lambda path, **wrong: zarr_kit.open_group(path, mode="w", **wrong),
    "create_array": lambda path, **wrong: zarr_kit.create_array(path, overwrite=True, **SHAPE, **wrong),
    "create_group": lambda path, **wrong: zarr_kit.create_group(path, overwrite=True, **wrong),
    "consolidate": zarr_kit.consolidate,
    "copy": lambda path, **wrong: zarr_kit.copy(path, path, **wrong),
    "digest": zarr_kit.digest,
    "diff": lambda path, **wrong: zarr_kit.diff(path, path, **wrong),
    "verify": zarr_kit.verify,
    "repair": zarr_kit.repair,
    "dask.from_zarr": zarr_kit.dask.from_zarr,
    "dask.to_zarr": lambda path, **wrong: zarr_kit.dask.to_zarr(ZEROS, path, overwrite=True, **wrong),
    "xarray.open_dataset": lambda path, **wrong: xr.open_dataset(path, engine="zarr-kit", **wrong),
    "xarray.open_datatree": lambda path, **wrong: xr.open_datatree(path, engine="zarr-kit", **wrong),
    "xarray.open_groups": lambda path, **wrong: xr.open_groups(path, engine="zarr-kit", **wrong),
    "xarray.to_zarr": lambda path, **wrong: zarr_kit.xarray.to_zarr(xr.Dataset({"a": 1}), path, mode="w", **wrong),
    "cubed.spec": lambda path, **wrong: zarr_kit.cubed.spec(work_dir=path, **wrong),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_argument_is_a_type_error_that_names_it(tmp_path: Path, name: str) -> None:
    group = zarr_kit.create_group(tmp_path)
    group.create_array("a", data=[1.5], dimension_names=["x"])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(TypeError, match="wrong_name"):
        CALLS[name](str(tmp_path), wrong_name=1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("open", "thread", "threads"),
        ("open_group", "use_consolidate", "use_consolidated"),
        ("create_group", "storage_option", "storage_options"),
        ("consolidate", "zarr_fromat", "zarr_format"),
        ("verify", "thread", "threads"),
        ("dask.from_zarr", "storage_option", "storage_options"),
        ("dask.to_zarr", "compressor", "compressors"),
        ("xarray.open_groups", "decode_time", "decode_times"),
    ],
)
def test_a_similar_argument_is_proposed(tmp_path: Path, name: str, given: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"{given}.*did you mean '{meant}'"):
        CALLS[name](str(tmp_path), **{given: 1})


@pytest.mark.parametrize("name", ["strict", "use_consolidated"])
def test_options_of_opening_are_refused_by_creation(tmp_path: Path, name: str) -> None:
    option: Any = {name: True}
    with pytest.raises(TypeError, match=name):
        zarr_kit.create_array(tmp_path, data=[1], **option)
    with pytest.raises(TypeError, match=name):
        zarr_kit.create_group(tmp_path, **option)


@pytest.mark.parametrize("mode", ["r+", "a", "w", "w-"])
def test_dask_reads_only_in_the_mode_for_reading(tmp_path: Path, mode: Any) -> None:
    array = zarr_kit.create_array(tmp_path, data=np.arange(6), chunks=(3,))
    for location in (tmp_path, array):
        with pytest.raises(InvalidInputError, match=f"mode='{mode.replace('+', '[+]')}'.*to_zarr"):
            zarr_kit.dask.from_zarr(location, mode=mode)
    assert zarr_kit.dask.from_zarr(tmp_path, mode="r").compute().tolist() == list(range(6))


@pytest.mark.parametrize("name", ["name", "store", "write_data", "component", "return_stored"])
def test_arguments_of_other_functions_are_refused_when_dask_writes(tmp_path: Path, name: str) -> None:
    wrong: Any = {name: "w"}
    with pytest.raises(TypeError, match=f"to_zarr.*{name}"):
        zarr_kit.dask.to_zarr(ZEROS, tmp_path / "a", **wrong)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", ["shape", "dtype", "data", "mode"])
def test_the_shape_and_type_are_those_of_the_dask_array(tmp_path: Path, name: str) -> None:
    wrong: Any = {name: (4, 6)}
    with pytest.raises(InvalidInputError, match=f"does not accept {name}"):
        zarr_kit.dask.to_zarr(ZEROS, tmp_path / "a", **wrong)
    assert not (tmp_path / "a").exists()


def test_only_arrays_of_dask_are_written_by_its_function(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"found numpy\.ndarray: use dask\.array\.from_array"):
        zarr_kit.dask.to_zarr(np.zeros((4, 6)), tmp_path)  # type: ignore[arg-type]


def test_xarray_writes_only_formats_of_zarr_python(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"v3-draft.*zarr_kit\.copy"):
        zarr_kit.xarray.to_zarr(xr.Dataset({"a": 1}), tmp_path, zarr_format="v3-draft")
    with pytest.raises(InvalidInputError, match="location"):
        zarr_kit.xarray.to_zarr(xr.Dataset({"a": 1}), tmp_path, store=tmp_path)


def test_a_new_group_has_attributes_and_nothing_of_an_array(tmp_path: Path) -> None:
    assert dict(zarr_kit.open(tmp_path / "w", mode="w", attributes={"a": 1}).attrs) == {"a": 1}
    assert dict(zarr_kit.open(tmp_path / "a", mode="a", attributes={"a": 1}).attrs) == {"a": 1}
    with pytest.raises(InvalidInputError, match="a new group does not accept chunks, dtype"):
        zarr_kit.open(tmp_path / "b", mode="w", chunks=(2,), dtype="i4")
    assert not (tmp_path / "b").exists()
    for open_node in (zarr_kit.open, zarr_kit.open_group):
        with pytest.raises(InvalidInputError, match="does not accept attributes"):
            open_node(tmp_path / "w", mode="r+", attributes={"a": 2})


@pytest.mark.parametrize("mode", ["r+", "a"])
def test_an_opened_array_stores_chunks_of_fill_values_if_wanted(tmp_path: Path, mode: Any) -> None:
    zarr_kit.create_array(tmp_path, shape=(4,), chunks=(2,), dtype="i4")
    zarr_kit.open_array(tmp_path, mode=mode)[:2] = 0
    assert zarr_kit.open_array(tmp_path, mode="r").nchunks_initialized == 0
    zarr_kit.open_array(tmp_path, mode=mode, write_empty_chunks=True)[:2] = 0
    assert zarr_kit.open_array(tmp_path, mode="r").nchunks_initialized == 1


# `config` has the options `order` and `write_empty_chunks`, which are arguments here.
ONLY_THEIRS = {"config"}
ONLY_OURS = {"threads", "write_empty_chunks"}


@pytest.mark.parametrize("function", ["create_array", "create_group", "open_array", "open_group"])
def test_arguments_have_the_names_of_zarr_python(function: str) -> None:
    """zarr-python's old names, and arguments of single stores and caches, have other names here or do not exist."""
    theirs = set(inspect.signature(getattr(zarr, function)).parameters)
    ours = getattr(zarr_kit, function)
    names = set(inspect.signature(ours).parameters) - {"arguments", "options"}
    [packed] = [kind for kind in inspect.signature(ours).parameters.values() if kind.kind is kind.VAR_KEYWORD]
    [options] = typing.get_args(typing.get_type_hints(ours)[packed.name]) or [typing.get_type_hints(ours)[packed.name]]
    names |= set(typing.get_type_hints(options))
    lacking = {
        "create_array": ONLY_THEIRS,
        "create_group": set(),
        "open_array": {"config", "kwargs"},
        "open_group": {"cache_attrs", "synchronizer", "chunk_store", "meta_array"},
    }
    assert theirs - names == lacking[function]
    if function == "create_array":
        assert names - theirs == ONLY_OURS


def test_defaults_are_those_of_zarr_python(tmp_path: Path) -> None:
    """Leaving an argument out means its default in zarr-python, which is given here."""
    parameters = inspect.signature(zarr.create_array).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    required = {"store", "shape", "dtype", "data", "zarr_format", "name", *ONLY_THEIRS}
    given: dict[str, Any] = {name: value for name, value in defaults.items() if name not in required}
    assert given.pop("fill_value") is zarr.core.array.DEFAULT_FILL_VALUE
    given["fill_value"] = zarr_kit.DEFAULT_FILL_VALUE
    for zarr_format in (2, 3):
        stored = []
        for number, arguments in enumerate([given, {}]):
            folder = tmp_path / f"{zarr_format}-{number}"
            zarr_kit.create_array(folder, zarr_format=zarr_format, **{**SHAPE, **arguments})
            stored.append({path.name: path.read_bytes() for path in folder.iterdir()})
        assert stored[0] == stored[1]


@pytest.mark.parametrize("shards", ["auto", {"shape": (4, 4), "index_location": "start"}])
def test_shards_that_are_not_lengths_are_refused(tmp_path: Path, shards: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"shards=.*lengths of a shard"):
        zarr_kit.create_array(tmp_path, shape=(4, 4), dtype="i4", chunks=(2, 2), shards=shards)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(), (0,), (10,), (10**7,), (1000, 1000), (365, 721, 1440), (3, 10**9), (50, 1, 7)])
@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_chunks_that_are_chosen_have_a_size_that_zarr_python_may_choose(shape: tuple[int, ...], dtype: str) -> None:
    """The shapes differ: chunks of this package have about 1 MiB, those of zarr-python grow with the array."""
    for chunks in ({}, {"chunks": "auto"}):
        ours = zarr_kit.create_array("memory:", shape=shape, dtype=dtype, **chunks)  # type: ignore[arg-type]
        theirs: Any = zarr.create_array({}, shape=shape, dtype=dtype)
        sizes = [math.prod(array.chunks) * np.dtype(dtype).itemsize for array in (ours, theirs)]
        whole = math.prod(shape) * np.dtype(dtype).itemsize
        assert all(size >= min(whole, 64 << 10) and size <= 64 << 20 for size in sizes)
        assert len(ours.chunks) == len(theirs.chunks)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("write_empty_chunks", [False, True])
def test_chunks_of_fill_values_are_stored_on_request(
    tmp_path: Path, zarr_format: Any, write_empty_chunks: bool
) -> None:
    array = zarr_kit.create_array(
        tmp_path / "ours",
        shape=6,
        dtype="i4",
        chunks=2,
        fill_value=7,
        zarr_format=zarr_format,
        write_empty_chunks=write_empty_chunks,
    )
    config: Any = {"write_empty_chunks": write_empty_chunks}
    options: Any = {"shape": 6, "dtype": "i4", "chunks": 2, "fill_value": 7, "zarr_format": zarr_format}
    theirs: Any = zarr.create_array(tmp_path / "theirs", **options, config=config)
    for each in (array, theirs):
        each[:4] = [7, 7, 7, 8]
    assert array.nchunks_initialized == theirs.nchunks_initialized == (2 if write_empty_chunks else 1)
    again = zarr_kit.open_array(tmp_path / "ours", mode="r+", write_empty_chunks=True)
    again[...] = 7
    assert again.nchunks_initialized == 3
    again = zarr_kit.open_array(tmp_path / "ours", mode="r+")
    again[...] = 7
    assert again.nchunks_initialized == 0
