"""zarr-python with one of three codec pipelines."""

import asyncio
import importlib.metadata

import numpy as np
import zarr
from zarr.core.buffer.cpu import Buffer, NDBuffer
from zarr.core.group import GroupMetadata
from zarr.core.metadata import ArrayV3Metadata
from zarr.core.sync import sync

from runner import checksum, checksum_of_lines, timed

PIPELINES = {
    "zarr-python": None,
    "zarr-python-fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarr-python-zarrs": "zarrs.ZarrsCodecPipeline",
    "zarr-python-zarr-kit": "zarr_kit.CodecPipeline",
}


class Program:
    def __init__(self, name, threads):
        # `async.concurrency` is not set: its requests wait for the file system, not for the processor.
        settings = {"threading.max_workers": threads, "codec_pipeline.max_workers": threads}
        self.name, self.version = name, zarr.__version__
        if pipeline := PIPELINES[name]:
            settings["codec_pipeline.path"] = pipeline
        if name == "zarr-python-zarrs":
            import zarrs  # noqa: F401  The import registers the pipeline.

            # An unsupported case is an error. Otherwise the pipeline of zarr-python would be measured instead.
            settings["codec_pipeline.strict"] = True
            self.version += f", zarrs {importlib.metadata.version('zarrs')}"
        if name == "zarr-python-zarr-kit":
            # With this pipeline, an unsupported case is an error by default.
            self.version += f", zarr_kit {importlib.metadata.version('zarr_kit')}"
        zarr.config.set(settings)

    def prepare(self, case):
        if case.document and "imagecodecs_" in case.document[1]:
            import imagecodecs.numcodecs  # Not required for other cases.

            imagecodecs.numcodecs.register_codecs(verbose=False)
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.operation == "write":
            source = case.source()
            return lambda: operation(case, source)
        if case.operation == "read-kept":
            kept = np.ones(case.shape, dtype=case.data_type)
            return lambda: operation(case, kept)
        return lambda: operation(case)

    def store(self, case):
        """Return the folder, or the remote store with the permitted number of requests in flight."""
        if not case.far:
            return str(case.folder)
        zarr.config.set({"async.concurrency": case.far["requests"]})
        if self.name == "zarr-python-zarrs":
            # The threads of zarrs wait for the store. They run on the same number of processors as the other programs.
            zarr.config.set({"threading.max_workers": case.far["requests"]})
        return object_store(case.far)

    def contained(self, case):
        """Return an archive or references on a server, which fsspec reads."""
        zarr.config.set({"async.concurrency": case.far["requests"]})
        url = f"{case.far['endpoint']}/{case.far['bucket']}/{case.far['prefix']}"
        if case.container == "zip":
            return zarr.storage.FsspecStore.from_url(f"zip::{url}/data.zip", read_only=True)
        options = {
            "fo": f"{url}/references.json",
            "remote_protocol": "http",
            "remote_options": {"asynchronous": True},
        }
        return zarr.storage.FsspecStore.from_url("reference://", storage_options=options, read_only=True)

    def open(self, case, mode="r"):
        if case.container == "icechunk":
            session = repository(case).readonly_session("main")
            return zarr.open_array(store=session.store, path="array", mode="r")
        if case.container:
            return zarr.open_array(store=self.contained(case), path="array", mode="r")
        return zarr.open_array(store=self.store(case), path="array", mode=mode)

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
        out = NDBuffer.from_numpy_array(kept)
        _, seconds = timed(lambda: array.get_basic_selection(..., out=out))
        return seconds, checksum(kept)

    def do_write(self, case, source):
        if case.container == "icechunk":
            return self.write_to_repository(case, source)
        case.write_empty_array()
        array = self.open(case, "r+")

        def work():
            if not case.boxes:
                array[...] = source
            for box in case.boxes:
                array[box] = source

        _, seconds = timed(work)
        return seconds, checksum(source)

    def write_to_repository(self, case, source):
        case.write_empty_folder()
        repo = repository(case, is_new=True)
        session = repo.writable_session("main")
        zarr.create_group(session.store)
        name, text = case.document
        sync(session.store.set(f"array/{name}", Buffer.from_bytes(text.encode())))
        session.commit("an array without chunks")
        session = repo.writable_session("main")
        array = zarr.open_array(store=session.store, path="array", mode="r+")

        def work():
            array[...] = source
            session.commit("its elements")

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
        store = self.store(case)

        def one_by_one():
            group = zarr.open_group(store=store, mode="w")
            for name in case.names():
                group.create_array(name, shape=case.shape, chunks=case.chunks, dtype=case.data_type)

        def at_once():
            nodes = {name: array_metadata(case) for name in case.names()}
            for _ in zarr.create_hierarchy(store=store, nodes={"": GroupMetadata(), **nodes}):
                pass

        _, seconds = timed(at_once if case.far else one_by_one)
        return seconds, checksum_of_lines(f"/{name}" for name in case.names())

    def do_open(self, case):
        store = self.store(case)
        arrays, seconds = timed(lambda: dict(group(store).arrays()))
        lines = (f"/{name} [{', '.join(map(str, array.shape))}]" for name, array in arrays.items())
        return seconds, checksum_of_lines(lines)

    def do_list(self, case):
        store = self.store(case)
        nodes, seconds = timed(lambda: list(group(store).members(max_depth=None)))
        return seconds, checksum_of_lines(["/", *(f"/{name}" for name, _ in nodes)])


def repository(case, is_new=False):
    """Open or create the Icechunk repository."""
    import icechunk  # Not required for other cases.

    storage = icechunk.local_filesystem_storage(str(case.folder / "repository"))
    return icechunk.Repository.create(storage) if is_new else icechunk.Repository.open(storage)


def object_store(far):
    """Return the remote store."""
    from obstore.store import S3Store  # Not required for cases with files.

    return zarr.storage.ObjectStore(
        S3Store(
            far["bucket"],
            prefix=far["prefix"],
            endpoint=far["endpoint"],
            region="us-east-1",
            skip_signature=True,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )
    )


def group(store):
    return zarr.open_group(store=store, mode="r")


def array_metadata(case):
    """Return the metadata that `create_array` writes."""
    return ArrayV3Metadata(
        shape=case.shape,
        data_type=zarr.dtype.parse_dtype(case.data_type, zarr_format=3),
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": case.chunks}},
        chunk_key_encoding={"name": "default", "configuration": {"separator": "/"}},
        fill_value=0,
        codecs=[zarr.codecs.BytesCodec(), zarr.codecs.ZstdCodec()],
        attributes={},
        dimension_names=None,
    )
