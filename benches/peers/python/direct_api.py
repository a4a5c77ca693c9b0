"""Compares `zarr_kit` with other Python packages in one process: `python direct_api.py [FOLDER]`.

Every round runs each package once per row, in turn, so that changes of the machine affect all of them. Prints the median
of the rounds in milliseconds. The packages are those of `requirements.txt`, and `zarr_kit` as a release wheel. A package
that is not installed has no column. All packages read the same files, which zarr-python wrote.
"""

import functools
import importlib
import importlib.metadata
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr

ROUNDS = 5
SHAPE = (4096, 4096)
CHUNKS = (512, 512)
SMALL_SHAPE = (1024, 1024)
SMALL_CHUNKS = (32, 32)
STRING_COUNT = 200_000
ARRAY_COUNT = 2_000
ELEMENT_READS = 100
BOX = (slice(700, 1900), slice(300, 2100))
PLANE = (slice(None), 1234)


class ZarrKit:
    """The direct API."""

    name = "zarr_kit"

    def __init__(self):
        self.module = importlib.import_module("zarr_kit")

    def open(self, path, write=False):
        return self.module.open_array(path, mode="r+" if write else "r")

    def read(self, array, key=...):
        return array[key]

    def write(self, array, elements):
        array[...] = elements

    def open_all(self, path):
        return len(self.module.open_group(path, mode="r").arrays())


class ZarrPython(ZarrKit):
    """zarr-python with one of its codec pipelines."""

    name = "zarr-python"
    pipeline = "zarr.core.codec_pipeline.BatchedCodecPipeline"

    def __init__(self):
        self.module = zarr
        zarr.config.set({"codec_pipeline.path": self.pipeline})

    def open(self, path, write=False):
        # An array retains the pipeline that is set while it is opened.
        with zarr.config.set({"codec_pipeline.path": self.pipeline}):
            return super().open(path, write)

    def open_all(self, path):
        return len(list(zarr.open_group(path, mode="r", use_consolidated=False).arrays()))


class Fused(ZarrPython):
    name = "fused"
    pipeline = "zarr.core.codec_pipeline.FusedCodecPipeline"


class ZarrsPipeline(ZarrPython):
    name = "zarrs"
    pipeline = "zarrs.ZarrsCodecPipeline"

    def __init__(self):
        importlib.import_module("zarrs")
        super().__init__()


class Tensorstore(ZarrKit):
    """tensorstore, which opens arrays one by one, but concurrently."""

    name = "tensorstore"

    def __init__(self):
        self.module = importlib.import_module("tensorstore")

    def start(self, path, write=False):
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/", "file_io_sync": False}}
        return self.module.open(spec, open=True, read=True, write=write)

    def open(self, path, write=False):
        return self.start(path, write).result()

    def read(self, array, key=...):
        return array[key].read().result()

    def write(self, array, elements):
        array.write(elements).result()

    def open_all(self, path):
        opening = [self.start(folder) for folder in sorted(Path(path).iterdir()) if folder.is_dir()]
        return len([future.result() for future in opening])


class Data:
    """The files that all packages read, and the elements to write."""

    def __init__(self, folder):
        self.folder = folder
        generator = np.random.default_rng(0)
        self.elements = np.cumsum(generator.integers(-3, 4, SHAPE, dtype="i4"), axis=1, dtype="i4")
        self.small = self.elements[: SMALL_SHAPE[0], : SMALL_SHAPE[1]]
        self.create("large", self.elements, CHUNKS)
        self.create("small", self.small, SMALL_CHUNKS)
        words = [f"station {number} of {number % 97}" for number in range(STRING_COUNT)]
        self.create("strings", np.array(words, dtype=np.dtypes.StringDType()), (20_000,))
        self.create("written", np.zeros(SHAPE, "i4"), CHUNKS)
        group = zarr.create_group(self.path("group"))
        for number in range(ARRAY_COUNT):
            group.create_array(f"a{number:05}", shape=(100, 100), chunks=(10, 10), dtype="f4")

    def create(self, name, elements, chunks):
        zarr.create_array(self.path(name), data=elements, chunks=chunks)

    def path(self, name):
        return str(self.folder / name)


def rows(data, package):
    """Return the name of each row, and what to measure."""
    large = functools.partial(package.open, data.path("large"))
    is_text = package.name != "tensorstore"
    return {
        "whole read": lambda: package.read(large()),
        "whole write": lambda: package.write(package.open(data.path("written"), write=True), data.elements),
        "box": lambda: package.read(large(), BOX),
        "plane": lambda: package.read(large(), PLANE),
        "small chunks": lambda: package.read(package.open(data.path("small"))),
        # The driver of tensorstore does not support the data type `string`.
        "strings": (lambda: package.read(package.open(data.path("strings")))) if is_text else None,
        f"{ELEMENT_READS} elements": functools.partial(read_elements, package, data.path("large")),
        f"open {ARRAY_COUNT} arrays": lambda: package.open_all(data.path("group")),
    }


def read_elements(package, path):
    """Read elements of one chunk. Packages with a cache of chunks decode it once."""
    array = package.open(path)
    for index in range(ELEMENT_READS):
        package.read(array, (index % CHUNKS[0], 7))


def check(data, package):
    """Raise an error if a package returns other elements."""
    np.testing.assert_array_equal(package.read(package.open(data.path("large")), BOX), data.elements[BOX])
    np.testing.assert_array_equal(package.read(package.open(data.path("small"))), data.small)


def installed():
    """Return the packages that can be imported."""
    packages = []
    for create in (ZarrKit, ZarrPython, Fused, ZarrsPipeline, Tensorstore):
        try:
            packages.append(create())
        except ImportError as error:
            print(f"{create.name} is not measured: {error}", file=sys.stderr)
    return packages


def measure(data, packages):
    """Return the seconds of all rounds, by row and package."""
    seconds = {}
    tasks = {package.name: rows(data, package) for package in packages}
    for _ in range(ROUNDS):
        for row in tasks[packages[0].name]:
            for package in packages:
                task = tasks[package.name][row]
                if task is not None:
                    start = time.perf_counter()
                    task()
                    seconds.setdefault((row, package.name), []).append(time.perf_counter() - start)
    return seconds


def report(packages, seconds):
    names = [package.name for package in packages]
    print(f"{'milliseconds':<20}" + "".join(f"{name:>14}" for name in names))
    for row in dict.fromkeys(row for row, _ in seconds):
        medians = [statistics.median(seconds[row, name]) * 1e3 if (row, name) in seconds else None for name in names]
        print(f"{row:<20}" + "".join(f"{'-' if value is None else f'{value:.2f}':>14}" for value in medians))


def main():
    packages = installed()
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        data = Data(Path(folder))
        for package in packages:
            check(data, package)
        report(packages, measure(data, packages))


if __name__ == "__main__":
    main()
