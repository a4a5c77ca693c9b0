"""The messages of the package, in one file that reads from top to bottom.

`UPDATE_SNAPSHOTS=1 cargo xtask python` rewrites `messages.txt`.
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray

import zarr_kit
import zarr_kit.dask
import zarr_kit.xarray

SNAPSHOT = Path(__file__).with_name("messages.txt")

# A line that begins with `#` is a heading. Every other line is run as it stands, and must raise an error or give a
# warning. `a.zarr` has the group `/` with the arrays `/image` (uint16, 4 × 6), `/words` and `/weather/time`.
CALLS = """
# Locations
zarr_kit.open("nowhere")
zarr_kit.open("")
zarr_kit.open("empty")
zarr_kit.open("notes.txt")
zarr_kit.open(7)
zarr_kit.open("tape:a")
zarr_kit.open({"type": "memroy"})
zarr_kit.open({"path": "a.zarr"})
zarr_kit.open("simplecache::s3://bucket/a")
zarr_kit.open("a.zarr", storage_options={"anon": True})
zarr_kit.open({"type": "memory"}, storage_options={"anon": True})

# Opening
zarr_kit.open("a.zarr", "imag")
zarr_kit.open("a.zarr")["imag"]
zarr_kit.open("a.zarr", "weather/..")
zarr_kit.open("a.zarr", "__x")
zarr_kit.open("a.zarr", mode="rw")
zarr_kit.open("a.zarr", zarr_format=4)
zarr_kit.open("a.zarr", zarr_format=2)
zarr_kit.open("a.zarr", threads=0)
zarr_kit.open_array("a.zarr", mode="r")
zarr_kit.open_group("a.zarr", path="image")
zarr_kit.open("a.zarr", mode="r+", shape=3, dtype="i4")
zarr_kit.open("a.zarr", thread=2)
zarr_kit.open("new.zarr", mode="w", chunks=3)
zarr_kit.CodecPipelin
zarr_kit.use_numcodecs("nothing")

# Stored documents that are wrong
zarr_kit.open(stored(codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstdd"}]))
zarr_kit.open(stored(codecs=[{"name": "bytes", "configuration": {"endian": "middle"}}]))
zarr_kit.open(stored(codecs=[{"name": "bytes", "configuration": {"endain": "little"}}]))
zarr_kit.open(stored(codecs=[{"name": "bytes"}, {"name": "imagecodecs_pglz"}]))
zarr_kit.open(stored(data_type="uint61"))
zarr_kit.open(stored(data_type="float"))
zarr_kit.open(stored(chunk_grid={"name": "regulr", "configuration": {"chunk_shape": [2, 3]}}))
zarr_kit.open(stored(chunk_grid={"name": "regular", "configuration": {"chunk_shap": [2, 3]}}))
zarr_kit.open(stored(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2]}}))
zarr_kit.open(stored(chunk_key_encoding={"name": "defualt"}))
zarr_kit.open(stored(chunk_key_encoding={"name": "default", "configuration": {"seperator": "/"}}))
zarr_kit.open(stored(fill_value=70000))
zarr_kit.open(stored(fill_value=None))
zarr_kit.open(stored(dimension_name=["y", "x"]))
zarr_kit.open(stored(shpe=[4, 6], without="shape"))
zarr_kit.open(stored(storage_transformers=[{"name": "cahe"}]))
zarr_kit.open(stored(zarr_format=4))
zarr_kit.open(stored(node_type="table"))
zarr_kit.open("broken.zarr")

# Creation
zarr_kit.create_array("new.zarr", shape=(4, 6))
zarr_kit.create_array("new.zarr", shape=(4, 6), data=np.zeros((4, 6)))
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="flaot32")
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype=object)
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", chunk=(2, 2))
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", chunks=(2,))
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", chunks=(0, 2))
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", chunks=(2, 2), shards=(3, 4))
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", compressors="zsdt")
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", compressors={"level": 3})
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", compressors={"name": "zstd", "configuration": {"lvel": 3}})
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", compressors={"name": "gzip", "configuration": {"level": 50}})
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", chunk_key_encoding="defualt")
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="i4", dimension_names=["x"])
zarr_kit.create_array("new.zarr", shape=(4, 6), dtype="u1", fill_value=-1)
zarr_kit.create_array("v2.zarr", shape=(4, 6), dtype="u1", zarr_format=2, shards=(2, 2))
zarr_kit.create_array("v2.zarr", shape=(4, 6), dtype="bfloat16", zarr_format=2)
zarr_kit.create_array("a.zarr", name="image", shape=(4, 6), dtype="u1")
zarr_kit.create_array("a.zarr", name="image/part", shape=(4, 6), dtype="u1")
zarr_kit.create_group("a.zarr", path="image")

# Reading
image[4]
image[0, 0, 0]
image[..., ...]
image["x"]
image[1.5]
image[[0, 9], [0, 0]]
image[np.zeros((3, 6), dtype=bool)]
image.oindex[[0, 1]][7]
image.vindex[0]
image.blocks[9]
image.blocks[::2]
image.read(out=np.zeros(3, dtype="u2"))
np.array(image, copy=False)
len(scalar)
list(scalar)
damaged[...]

