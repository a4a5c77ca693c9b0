"""tensorstore."""

import importlib.metadata
import json

import numpy as np
import tensorstore as ts

from runner import checksum, checksum_of_lines, timed


# The drivers for the documents of arrays.
DRIVERS = {"zarr.json": "zarr3", ".zarray": "zarr", "attributes.json": "n5"}


class Program:
    def __init__(self, _name, threads):
        self.version = importlib.metadata.version("tensorstore")
        self.threads = threads

    def prepare(self, case):
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.operation == "write":
            source = case.source()
            return lambda: operation(case, source)
        if case.operation == "read-kept":
            kept = np.ones(case.shape, dtype=case.data_type)
            return lambda: operation(case, kept)
        return lambda: operation(case)

    def context(self, case):
        limit = {"limit": self.threads}
        settings = {
            "cache_pool": {"total_bytes_limit": case.cache},
            "data_copy_concurrency": limit,
            "file_io_concurrency": limit,
            # The other programs do not sync their writes either.
            "file_io_sync": False,
        }
        if case.far:
            settings["s3_request_concurrency"] = {"limit": case.far["requests"]}
        return ts.Context(settings)

    def location(self, case, path):
        """Return the location of the keys below `path` of the hierarchy; `path` is empty or ends with a slash."""
        if case.container == "zip":
            return {"driver": "zip", "base": self.place(case, "data.zip"), "path": path}
        return self.place(case, path)

    def place(self, case, path):
        """Return the location of a key or a prefix in the folder or the remote store."""
        if not case.far:
            return {"driver": "file", "path": f"{case.folder}/{path}"}
        return {
            "driver": "s3",
            "bucket": case.far["bucket"],
            "path": f"{case.far['prefix']}/{path}",
            "endpoint": case.far["endpoint"],
            "aws_region": "us-east-1",
            "aws_credentials": {"type": "anonymous"},
        }

    def open(self, case, write=False):
        name, _ = case.document
        spec = {
            "driver": DRIVERS[name],
            "kvstore": self.location(case, "array/"),
            "recheck_cached_data": False,
            "recheck_cached_metadata": False,
        }
        return ts.open(spec, context=self.context(case), open=True, read=not write, write=write).result()

    def do_read(self, case):
        array = self.open(case)
        found, seconds = timed(lambda: array.read().result())
        return seconds, checksum(found)

    # A whole read returns a NumPy array, which has a type and a shape.
    do_read_values = do_read
    do_read_ndarray = do_read

    def do_read_kept(self, case, kept):
        array = self.open(case)
        kept.view("u1").fill(0xFF)
        target = ts.array(kept, copy=False, write=True, context=self.context(case))
        _, seconds = timed(lambda: target.write(array).result())
        return seconds, checksum(kept)

    def do_write(self, case, source):
        case.write_empty_array()
        array = self.open(case, write=True)

        def work():
            if not case.boxes:
                array.write(source).result()
            for box in case.boxes:
                array[box].write(source).result()

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
            elements, seconds = timed(lambda box=box: array[box].read().result())
            total += seconds
            found = checksum(elements, found)
        return total, found

    def do_boxes_at_once(self, case):
        array = self.open(case)

        def work():
            futures = [array[box].read() for box in case.boxes]
            return [future.result() for future in futures]

        parts, seconds = timed(work)
        found = 0
        for elements in parts:
            found = checksum(elements, found)
        return seconds, found

    def do_create(self, case):
        case.write_empty_folder()
        names, chunks = case.names(), list(case.chunks)

        def work():
            context = self.context(case)
            store = ts.KvStore.open(self.location(case, ""), context=context).result()
            # tensorstore does not support groups: their document is written like any other value.
            store.write("zarr.json", json.dumps({"zarr_format": 3, "node_type": "group"})).result()
            metadata = {
                "shape": list(case.shape),
                "data_type": case.data_type,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            }
            futures = [
                ts.open(
                    {
                        "driver": "zarr3",
                        "kvstore": self.location(case, f"{name}/"),
                        "metadata": metadata,
                    },
                    context=context,
                    create=True,
                )
                for name in names
            ]
            for future in futures:
                future.result()

        _, seconds = timed(work)
        return seconds, checksum_of_lines(f"/{name}" for name in names)

    def do_open(self, case):
        """List the keys and open all arrays concurrently, because tensorstore does not support groups."""

        def work():
            context = self.context(case)
            store = ts.KvStore.open(self.location(case, ""), context=context).result()
            keys = (key.decode() for key in store.list().result())
            paths = [key.removesuffix("/zarr.json") for key in keys if key.endswith("/zarr.json")]
            futures = [
                ts.open(
                    {"driver": "zarr3", "kvstore": self.location(case, f"{path}/")},
                    context=context,
                    open=True,
                )
                for path in paths
            ]
            return list(zip(paths, [future.result() for future in futures], strict=True))

        arrays, seconds = timed(work)
        lines = (f"/{path} [{', '.join(map(str, array.shape))}]" for path, array in arrays)
        return seconds, checksum_of_lines(lines)

    def do_list(self, case):
        """List the keys, because tensorstore does not support hierarchies."""

        def work():
            store = ts.KvStore.open(self.location(case, ""), context=self.context(case)).result()
            keys = (key.decode() for key in store.list().result())
            return [f"/{key.removesuffix('zarr.json').removesuffix('/')}" for key in keys]

        paths, seconds = timed(work)
        return seconds, checksum_of_lines(paths)
