"""Copies of hierarchies."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_kit
from zarr_kit import errors


@pytest.fixture
def source(tmp_path: Path) -> zarr_kit.Group:
    group = zarr_kit.create_group(tmp_path / "source", attributes={"title": "x"})
    data = np.arange(24).reshape(4, 6)
    group.create_array("t", data=data, chunks=(2, 3), dimension_names=["y", "x"], attributes={"units": "K"})
    group.create_array("below/u", data=data.astype("f4"), chunks=(2, 3), dimension_names=["y", "x"])
    return group


def test_a_copy_converts_format_chunks_and_codecs(source: zarr_kit.Group, tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    with pytest.warns(zarr_kit.ZarrWarning, match="the copy loses some metadata:\n  /below/u, /t: `dimension_names`"):
        zarr_kit.copy(
            source,
            tmp_path / "b",
            zarr_format=2,
            chunks={"x": 2, "/below": (4, 6)},
            codecs={"/t": [{"id": "zlib", "level": 1}]},
            progress=lambda done, planned: reports.append((done, planned)),
        )
    copied = zarr_kit.open_group(tmp_path / "b", mode="r")
    assert (copied.format, copied.attrs["title"]) == ("v2", "x")
    t = copied["t"]
    assert isinstance(t, zarr_kit.Array)
    assert (t.chunks, t.attrs["units"], t.codecs[-1][0]) == ((2, 2), "K", "zlib")
    assert np.array_equal(t[...], np.arange(24).reshape(4, 6))
    u = copied["below/u"]
    assert isinstance(u, zarr_kit.Array)
    assert u.chunks == (4, 6)
    assert reports[-1][0] > 0


def test_a_copy_may_be_a_part(source: zarr_kit.Group, tmp_path: Path) -> None:
    zarr_kit.copy(tmp_path / "source", tmp_path / "b", include="u", consolidate=True)
    copied = zarr_kit.open_group(tmp_path / "b", mode="r")
    assert copied.is_consolidated
    assert list(copied) == ["below"]
    zarr_kit.copy(source["t"], tmp_path / "c", shards=(4, 6))
    t = zarr_kit.open_array(tmp_path / "c", mode="r", path="t")
    assert (t.shards, t.chunks) == ((4, 6), (2, 3))
    zarr_kit.copy(tmp_path / "c", tmp_path / "d", shards=None)
    assert zarr_kit.open_array(tmp_path / "d", mode="r", path="t").shards is None


def test_refusals_are_errors(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path / "a", data=np.arange(4, dtype="u2"), dimension_names=["x"])
    with pytest.raises(errors.CopyError, match="same folder"):
        zarr_kit.copy(tmp_path / "a", tmp_path / "a")
    with pytest.raises(errors.InvalidInputError, match="expected 1 or more"):
        zarr_kit.copy(tmp_path / "a", tmp_path / "b", chunks={"x": 0})
    with pytest.raises(errors.InvalidInputError, match="^chunks: `-7` is not a number of elements"):
        zarr_kit.copy(tmp_path / "a", tmp_path / "b", chunks={"x": -7})
    with pytest.raises(errors.CopyError, match="missing"):
        zarr_kit.copy(tmp_path / "missing", tmp_path / "b")
    with pytest.raises(errors.CopyError, match="pattern `none`"):
        zarr_kit.copy(tmp_path / "a", tmp_path / "b", exclude=["none"])
    with pytest.raises(errors.InvalidInputError, match="memory"):
        zarr_kit.copy(tmp_path / "a", "memory:")
    with pytest.raises(TypeError, match="speed"):
        zarr_kit.copy(tmp_path / "a", tmp_path / "b", speed=1)  # type: ignore[call-arg]
    assert not (tmp_path / "b").exists()


def test_nothing_is_printed(source: zarr_kit.Group, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    zarr_kit.copy(source, tmp_path / "b")
    with pytest.raises(errors.CopyError):
        zarr_kit.copy(tmp_path / "b", tmp_path / "b")
    assert capfd.readouterr() == ("", "")


def test_parts_of_a_copy_are_read_by_xarray(tmp_path: Path) -> None:
    """Two parts copy what xarray wrote, and xarray reads the same from the result."""
    packed = {"t": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -9, "chunks": (1, 6)}}
    times = np.array(["2001-01-01", "2001-01-02", "2001-01-03", "2001-01-04"], "M8[ns]")
    values = np.arange(24.0).reshape(4, 6)
    values[1, 2] = np.nan
    written = xr.Dataset({"t": (("time", "x"), values)}, coords={"time": times, "x": np.arange(6)})
    written.to_zarr(tmp_path / "source", encoding=packed, consolidated=False)
    for part in (2, 1):
        zarr_kit.copy(
            tmp_path / "source", tmp_path / "b", chunks={"time": 4, "x": 2}, partition=(part, 2), consolidate=True
        )
    found = xr.open_zarr(tmp_path / "b")
    xr.testing.assert_identical(found.load(), xr.open_zarr(tmp_path / "source", consolidated=False).load())
    assert zarr.open_array(tmp_path / "b" / "t", mode="r").chunks == (4, 2)
    assert not (tmp_path / "b" / "__zarrctl").exists()


def test_a_copy_that_failed_is_resumed(source: zarr_kit.Group, tmp_path: Path) -> None:
    chunk = tmp_path / "source" / "t" / "c" / "1" / "1"
    stored = chunk.read_bytes()
    chunk.write_bytes(b"damaged")
    with pytest.raises(errors.CopyError, match="resume=True continues"):
        zarr_kit.copy(source, tmp_path / "b", codecs="gzip")
    assert not (tmp_path / "b" / "zarr.json").exists()
    chunk.write_bytes(stored)
    zarr_kit.copy(source, tmp_path / "b", codecs="gzip", resume=True, verify=True)
    t = zarr_kit.open_array(tmp_path / "b", mode="r", path="t")
    assert np.array_equal(t[...], np.arange(24).reshape(4, 6))
    with pytest.raises(errors.CopyError, match="/t"):
        zarr_kit.copy(source, tmp_path / "b")
    zarr_kit.copy(source, tmp_path / "b", overwrite=True, chunks={"x": 6})
    assert zarr_kit.open_array(tmp_path / "b", mode="r", path="t").chunks == (2, 6)


def test_unreadable_chunks_are_left_out_with_a_warning(source: zarr_kit.Group, tmp_path: Path) -> None:
    (tmp_path / "source" / "t" / "c" / "0" / "0").write_bytes(b"damaged")
    with pytest.raises(errors.CopyError):
        zarr_kit.copy(source, tmp_path / "a", chunks={"x": 6})
    with pytest.warns(zarr_kit.ZarrWarning, match=r"/t chunk \[0, 0\]"):
        zarr_kit.copy(source, tmp_path / "b", chunks={"x": 6}, skip_unreadable=True)
    expected = np.arange(24).reshape(4, 6)
    expected[:2, :3] = 0
    assert np.array_equal(zarr_kit.open_array(tmp_path / "b", mode="r", path="t")[...], expected)


def test_a_selection_has_the_elements_that_xarray_selects(tmp_path: Path) -> None:
    dataset = xr.Dataset(
        {"t2m": (("time", "lat"), np.arange(40, dtype="f4").reshape(10, 4), {"units": "K"})},
        coords={
            "time": np.arange("2001-01-01", "2001-01-11", dtype="M8[D]").astype("M8[ns]"),
            "lat": [60.0, 30.0, 0.0, -30.0],
        },
    )
    for zarr_format in (2, 3):
        source = tmp_path / f"source{zarr_format}"
        chunks = {"t2m": {"chunks": (3, 2)}}
        dataset.to_zarr(source, zarr_format=zarr_format, encoding=chunks, consolidated=False)
        target = tmp_path / f"target{zarr_format}"
        zarr_kit.copy(source, target, select={"time": "2001-01-03:2001-01-07", "lat": "0:45"}, consolidate=True)
        expected = dataset.sel(time=slice("2001-01-03", "2001-01-07"), lat=slice(45, 0))
        xr.testing.assert_identical(xr.open_dataset(target, engine="zarr").load(), expected)
    with pytest.raises(errors.CopyError, match="has a dimension `tme`; did you mean `time`"):
        zarr_kit.copy(source, tmp_path / "c", select="tme=2001")
