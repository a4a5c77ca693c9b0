"""Writes a hierarchy of v2 and one of v3 for `zarr_digest.py`.

Usage: python write.py FOLDER
"""

import sys
import warnings
from pathlib import Path

import numpy
import zarr


def write(group):
    floats = numpy.random.default_rng(1).normal(size=(37, 53)).astype("f4")
    floats[3, 4] = numpy.nan
    floats[5, 6] = -0.0
    floats.view("u4")[7, 8] = 0xFFC00001
    attributes = {"units": "K", "small": 1.5e-7, "large": 1e22, "é": [1, 2.5, None, True], "nan": float("nan")}
    array = group.create_array(
        "float32", shape=(37, 53), chunks=(10, 7), dtype="f4", fill_value=numpy.nan, attributes=attributes
    )
    array[...] = floats
    array = group.create_array("int16", shape=(100,), chunks=(9,), dtype="i2", fill_value=7)
    array[20:60] = numpy.arange(40)
    group.create_array("bool", shape=(10, 3), chunks=(4, 2), dtype="bool")[2:5] = True
    array = group.create_array("complex128", shape=(5,), chunks=(2,), dtype="c16")
    array[:] = numpy.arange(5) * 1j + numpy.nan
    array = group.create_array("text", shape=(4,), chunks=(3,), dtype="U5")
    array[:] = ["a", "bcd", "é", ""]
    array = group.create_array("uint8", shape=(9, 11), chunks=(4, 4), dtype="u1")
    array[...] = numpy.arange(99).reshape(9, 11)
    array = group.create_array("string", shape=(4,), chunks=(3,), dtype=str)
    array[:] = ["hello", "", "wörld", "x" * 50]
    group.create_array("scalar", shape=(), dtype="f8")[...] = 2.5
    array = group.create_array("time", shape=(4,), chunks=(3,), dtype="M8[s]")
    array[:] = numpy.array(["2020-01-01", "NaT", "1970-01-01", "2000-02-29"], "M8[s]")
    inner = group.create_group("group", attributes={"title": "inner"})
    inner.create_array("empty", shape=(0, 3), dtype="i4")


folder = Path(sys.argv[1])
warnings.simplefilter("ignore")
for zarr_format in (2, 3):
    root = zarr.open_group(folder / f"v{zarr_format}", mode="w", zarr_format=zarr_format)
    write(root)
    names = {"dimension_names": ["y", "x"]} if zarr_format == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}}
    shards = {"shards": (6, 4)} if zarr_format == 3 else {}
    array = root.create_array("named", shape=(6, 6), chunks=(3, 2), dtype=">i4", **names, **shards)
    array[1:5, 2:4] = [[1, 2]] * 4
