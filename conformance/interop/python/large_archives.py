"""Zip archives with an entry of more than 4 GiB, or with more than 65,535 entries.

    large_archives.py write FILE      writes an archive with an array `/a` in one chunk of more than 4 GiB, then `/z`
    large_archives.py check FILE      reads the end of the chunk of `/a`, and `/z`, with `zipfile` and zarr-python
    large_archives.py check-many FILE COUNT   reads the COUNT chunks of `/many`
    large_archives.py add FILE NAME   adds the array `/NAME` to an archive with zarr-python

`/a` has bytes: zeros, and 1, 2, 3 at the end. `/z` and added arrays have the elements of `elements()`.
"""

import sys
import zipfile

import numpy as np
import zarr

# More than 4 GiB, whose size and offsets do not fit into 32 bits.
SIZE = (4 << 30) + 4096
BLOCK = 64 << 20


def elements() -> np.ndarray:
    return np.array([5, 6, 7, 8], dtype="<i2")


def add(path: str, name: str) -> None:
    with zarr.storage.ZipStore(path, mode="a") as store:
        array = zarr.create_array(store, name=name, shape=(4,), chunks=(4,), dtype="<i2", compressors=None)
        array[...] = elements()


def write(path: str) -> None:
    with zarr.storage.ZipStore(path, mode="w") as store:
        zarr.create_group(store)
        zarr.create_array(store, name="a", shape=(SIZE,), chunks=(SIZE,), dtype="u1", compressors=None)
    zeros = bytes(BLOCK)
    with zipfile.ZipFile(path, "a") as archive, archive.open("a/c/0", "w", force_zip64=True) as entry:
        for _ in range(SIZE // BLOCK):
            entry.write(zeros)
        entry.write(bytes(SIZE % BLOCK - 3) + b"\x01\x02\x03")
    add(path, "z")


def check(path: str) -> None:
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("a/c/0")
        assert info.file_size == SIZE, info
        assert max(info.header_offset for info in archive.infolist()) > 1 << 32
        with archive.open(info) as entry:
            # Reading to the end compares the CRC-32.
            last = b""
            while block := entry.read(BLOCK):
                last = block
        assert last[-4:] == b"\x00\x01\x02\x03", last[-4:]
    check_elements(path, "z")


def check_elements(path: str, *names: str) -> None:
    with zarr.storage.ZipStore(path, mode="r") as store:
        for name in names:
            array = zarr.open_array(store, path=name, mode="r")
            assert np.array_equal(array[...], elements()), name


def check_many(path: str, count: str) -> None:
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == len(set(archive.namelist())) > int(count) > 0xFFFF
    with zarr.storage.ZipStore(path, mode="r") as store:
        array = zarr.open_array(store, path="many", mode="r")
        assert array.shape == (int(count),)
        assert np.array_equal(array[...], np.arange(int(count), dtype="<u4") + 1)


if __name__ == "__main__":
    {"write": write, "check": check, "check-many": check_many, "add": add}[sys.argv[1]](*sys.argv[2:])
