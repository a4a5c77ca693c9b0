"""Datasets are written by xarray with the engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_kit
from zarr_kit.xarray import to_zarr


def dataset() -> xr.Dataset:
    times = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[ns]")
    temperature = np.array([[0.5, np.nan], [1.5, 2.5], [3, 4]])
    return xr.Dataset(
        {"temperature": (("time", "x"), temperature, {"units": "K"}), "name": ("x", np.array(["a", "bé"]))},
        coords={"time": times, "x": [10, 20]},
        attrs={"title": "test"},
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_dataset_is_the_same_after_writing(tmp_path: Path, zarr_format: Any) -> None:
    to_zarr(dataset(), tmp_path / "ours", zarr_format=zarr_format)
    dataset().to_zarr(tmp_path / "theirs", zarr_format=zarr_format)
    ours = xr.open_dataset(tmp_path / "ours", engine="zarr")
    theirs = xr.open_dataset(tmp_path / "theirs", engine="zarr")
    xr.testing.assert_identical(ours.load(), theirs.load())
    xr.testing.assert_identical(ours, dataset())


@pytest.mark.filterwarnings("ignore")
def test_parts_of_a_dataset_are_appended_and_replaced(tmp_path: Path) -> None:
    whole = dataset()
    to_zarr(whole.isel(time=slice(2)), tmp_path)
    to_zarr(whole.isel(time=slice(2, 3)), tmp_path, append_dim="time")
    xr.testing.assert_identical(xr.open_dataset(tmp_path, engine="zarr"), whole)
    changed = whole[["temperature"]].isel(time=slice(1), x=slice(1)) + 1
    to_zarr(changed.drop_vars(["time", "x"]), tmp_path, region={"time": slice(1), "x": slice(1)})
    assert xr.open_dataset(tmp_path, engine="zarr")["temperature"].to_numpy()[0, 0] == 1.5


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list of the pipelines of this package that have written."""
    writes: list[object] = []
    write = zarr_kit.CodecPipeline.write

    async def counted(pipeline: zarr_kit.CodecPipeline, *arguments: Any, **options: Any) -> None:
        writes.append(pipeline)
        await write(pipeline, *arguments, **options)

    monkeypatch.setattr(zarr_kit.CodecPipeline, "write", counted)
    return writes


@pytest.mark.filterwarnings("ignore")
def test_delayed_writes_use_the_engine(tmp_path: Path, writes: list[object]) -> None:
    delayed = to_zarr(dataset().chunk(time=1), tmp_path, compute=False)
    before = len(writes)
    delayed.compute(scheduler="synchronous")
    # One chunk in each of three blocks of the temperature, at least.
    assert len(writes) >= before + 3
    xr.testing.assert_identical(xr.open_dataset(tmp_path, engine="zarr"), dataset())


@pytest.mark.filterwarnings("ignore")
def test_the_pipeline_is_selected_for_the_call_only(tmp_path: Path, writes: list[object]) -> None:
    before = zarr.config.get("codec_pipeline.path")
    to_zarr(dataset(), tmp_path)
    # The pipeline wrote at least once for each variable.
    assert len(writes) >= 4
    assert zarr.config.get("codec_pipeline.path") == before
