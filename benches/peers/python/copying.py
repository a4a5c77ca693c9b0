"""Gives an array other chunks: `python copying.py PROGRAM SOURCE TARGET CHUNKS MEMORY THREADS`.

The array is the node `array` of the hierarchy SOURCE, a folder. With only the name of a program, prints its version.
"""

import importlib.metadata
import shutil
import sys
import tempfile
from pathlib import Path

import zarr

CODEC = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


class Copying:
    def __init__(self, words):
        source, target, chunks, memory, threads = words
        self.source = zarr.open_array(store=source, path="array", mode="r")
        self.target = Path(target)
        self.chunks = tuple(int(length) for length in chunks.split(","))
        self.memory = int(memory)
        self.threads = int(threads)
        # Intermediate arrays are next to the copy, on the same file system.
        self.scratch = tempfile.mkdtemp(prefix="between-", dir=self.target.parent)

    def create(self):
        zarr.open_group(store=str(self.target), mode="w")
        return zarr.create_array(
            store=str(self.target / "array"),
            shape=self.source.shape,
            chunks=self.chunks,
            dtype=self.source.dtype,
            compressors=[CODEC],
            fill_value=0,
        )

    def with_cubed(self):
        import cubed

        # The documentation of Cubed recommends uncompressed intermediate data in local stores.
        spec = cubed.Spec(
            work_dir=self.scratch,
            allowed_mem=self.memory,
            executor_name="threads",
            executor_options={"max_workers": self.threads},
            zarr_compressor=None,
        )
        array = cubed.from_array(self.source, chunks=self.source.chunks, spec=spec)
        cubed.store([array.rechunk(self.chunks)], [self.create()])

    def with_dask(self):
        import dask
        import dask.array

        array = dask.array.from_zarr(self.source).rechunk(self.chunks)
        with dask.config.set(scheduler="threads", num_workers=self.threads):
            array.store(self.create(), lock=False)


def main():
    program, *words = sys.argv[1:]
    if not words:
        print(importlib.metadata.version(program))
        return
    copying = Copying(words)
    try:
        getattr(copying, f"with_{program}")()
    finally:
        shutil.rmtree(copying.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
