"""zarr-python with one of three codec pipelines."""

import asyncio
import importlib.metadata

import numpy as np
import zarr
from zarr.core.buffer.cpu import NDBuffer
from zarr.core.sync import sync

from runner import checksum, checksum_of_lines, timed

PIPELINES = {
    "zarr-python": None,
    "zarr-python-fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarr-python-zarrs": "zarrs.ZarrsCodecPipeline",
}


class Program:
    def __init__(self, name, threads):
        # Not `async.concurrency`: more requests than threads wait for the file system, not for the processor.
        settings = {"threading.max_workers": threads, "codec_pipeline.max_workers": threads}
        self.version = zarr.__version__
        if pipeline := PIPELINES[name]:
            settings["codec_pipeline.path"] = pipeline
        if name == "zarr-python-zarrs":
            import zarrs  # noqa: F401  It registers its pipeline.

            # What it cannot do is an error, rather than done by zarr-python's own pipeline under its name.
            settings["codec_pipeline.strict"] = True
            self.version += f", zarrs {importlib.metadata.version('zarrs')}"
        zarr.config.set(settings)

    def prepare(self, case):
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.operation == "write":
            source = case.source()
            return lambda: operation(case, source)
        if case.operation == "read-kept":
            kept = np.ones(case.shape, dtype=case.data_type)
            return lambda: operation(case, kept)
        return lambda: operation(case)

    def open(self, case, mode="r"):
        return zarr.open_array(store=str(case.folder), path="array", mode=mode)

    def do_read(self, case):
        array = self.open(case)
        found, seconds = timed(lambda: array[...])
        return seconds, checksum(found)

    def do_read_kept(self, case, kept):
        array = self.open(case)
        kept.view("u1").fill(0xFF)
        out = NDBuffer.from_numpy_array(kept)
        _, seconds = timed(lambda: array.get_basic_selection(..., out=out))
        return seconds, checksum(kept)

    def do_write(self, case, source):
        case.write_empty_array()
        array = self.open(case, "r+")

        def work():
            if not case.boxes:
                array[...] = source
            for box in case.boxes:
                array[box] = source

        _, seconds = timed(work)
        return seconds, checksum(source)

    def do_chunks(self, case):
        return self.one_by_one(case, case.chunk_slices())

    def do_boxes(self, case):
        return self.one_by_one(case, case.boxes)

    def one_by_one(self, case, boxes):
        array = self.open(case)
        total = found = 0
        for box in boxes:
            elements, seconds = timed(lambda box=box: array[box])
            total += seconds
            found = checksum(elements, found)
        return total, found

    def do_boxes_at_once(self, case):
        array = self.open(case).async_array

        async def all_boxes():
            return await asyncio.gather(*(array.getitem(box) for box in case.boxes))

        parts, seconds = timed(lambda: sync(all_boxes()))
        found = 0
        for elements in parts:
            found = checksum(elements, found)
        return seconds, found

    def do_create(self, case):
        case.write_empty_folder()

        def work():
            group = zarr.open_group(store=str(case.folder), mode="w")
            for name in case.names():
                group.create_array(name, shape=case.shape, chunks=case.chunks, dtype=case.data_type)

        _, seconds = timed(work)
        return seconds, checksum_of_lines(f"/{name}" for name in case.names())

    def do_open(self, case):
        arrays, seconds = timed(lambda: dict(self.group(case).arrays()))
        lines = (f"/{name} [{', '.join(map(str, array.shape))}]" for name, array in arrays.items())
        return seconds, checksum_of_lines(lines)

    def do_list(self, case):
        nodes, seconds = timed(lambda: list(self.group(case).members(max_depth=None)))
        return seconds, checksum_of_lines(["/", *(f"/{name}" for name, _ in nodes)])

    def group(self, case):
        return zarr.open_group(store=str(case.folder), mode="r", use_consolidated=False)
