"""Writes and reads repositories with the Python package of Icechunk.

    repository.py write PATH [FORMAT]   two commits of `/a`: the first one has the tag `v1` and the branch `dev`
    repository.py change PATH           commits element 0 of `/a` as -1, and element 0 of the branch `dev` as -2
    repository.py virtual PATH FOLDER   commits an array `/v` whose chunk is a virtual one in FOLDER/data.bin
    repository.py virtual-s3 PATH URL   the same with a virtual chunk in s3://bench/virtual/data.bin on the server URL
    repository.py virtual-gs PATH [URL] the same in gs://bench/virtual/data.bin
    repository.py virtual-az PATH ACCOUNT [ENDPOINT]   the same in az://bench/virtual/data.bin
    repository.py read PATH VERSION     prints the elements of all arrays, and the messages of the commits, as JSON

`/a` has 4 elements of `int16` in chunks of 2. VERSION is `branch.NAME` or `tag.NAME`. `write` prints the id of the first
commit. PATH is a folder, or `OPTIONS|URL`: a URL of S3, Google Cloud Storage or Azure, and a JSON object with the endpoint
or the credentials of a server on this machine. FORMAT is the version of the format.
"""

import json
import sys
from pathlib import Path

import icechunk
import numpy as np
import zarr


def storage(path: str) -> icechunk.Storage:
    options, _, url = path.rpartition("|")
    if not options:
        return icechunk.local_filesystem_storage(path)
    options = json.loads(options)
    scheme, _, place = url.partition("://")
    bucket, _, prefix = place.partition("/")
    if scheme == "az":
        endpoint = {"azure_storage_endpoint": options["endpoint"], "allow_http": "true"}
        return icechunk.azure_storage(
            account=options["account"], container=bucket, prefix=prefix, access_key=options["key"], config=endpoint
        )
    if scheme == "gs":
        return icechunk.gcs_storage(bucket=bucket, prefix=prefix, service_account_file=options["account"])
    return icechunk.s3_storage(
        bucket=bucket,
        prefix=prefix,
        region="us-east-1",
        endpoint_url=options["endpoint"],
        allow_http=True,
        force_path_style=True,
        access_key_id="known",
        secret_access_key="verysecret",
    )


def opened(path: str) -> icechunk.Repository:
    return icechunk.Repository.open(storage(path))


def write(path: str, format_version: str = "2") -> None:
    repository = icechunk.Repository.create(storage(path), spec_version=int(format_version))
    session = repository.writable_session("main")
    array = zarr.create_group(session.store).create_array("a", shape=(4,), chunks=(2,), dtype="i2")
    array[:] = [1, 2, 3, 4]
    first = session.commit("first")
    repository.create_tag("v1", first)
    repository.create_branch("dev", first)
    session = repository.writable_session("main")
    zarr.open_group(session.store)["a"][:] = [5, 6, 7, 8]
    session.commit("second")
    print(json.dumps(first))


def change(path: str) -> None:
    for branch, value in [("main", -1), ("dev", -2)]:
        session = opened(path).writable_session(branch)
        zarr.open_group(session.store)["a"][0] = value
        session.commit("changed by Python")


def virtual(path: str, folder: str) -> None:
    np.arange(5, dtype="<i2").tofile(Path(folder) / "data.bin")
    write_virtual(path, f"file://{folder}/", icechunk.local_filesystem_store(folder))


def virtual_s3(path: str, url: str) -> None:
    server = icechunk.s3_store(
        region="us-east-1", endpoint_url=url, allow_http=True, anonymous=True, s3_compatible=True, force_path_style=True
    )
    write_virtual(path, "s3://bench/virtual/", server)


def virtual_gs(path: str, url: str | None = None) -> None:
    server = {} if url is None else {"google_base_url": url, "google_allow_http": "true"}
    write_virtual(path, "gs://bench/virtual/", icechunk.gcs_store(server))


def virtual_az(path: str, account: str, endpoint: str | None = None) -> None:
    server = {} if endpoint is None else {"azure_storage_endpoint": endpoint, "azure_allow_http": "true"}
    write_virtual(path, "az://bench/virtual/", icechunk.storage.azure_store(account=account, config=server))


def write_virtual(path: str, prefix: str, files) -> None:
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, files))
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(path), config)
    repository.save_config()
    session = repository.writable_session("main")
    group = zarr.open_group(session.store)
    group.create_array("v", shape=(3,), chunks=(3,), dtype="i2", compressors=None)
    session.store.set_virtual_ref("v/c/0", f"{prefix}data.bin", offset=2, length=6)
    session.commit("virtual")


def read(path: str, version: str) -> None:
    kind, name = version.split(".", 1)
    repository = opened(path)
    session = repository.readonly_session(**{kind: name})
    group = zarr.open_group(session.store, mode="r")
    arrays = {f"/{name}": array[...].tolist() for name, array in group.members(max_depth=None)
              if isinstance(array, zarr.Array)}
    messages = [snapshot.message for snapshot in repository.ancestry(**{kind: name})]
    print(json.dumps({"arrays": arrays, "messages": messages}))


if __name__ == "__main__":
    actions = {
        "write": write,
        "change": change,
        "virtual": virtual,
        "virtual-s3": virtual_s3,
        "virtual-gs": virtual_gs,
        "virtual-az": virtual_az,
        "read": read,
    }
    actions[sys.argv[1]](*sys.argv[2:])
