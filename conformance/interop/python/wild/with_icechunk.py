"""A repository of Icechunk with two commits."""

import icechunk
import numpy as np
import zarr

ABOUT = "A repository with two commits: native chunks, chunks in manifests, and a missing chunk."
PACKAGES = ["icechunk", "zarr"]


def write(index) -> None:
    store = "repository.icechunk"
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(index.path(store)))
    session = repository.writable_session("main")
    group = zarr.create_group(session.store)
    numbers = group.create_array("g/numbers", shape=(20, 30), chunks=(10, 10), dtype="f8", fill_value=-1)
    numbers[:10] = np.sqrt(np.arange(300)).reshape(10, 30)
    group.create_array("small", shape=(3,), chunks=(3,), dtype="i4")[...] = [1, 2, 3]
    session.commit("arrays")
    session = repository.writable_session("main")
    zarr.open_group(session.store)["small"][1] = 20
    session.commit("a change")
    read = zarr.open_group(repository.readonly_session("main").store, mode="r")
    assert read["small"][...].tolist() == [1, 20, 3]
    index.expect_all(f"icechunk:{store}", read)
