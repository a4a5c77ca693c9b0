"""Runs a Python program of the comparison: `python runner.py PROGRAM THREADS`.

Reads one JSON object per line and answers each with one line, like `benches/peers/src/serve.rs`.
"""

import ctypes
import gc
import importlib
import itertools
import json
import shutil
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
from crc32c import crc32c

MODULES = {
    "tensorstore": "with_tensorstore",
    "zarr-python": "with_zarr",
    "zarr-python-fused": "with_zarr",
    "zarr-python-zarrs": "with_zarr",
    "zarr-python-zarr-kit": "with_zarr",
    "zarr-kit-python": "with_zarr_kit",
    "zarrista": "with_zarrista",
    "xarray": "with_xarray",
    "xarray-fused": "with_xarray",
    "xarray-zarrs": "with_xarray",
    "xarray-zarr-kit": "with_xarray",
}


class Case:
    """A case, and the operations that all programs share."""

    def __init__(self, members):
        self.operation = members["operation"]
        self.folder = Path(members["folder"])
        # The location of the hierarchy in a remote store, if the case uses the store instead of the folder.
        self.far = members.get("far")
        self.document = members.get("document")
        self.elements = members.get("elements")
        self.data_type = members.get("data_type", "")
        self.shape = tuple(members.get("shape", ()))
        self.chunks = tuple(members.get("chunks", ()))
        self.boxes = [key_of(ranges) for ranges in members.get("boxes", [])]
        self.cache = members.get("cache", 0)
        # The store in the folder that contains the hierarchy, if it is not the folder: see `benches/peers/src/case.rs`.
        self.container = members.get("container")
        self.count = members.get("count", 0)

    @property
    def array_folder(self):
        return self.folder / "array"

    def write_empty_array(self):
        name, text = self.document
        shutil.rmtree(self.array_folder, ignore_errors=True)
        self.array_folder.mkdir(parents=True)
        (self.array_folder / name).write_text(text)

    def write_empty_folder(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def source(self):
        """Return the elements to write: of the array, or of each box."""
        if self.data_type == "string":
            return read_strings(self.elements, self.shape[0])
        elements = np.fromfile(self.elements, dtype=self.data_type)
        if not self.boxes:
            return elements.reshape(self.shape)
        return elements.reshape([along.stop - along.start for along in self.boxes[0]])

    def names(self):
        return [f"a{number:05}" for number in range(self.count)]

    def chunk_slices(self):
        """Yield the slices of every chunk, in C order."""
        along = [
            [slice(start, min(start + chunk, length)) for start in range(0, length, chunk)]
            for length, chunk in zip(self.shape, self.chunks, strict=True)
        ]
        return itertools.product(*along)


def key_of(ranges):
    """Return the key of a box; for a box of one element, the integers that users write."""
    if all(stop == start + 1 for start, stop in ranges):
        return tuple(start for start, _ in ranges)
    return tuple(slice(start, stop) for start, stop in ranges)


def read_strings(file, count):
    content = Path(file).read_bytes()
    offsets = np.frombuffer(content, dtype="u8", count=count + 1)
    payload = content[(count + 1) * 8 :]
    strings = [
        payload[start:stop].decode()
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    return np.array(strings, dtype=np.dtypes.StringDType())


def checksum(elements, so_far=0):
    """Return the checksum of the elements in C order and native byte order; for strings, of offsets and payload."""
    elements = np.asarray(elements)
    if elements.dtype.kind in "OTU":
        strings = [string.encode() for string in elements.tolist()]
        offsets = np.zeros(len(strings) + 1, dtype="u8")
        offsets[1:] = np.cumsum([len(string) for string in strings])
        return crc32c(b"".join(strings), crc32c(offsets.tobytes(), so_far))
    if not elements.dtype.isnative:
        elements = elements.astype(elements.dtype.newbyteorder("="))
    return crc32c(memoryview(np.ascontiguousarray(elements).reshape(-1).view("u1")), so_far)


def checksum_of_lines(lines):
    return crc32c("\n".join(sorted(lines)).encode())


def timed(work):
    """Return the result of `work` and its duration in seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def resident(name):
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    lines = (line for line in status.splitlines() if line.startswith(name))
    return next((int(line.split()[1]) * 1024 for line in lines), None)


def forget_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def give_back():
    """Return the free memory of the allocator to the system. Otherwise, reused memory would not be counted."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass


def run(task):
    gc.collect()
    gc.disable()
    try:
        seconds, found = task()
    finally:
        gc.enable()
    return {"seconds": seconds, "checksum": found}


def weigh(task):
    give_back()
    is_counted = forget_peak()
    before = resident("VmRSS:")
    seconds, found = task()
    peak = max(resident("VmHWM:") - before, 0) if is_counted and before is not None else None
    return {"seconds": seconds, "checksum": found, "peak": peak}


def contain(folder, container, url):
    """Make an archive of the files in a folder, or references to their URLs below `url`."""
    files = {str(file.relative_to(folder)): file for file in sorted(folder.rglob("*")) if file.is_file()}
    if container == "zip":
        with zipfile.ZipFile(folder / "data.zip", "w") as archive:
            for key, file in files.items():
                archive.write(file, key)
    else:
        references = {
            key: file.read_text() if file.name == "zarr.json" else [f"{url}/{key}"] for key, file in files.items()
        }
        text = json.dumps({"version": 1, "refs": references})
        (folder / "references.json").write_text(text)


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    program = importlib.import_module(MODULES[name]).Program(name, threads)
    task = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            match request["do"]:
                case "about":
                    answer = {"name": name, "version": program.version}
                case "prepare":
                    task = None
                    task = program.prepare(Case(request["case"]))
                    answer = {}
                case "run":
                    answer = run(task)
                case "weigh":
                    answer = weigh(task)
                case "contain":
                    contain(Path(request["folder"]), request["container"], request["url"])
                    answer = {}
                case "release":
                    task = None
                    gc.collect()
                    answer = {}
                case other:
                    answer = {"error": f"unknown request `{other}`"}
        except Exception as error:  # The failure of a case is an answer.
            text = f"{type(error).__name__}: {error}".splitlines()
            answer = {"error": text[0] if text else type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
