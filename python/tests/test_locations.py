"""Stores of other packages as locations."""

import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import obstore.store
import pytest
import zarr

import zarr_kit
from zarr_kit import errors
from zarr_kit._location import store_location


def described(store: Any, options: dict[str, Any] | None = None) -> Any:
    return json.loads(store_location(store, options))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    zarr_kit.create_array(tmp_path / "a.zarr", data=np.arange(6), compressors=None)
    return tmp_path / "a.zarr"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_local_stores_of_other_packages_are_folders(stored: Path) -> None:
    for store in (
        obstore.store.LocalStore(str(stored)),
        fsspec.get_mapper(str(stored)),
        fsspec.get_mapper(f"file://{stored}"),
        fsspec.filesystem("dir", path=str(stored), fs=fsspec.filesystem("file")),
        zarr.storage.LocalStore(stored),
        zarr.storage.ObjectStore(obstore.store.LocalStore(str(stored))),
    ):
        array = zarr_kit.open_array(store, mode="r+")
        array[0] += 1
    assert array[...].tolist() == [6, 1, 2, 3, 4, 5]


def test_a_store_on_a_server_is_opened_again(stored: Path, server: str) -> None:
    url = f"{server}/a.zarr"
    for store in (
        obstore.store.HTTPStore(url, client_options={"allow_http": True}),
        fsspec.get_mapper(url),
        zarr.storage.FsspecStore.from_url(url, read_only=True),
    ):
        assert zarr_kit.open_array(store, mode="r")[...].tolist() == [0, 1, 2, 3, 4, 5]
    assert stored.exists()


def test_settings_of_obstore_become_options_of_our_stores() -> None:
    s3 = obstore.store.S3Store(
        "bucket",
        prefix="a/b",
        region="eu-west-1",
        endpoint="http://localhost:9000",
        skip_signature=True,
        client_options={"allow_http": True},
    )
    assert described(s3) == {
        "type": "s3",
        "url": "s3://bucket/a/b",
        "region": "eu-west-1",
        "endpoint": "http://localhost:9000",
        "anonymous": True,
    }
    gs = obstore.store.GCSStore("bucket", skip_signature=True)
    assert described(gs) == {"type": "gs", "url": "gs://bucket", "anonymous": True}
    az = obstore.store.AzureStore("data", account_name="me", prefix="x", skip_signature=True)
    assert described(az) == {"type": "az", "url": "az://data/x", "account": "me", "anonymous": True}


def test_settings_that_cannot_be_taken_over_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    store = obstore.store.S3Store
    for refused, name in (
        (store("b", access_key_id="k", secret_access_key="s"), "AWS_ACCESS_KEY_ID"),
        (store("b", virtual_hosted_style_request=True), "virtual_hosted_style_request"),
        (store("b", client_options={"timeout": "5s"}), "timeout"),
        (store("b", retry_config={"max_retries": 2}), "retry_config"),
        (store("b", credential_provider=lambda: None), "credential_provider"),  # type: ignore[arg-type]
        (obstore.store.MemoryStore(), "MemoryStore"),
        (fsspec.get_mapper("memory://a"), "memory"),
        (fsspec.get_mapper("http://localhost/a", client_kwargs={"timeout": 3}), "client_kwargs"),
    ):
        with pytest.raises(errors.NotSupportedError, match=name):
            zarr_kit.open(refused)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert described(store("b", access_key_id="k", secret_access_key="s")) == {"type": "s3", "url": "s3://b"}
    with pytest.raises(errors.InvalidInputError, match="get_mapper"):
        zarr_kit.open(fsspec.filesystem("file"))
    with pytest.raises(errors.InvalidInputError, match="builtins.int is not a location"):
        zarr_kit.open(5)


def test_options_of_fsspec_are_translated() -> None:
    options = {"anon": True, "client_kwargs": {"endpoint_url": "http://localhost:9000", "region_name": "r"}}
    assert described("s3://bucket/a", options) == {
        "type": "s3",
        "url": "s3://bucket/a",
        "anonymous": True,
        "endpoint": "http://localhost:9000",
        "region": "r",
    }
    assert described("gcs://bucket/a", {"token": "anon"}) == {"type": "gs", "url": "gcs://bucket/a", "anonymous": True}
    with pytest.raises(errors.NotSupportedError, match="AWS_SECRET_ACCESS_KEY"):
        zarr_kit.open("s3://bucket/a", storage_options={"secret": "x"})
    with pytest.raises(errors.InvalidInputError, match="speed"):
        zarr_kit.open("s3://bucket/a", storage_options={"speed": 9})
    with pytest.raises(errors.InvalidInputError, match="chain of fsspec"):
        zarr_kit.open("simplecache::s3://bucket/a")
