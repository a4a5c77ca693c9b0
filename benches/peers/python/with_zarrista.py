"""zarrista, which has arrays of the `zarrs` crate. It returns its own tensors.

It has one interface for files and an asynchronous one for remote stores, whose operations are coroutines.
"""

import asyncio
import importlib.metadata

import numpy as np
import zarrista

from runner import checksum, checksum_of_lines, timed

# zarrista cannot create groups: the document of the root is written like any other value.
ROOT = '{"zarr_format": 3, "node_type": "group"}'


class Program:
    def __init__(self, _name, threads):
        self.version = importlib.metadata.version("zarrista")
        self.options = {"concurrent_target": threads}

    def prepare(self, case):
        if case.operation == "read-kept":
            raise NotImplementedError("its reads return new memory")
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.far:
            self.options["concurrent_target"] = case.far["requests"]
        if case.operation == "write":
            if case.data_type == "string":
                raise NotImplementedError("it does not accept arrays of strings")
            source = np.ascontiguousarray(case.source())
            return lambda: operation(case, source)
        return lambda: operation(case)

    def open(self, case):
        if case.far:
            return wait(zarrista.AsyncArray.open, store(case), "/array")
        return zarrista.Array.open(store(case), "/array")

    def elements(self, array, box=...):
        if isinstance(array, zarrista.Array):
            return array.retrieve_array_subset(box, **self.options).to_numpy()
        return wait(array.retrieve_array_subset, box, **self.options).to_numpy()

    def do_read(self, case):
        array = self.open(case)
        found, seconds = timed(lambda: self.elements(array))
        return seconds, checksum(found)

    do_read_values = do_read
    do_read_ndarray = do_read

    def do_write(self, case, source):
        case.write_empty_array()
        array = self.open(case)
        boxes = case.boxes or [tuple(slice(0, length) for length in case.shape)]

        def work():
            for box in boxes:
                wait(array.store_array_subset, box, source, **self.options)

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
            elements, seconds = timed(lambda box=box: self.elements(array, box))
            total += seconds
            found = checksum(elements, found)
        return total, found

    def do_boxes_at_once(self, case):
        """Read the boxes concurrently from a remote store. Files are read one box after another."""
        if not case.far:
            return self.do_boxes(case)
        array = self.open(case)

        async def all_boxes():
            reads = [array.retrieve_array_subset(box, **self.options) for box in case.boxes]
            return await asyncio.gather(*reads)

        parts, seconds = timed(lambda: wait(all_boxes))
        found = 0
        for elements in parts:
            found = checksum(elements.to_numpy(), found)
        return seconds, found

    def do_create(self, case):
        case.write_empty_folder()
        builder = array_builder(case)

        def one_by_one():
            target = store(case)
            (case.folder / "zarr.json").write_text(ROOT)
            for name in case.names():
                builder.create(target, f"/{name}")

        async def at_once():
            target = store(case)
            await target.put_async("zarr.json", ROOT.encode())
            await asyncio.gather(*(builder.create_async(target, f"/{name}") for name in case.names()))

        _, seconds = timed(lambda: wait(at_once) if case.far else one_by_one())
        return seconds, checksum_of_lines(f"/{name}" for name in case.names())

    def do_open(self, case):
        arrays, seconds = timed(lambda: wait(group(case).child_arrays))
        lines = (f"{array.path} [{', '.join(map(str, array.shape))}]" for array in arrays)
        return seconds, checksum_of_lines(lines)

    def do_list(self, case):
        nodes, seconds = timed(lambda: wait(group(case).traverse))
        return seconds, checksum_of_lines(["/", *(node.path for node in nodes)])


def store(case):
    """Return the folder or the remote store."""
    if not case.far:
        return zarrista.store.FilesystemStore(str(case.folder))
    from obstore.store import S3Store  # Not required for cases with files.

    far = case.far
    return S3Store(
        far["bucket"],
        prefix=far["prefix"],
        endpoint=far["endpoint"],
        region="us-east-1",
        skip_signature=True,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def group(case):
    if case.far:
        return wait(zarrista.AsyncGroup.open, store(case))
    return zarrista.Group.open(store(case))


def array_builder(case):
    """Return a builder of the arrays that the other programs create."""
    item = np.dtype(case.data_type).itemsize
    builder = zarrista.ArrayBuilder(
        zarrista.ChunkGrid.regular(case.shape, chunk_shape=case.chunks),
        zarrista.DataType.from_string(case.data_type),
        zarrista.FillValue(bytes(item)),
    )
    return builder.compressors([zarrista.codec.zstd(0, checksum=False)])


# The operations of a remote store need an event loop. All share one, because a new one for each would take time.
LOOP = asyncio.new_event_loop()


def wait(operation, *arguments, **options):
    """Return the result of an operation, which is a coroutine if the store is remote."""

    async def waiting():
        result = operation(*arguments, **options)
        return await result if hasattr(result, "__await__") else result

    return LOOP.run_until_complete(waiting())
