"""The Python package of this workspace."""

import importlib.metadata

import numpy as np
import zarr_kit

from runner import checksum, checksum_of_lines, timed


class Program:
    def __init__(self, _name, threads):
        self.version = importlib.metadata.version("zarr_kit")
        self.threads = threads

    def prepare(self, case):
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.operation == "write":
            source = case.source()
            return lambda: operation(case, source)
        if case.operation == "read-kept":
            # A result is memory that the engine chose: it begins at a cache line, unlike arrays of NumPy.
            kept = self.open(case)[...]
            return lambda: operation(case, kept)
        return lambda: operation(case)

    def open(self, case, mode="r"):
        return zarr_kit.open_array(location(case), path="array", mode=mode, threads=self.threads)

    def do_read(self, case):
        array = self.open(case)
        found, seconds = timed(lambda: array[...])
        return seconds, checksum(found)

    # A whole read returns a NumPy array, which has a type and a shape.
    do_read_values = do_read
    do_read_ndarray = do_read

    def do_read_kept(self, case, kept):
        array = self.open(case)
        kept.view("u1").fill(0xFF)
        _, seconds = timed(lambda: array.read(out=kept))
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
        array = self.open(case)
        parts, seconds = timed(lambda: array.read_many(case.boxes))
        found = 0
        for elements in parts:
            found = checksum(elements, found)
        return seconds, found

    def do_create(self, case):
        case.write_empty_folder()

        def work():
            group = zarr_kit.create_group(location(case), overwrite=True, threads=self.threads)
            arguments = {"shape": case.shape, "chunks": case.chunks, "dtype": case.data_type}
            group.create_arrays(dict.fromkeys(case.names(), arguments))

        _, seconds = timed(work)
        return seconds, checksum_of_lines(f"/{name}" for name in case.names())

    def do_open(self, case):
        arrays, seconds = timed(lambda: self.group(case).arrays())
        lines = (f"/{name} [{', '.join(map(str, array.shape))}]" for name, array in arrays)
        return seconds, checksum_of_lines(lines)

    def do_list(self, case):
        nodes, seconds = timed(lambda: list(below(self.group(case))))
        return seconds, checksum_of_lines(["/", *nodes])

    def group(self, case):
        return zarr_kit.open_group(location(case), mode="r", threads=self.threads)


def location(case):
    """Return the folder or the remote store, with a cache if the case permits one."""
    store = str(case.folder)
    if case.far:
        url = f"s3://{case.far['bucket']}/{case.far['prefix']}"
        store = {"type": "s3", "url": url, "endpoint": case.far["endpoint"], "anonymous": True}
    if case.cache == 0:
        return store
    store = store if case.far else {"type": "filesystem", "path": store}
    return {"type": "cache", "bytes": case.cache, "chunks": "decoded", "store": store}


def below(group):
    """Yield the paths of all nodes below a group."""
    for _, node in group.members():
        yield node.path
        if isinstance(node, zarr_kit.Group):
            yield from below(node)
