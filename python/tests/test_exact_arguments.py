"""Arguments that NumPy would change silently: fractions of lengths, and fill values that the data type cannot store."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_kit
import zarr_kit.xarray
from zarr_kit.errors import ElementsError, InvalidInputError, NotSupportedError


def created(**arguments: Any) -> zarr_kit.Array:
    return zarr_kit.create_array("memory:", **{"shape": (6,), "dtype": "i4", **arguments})


@pytest.mark.parametrize("name", ["shape", "chunks", "shards"])
@pytest.mark.parametrize("value", [(3.5,), 3.5, (3.0,), True, (True,), "3", ("3",), np.array([3.0])])
def test_a_length_is_an_integer(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"{name}=.* is not (valid|supported)"):
        created(**{"chunks": 3, name: value})


@pytest.mark.parametrize("chunks", [((3, 3.5),), ([2.5, 3.5],), ([[3.5, 2]],)])
def test_lengths_of_a_rectilinear_grid_are_integers(chunks: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"3\.5|2\.5"):
        created(chunks=chunks)


def test_integers_of_numpy_are_lengths() -> None:
    array = created(shape=np.int64(6), chunks=np.array([3]), shards=[np.uint8(6)])
    assert (array.shape, array.chunks, array.shards) == ((6,), (3,), (6,))
    new_shape: Any = np.int64(9)
    array.resize(new_shape)
    assert array.shape == (9,)
    for shape in (4.5, (4.5,), "4", None):
        with pytest.raises(InvalidInputError, match="new_shape=.* is not an integer"):
            array.resize(shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "fill_value"),
    [
        ("i4", 1.5),
        ("u1", np.float64(0.5)),
        ("i8", np.nan),
        ("i8", np.float32("inf")),
        ("int4", 1.5),
        ("?", 2),
        ("?", 0.5),
        ("S3", b"abcd"),
        ("U3", "abcd"),
        ("M8[D]", np.datetime64("2001-01-01T12")),
        ("m8[s]", np.timedelta64(1500, "ms")),
    ],
)
def test_a_fill_value_that_would_change_is_refused(dtype: str, fill_value: Any) -> None:
    with pytest.raises(InvalidInputError, match="fill_value=.* is not a value of data type"):
        created(dtype=dtype, fill_value=fill_value)


@pytest.mark.parametrize(
    ("dtype", "fill_value", "stored"),
    [
        ("i4", 1.0, 1),
        ("u1", np.float32(255), 255),
        ("?", 1, True),
        ("f4", 0.1, np.float32(0.1)),
        ("S3", b"abc", b"abc"),
        ("M8[D]", np.datetime64("2001-01-01T00"), np.datetime64("2001-01-01")),
        ("i8", 2**62 + 1, 2**62 + 1),
    ],
)
def test_other_fill_values_are_stored(dtype: str, fill_value: Any, stored: Any) -> None:
    assert created(dtype=dtype, fill_value=fill_value)[0] == stored


def test_an_axis_is_counted_from_the_last_one_as_in_numpy() -> None:
    array = zarr_kit.create_array("memory:", data=np.zeros((2, 3), "i4"))
    assert array.append(np.ones((1, 3)), axis=-2) == (3, 3)
    assert array.append(np.full((3, 1), 2), axis=-1) == (3, 4)
    assert array[...].tolist() == [[0, 0, 0, 2], [0, 0, 0, 2], [1, 1, 1, 2]]
    for axis in (2, -3):
        with pytest.raises(ElementsError, match=f"axis {axis} is out of bounds for an array of dimension 2"):
            array.append(np.ones((1, 4)), axis=axis)
    with pytest.raises(TypeError, match="float"):
        array.append(np.ones((1, 4)), axis=0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["zstd", "numcodecs.zstd", "imagecodecs_aec"])
def test_a_codec_of_the_engine_is_not_enabled(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the engine has the codec '{name}' already"):
        zarr_kit.use_numcodecs(name)


def test_the_module_has_the_version_of_the_package() -> None:
    assert zarr_kit.__version__ == version("zarr_kit")


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("strict", "maybe", "True or False"),
        ("strict", 2, "True or False"),
        ("conditional", "maybe", "'require' or 'warn'"),
        ("conditional", True, "'require' or 'warn'"),
    ],
)
def test_a_wrong_setting_of_the_pipeline_is_an_error_when_an_array_is_opened(
    tmp_path: Path, setting: str, value: Any, expected: str
) -> None:
    zarr.create_array(tmp_path / "a", shape=(2,), dtype="i4")
    settings = {"codec_pipeline.path": "zarr_kit.CodecPipeline", f"codec_pipeline.{setting}": value}
    with zarr.config.set(settings), pytest.raises(InvalidInputError, match=f"{setting}.*{expected}"):
        zarr.open_array(tmp_path / "a", mode="r")


@pytest.mark.parametrize("location", [{"type": "memory"}, '{"type": "memory"}', "memory:"])
def test_xarray_does_not_write_to_a_store_that_is_lost(location: Any) -> None:
    with pytest.raises(InvalidInputError, match="is a store in memory that is lost when to_zarr"):
        zarr_kit.xarray.to_zarr(xr.Dataset({"a": ("x", [1, 2])}), location)


@pytest.mark.parametrize("location", ["zip:a.zip", "a.zip|zip:", "n5:a.n5", {"type": "zip", "path": "a.zip"}])
def test_xarray_does_not_write_to_locations_that_only_the_engine_understands(
    location: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotSupportedError, match="does not open the location"):
        zarr_kit.xarray.to_zarr(xr.Dataset({"a": ("x", [1, 2])}), location)
    assert not list(tmp_path.iterdir())


def test_xarray_writes_to_a_store_in_memory_of_zarr_python() -> None:
    store = zarr.storage.MemoryStore()
    zarr_kit.xarray.to_zarr(xr.Dataset({"a": ("x", [1, 2])}), store, consolidated=False)
    assert xr.open_zarr(store, consolidated=False)["a"].values.tolist() == [1, 2]
