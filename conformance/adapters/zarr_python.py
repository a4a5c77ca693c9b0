"""Reads an array with zarr-python 2 or 3: `zarr_python.py STORE ARRAY OUT`.

Stores are those that zarr-python and the packages of its environment open: folders, zip archives, references with fsspec,
repositories of Icechunk, and N5 containers with zarr-python 2.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import zarr

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import objects_as_text, raw_bytes

IS_2 = zarr.__version__.startswith("2.")


def opened(store: str):
    """Returns the store that users of zarr-python open for this location."""
    kind = Path(store).suffix
    if kind in (".zip", ".ozx"):
        return zarr.ZipStore(store, mode="r") if IS_2 else zarr.storage.ZipStore(store, mode="r")
    if kind in (".json", ".parq"):
        return references(store)
    if kind == ".icechunk":
        import icechunk

        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(store))
        return repository.readonly_session("main").store
    if kind == ".n5":
        return n5(store)
    return store


def n5(container: str):
    """Returns an N5 container as a store; zarr-python 3 needs zarr-n5."""
    if IS_2:
        return zarr.N5Store(container)
    import zarr_n5

    folder = zarr.storage.LocalStore(container, read_only=True)
    return zarr_n5.ImplicitGroupWrapperStore(zarr_n5.N5WrapperStore(folder))


def references(file: str):
    """Returns references as a store. fsspec resolves relative targets in the working directory."""
    import fsspec

    os.chdir(Path(file).parent)
    if IS_2:
        return fsspec.filesystem("reference", fo=file, remote_protocol="file").get_mapper("")
    files = fsspec.filesystem("reference", fo=file, remote_protocol="file", asynchronous=True)
    return zarr.storage.FsspecStore(files, read_only=True)


def register_codecs() -> None:
    """Makes the codecs of imagecodecs and zarr-n5 known, where they are installed."""
    if find_spec("imagecodecs"):
        import imagecodecs.numcodecs

        imagecodecs.numcodecs.register_codecs(verbose=False)
    if find_spec("imagecodecs") and not IS_2:
        import imagecodecs.zarr

        imagecodecs.zarr.register_codecs(verbose=False)
    if find_spec("zarr_n5"):
        import zarr_n5


store, path, out = sys.argv[1:]
register_codecs()
# fsspec takes the keys of v3 for chunks.
options = {} if IS_2 or Path(store).suffix not in (".json", ".parq") else {"zarr_format": 2}
array = zarr.open_array(opened(store), path=path.strip("/"), mode="r", **options)
# A single text would become an array of a fixed-length type.
elements = np.asarray(array[...], dtype=object if array.dtype.kind in "OT" else None)
if store.endswith(".n5") and IS_2:
    # `N5Store` reverses the dimensions of N5.
    elements = elements.T
Path(out).write_bytes(raw_bytes(objects_as_text(elements)))
