"""Zip archives of hierarchies: `write FOLDER` writes some, `check FILE FORMAT` reads one that `zarrctl` packed.

In all of them, `/g/a` has the elements of `elements()`, and the root has the attribute `n` with the value 5. Runs with
zarr-python 3; `check FILE 2` also runs with zarr-python 2.18.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import zarr


def elements() -> np.ndarray:
    return np.arange(70, dtype="<i4").reshape(10, 7)


def fill(store, zarr_format: int, **options) -> None:
    root = zarr.create_group(store, zarr_format=zarr_format, attributes={"n": 5})
    array = root.create_array("g/a", shape=(10, 7), chunks=(4, 3), dtype="<i4", **options)
    array[...] = elements()


def write(folder: Path) -> None:
    for zarr_format in (2, 3):
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            path = folder / f"zarr-python-v{zarr_format}-{name}.zip"
            with zarr.storage.ZipStore(path, mode="w", compression=method) as store:
                fill(store, zarr_format, compressors=None)
    with zarr.storage.ZipStore(folder / "zarr-python-shards.ozx", mode="w") as store:
        fill(store, 3, shards=(8, 6))

    fill(folder / "plain.zarr", 3)
    files = sorted(path for path in (folder / "plain.zarr").rglob("*") if path.is_file())
    values = {path.relative_to(folder / "plain.zarr").as_posix(): path.read_bytes() for path in files}

    def archive(name: str, **options) -> zipfile.ZipFile:
        return zipfile.ZipFile(folder / name, "w", **options)

    with archive("nested.zip") as out:
        for name, value in values.items():
            out.writestr(f"data.zarr/{name}", value)
            out.writestr(f"__MACOSX/data.zarr/._{name}", b"")

    # A writer that cannot seek writes data descriptors.
    with (folder / "streamed.zip").open("wb") as file:
        with zipfile.ZipFile(Unseekable(file), "w", compression=zipfile.ZIP_DEFLATED) as out:
            for name, value in values.items():
                out.writestr(name, value)

    with archive("zip64.zip") as out:
        for name, value in values.items():
            with out.open(name, "w", force_zip64=True) as entry:
                entry.write(value)

    with archive("commented.zip") as out:
        out.comment = b"PK\x05\x06 is how the end of a directory begins"
        for name, value in values.items():
            out.writestr(name, value)

    with archive("twice.zip") as out:
        for name in values:
            out.writestr(name, b"of an earlier time")
        for name, value in values.items():
            out.writestr(name, value)

    with archive("folders.zip", compression=zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for folder_name in ("g/", "g/a/", "g/a/c/", "empty/"):
            out.mkdir(folder_name)
        for name, value in values.items():
            out.writestr(name, value)
        out.writestr("é/ß", b"beyond ASCII")

    with archive("bzip2.zip") as out:
        for name, value in values.items():
            is_chunk = not name.endswith(".json")
            out.writestr(name, value, zipfile.ZIP_BZIP2 if is_chunk else zipfile.ZIP_STORED)

    with archive("many.zip") as out:
        for name, value in values.items():
            out.writestr(name, value)
        for number in range(66_000):
            out.writestr(f"other/{number}", b"")

    with archive("in-another.zip") as out:
        out.write(folder / "nested.zip", "nested.zip")


class Unseekable(io.RawIOBase):
    """A file that supports only sequential writing."""

    def __init__(self, file) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, value) -> int:
        return self.file.write(value)


def check(path: Path, zarr_format: int) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        first = "zarr.json" if zarr_format == 3 else ".z"
        assert entries[0].filename.startswith(first), entries[0]
        documents = [".z" in entry.filename or entry.filename.endswith("zarr.json") for entry in entries]
        assert documents == sorted(documents, reverse=True), "documents come first"
    if zarr.__version__.startswith("2."):
        root = zarr.open_group(zarr.ZipStore(str(path), mode="r"), mode="r")
    else:
        root = zarr.open_group(zarr.storage.ZipStore(path, mode="r"), mode="r", zarr_format=zarr_format)
    assert root.attrs["n"] == 5
    assert np.array_equal(root["g/a"][...], elements())


def check_changed(path: Path, zarr_format: int) -> None:
    """Checks an archive that was created and changed value by value, and adds an array to it."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        assert len(names) == len(set(names)), "no duplicate names"
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    if zarr.__version__.startswith("2."):
        store = zarr.ZipStore(str(path), mode="a")
        root = zarr.open_group(store, mode="a")
    else:
        store = zarr.storage.ZipStore(path, mode="a")
        root = zarr.open_group(store, mode="a", zarr_format=zarr_format)
    assert root.attrs["n"] == 5
    assert np.array_equal(root["g/a"][...], elements())
    version = zarr.__version__.split(".")[0]
    if f"b{version}" not in root["g"]:
        added = root["g"].create_array if version != "2" else root["g"].create_dataset
        array = added(f"b{version}", shape=(4,), chunks=(2,), dtype="int16")
        array[...] = [1, 2, 3, 4]
    store.close()


if sys.argv[1] == "write":
    write(Path(sys.argv[2]))
elif sys.argv[1] == "check":
    check(Path(sys.argv[2]), int(sys.argv[3]))
else:
    check_changed(Path(sys.argv[2]), int(sys.argv[3]))