# Writing
image[...] = np.zeros((3, 5))
image[0] = "x"
read_only[0] = 1
read_only.attrs["title"] = "x"
image.attrs["title"] = object()
image.attrs["titel"]
image.resize((4,))
image.resize((-1, 6))
image.append(np.zeros((1, 5), dtype="u2"))
image.append(np.zeros((1, 6), dtype="u2"), axis=2)

# Copying and comparing
zarr_kit.copy("a.zarr", "a.zarr")
zarr_kit.copy("nowhere", "copy.zarr")
zarr_kit.copy("a.zarr", "copy.zarr", zarr_format=4)
zarr_kit.copy("a.zarr", "copy.zarr", chunk=(2, 2))
zarr_kit.copy("a.zarr", "copy.zarr", chunks={"tme": 3})
zarr_kit.copy(zarr_kit.open({"type": "memory"}, mode="w", shape=3, dtype="i4"), "copy.zarr")
zarr_kit.diff("a.zarr", "nowhere")
zarr_kit.verify("a.zarr", level="everything")
zarr_kit.digest("a.zarr", "imag")

# Dask
zarr_kit.dask.to_zarr(dask.array.zeros((4, 6), chunks=((1, 3), (6,))), "dask.zarr")
zarr_kit.dask.to_zarr(dask.array.zeros((4, 6), chunks=(3, 6)), image)
zarr_kit.dask.to_zarr(dask.array.zeros((4, 6)), image, fill_value=1)
zarr_kit.dask.to_zarr(dask.array.zeros((1, 6)), image, region=(slice(1, 2), slice(None)))
zarr_kit.dask.to_zarr(dask.array.zeros((4, 6)), "dask.zarr", dtype="i4")
zarr_kit.dask.to_zarr(dask.array.zeros((4, 6)), "dask.zarr", mode="w")
zarr_kit.dask.to_zarr(np.zeros((4, 6)), "dask.zarr")
zarr_kit.dask.from_zarr("a.zarr", "image", mode="w")
zarr_kit.dask.from_zarr("a.zarr", "image", storage_option={})

# xarray
zarr_kit.xarray.to_zarr(xarray.Dataset(), "dataset.zarr", zarr_format="v3-draft")
zarr_kit.xarray.to_zarr(xarray.Dataset(), "dataset.zarr", store="dataset.zarr")
xarray.open_groups("a.zarr", engine="zarr-kit", decode_time=False)
"""


def test_the_messages_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = _examples(tmp_path)
    lines: list[str] = []
    for line in CALLS.strip().splitlines():
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [f"    {_message(line, names)}".replace(str(tmp_path), "FOLDER"), ""]
    found = "\n".join(line for line, after in zip(lines, [*lines[1:], "end"], strict=True) if line or after) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8")
    # Messages for Python name arguments, and not options of the command line, such as `--overwrite`.
    assert re.search(r"--[a-z]", found) is None


def _message(call: str, names: dict[str, Any]) -> str:
    """Run a statement, and return its error or warning."""
    try:
        exec(call, names)  # noqa: S102 - the calls are in this file
    except Exception as error:  # noqa: BLE001 - every class is shown
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"no error: {call}")


def _examples(folder: Path) -> dict[str, Any]:
    """Write the examples, and return the names that the calls use."""
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("not a hierarchy")
    (folder / "broken.zarr").mkdir()
    (folder / "broken.zarr/zarr.json").write_text('{"zarr_format": 3,')
    pixels = np.arange(24, dtype="u2").reshape(4, 6)
    group = zarr_kit.create_group("a.zarr")
    image = group.create_array("image", data=pixels, chunks=(2, 3))
    group.create_array("words", data=np.array(["a", "b"], dtype="T"))
    group.create_array("weather/time", data=np.arange(3), dimension_names=["time"])
    damaged = zarr_kit.create_array("damaged.zarr", data=pixels, chunks=(2, 3))
    (folder / "damaged.zarr/c/1/0").write_bytes(b"damaged")
    return {
        "np": np,
        "dask": dask,
        "xarray": xarray,
        "zarr_kit": zarr_kit,
        "image": image,
        "damaged": damaged,
        "read_only": zarr_kit.open_array("a.zarr", path="image", mode="r"),
        "scalar": zarr_kit.create_array("scalar.zarr", shape=(), dtype="u1"),
        "stored": _stored,
    }


def _stored(*, without: str | None = None, **members: Any) -> str:
    """Write the document of an array with these members instead of its own, and return its location."""
    shutil.rmtree("stored.zarr", ignore_errors=True)
    zarr_kit.create_array("stored.zarr", data=np.zeros((4, 6), dtype="u2"), chunks=(2, 3))
    path = Path("stored.zarr/zarr.json")
    document = json.loads(path.read_text()) | members
    document.pop(without, None)
    path.write_text(json.dumps(document))
    return "stored.zarr"
