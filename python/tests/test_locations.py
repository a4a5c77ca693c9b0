"""Stores of other packages as locations."""

import http.server
import json
import pickle
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import obstore.store
import pytest
import xarray as xr
import zarr
from held_bucket import HeldBucket, held_bucket

import zarr_kit
from zarr_kit import errors
from zarr_kit._credentials import CredentialSource
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


class Bucket:
    """A server of the files in a folder as the objects of a bucket, and the key IDs that sign the requests."""

    def __init__(self, folder: Path) -> None:
        signers: list[str] = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                _, _, signed = self.headers.get("Authorization", "").partition("Credential=")
                signers.append(signed.partition("/")[0])
                super().do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        self.signers = signers
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))

    def store(self, credential_provider: Any) -> obstore.store.S3Store:
        return obstore.store.S3Store(
            "bucket",
            prefix="a.zarr",
            region="eu-west-1",
            endpoint=f"http://127.0.0.1:{self.server.server_port}",
            client_options={"allow_http": True},
            credential_provider=credential_provider,
        )


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    zarr_kit.create_array(tmp_path / "bucket/a.zarr", data=np.arange(6), chunks=(2,), compressors=None)
    bucket = Bucket(tmp_path)
    threading.Thread(target=bucket.server.serve_forever, daemon=True).start()
    yield bucket
    bucket.server.shutdown()
    bucket.server.server_close()


CALLS: list[str] = []


def keys(expires_at: datetime | None) -> dict[str, Any]:
    CALLS.append(f"key{len(CALLS)}")
    return {"access_key_id": CALLS[-1], "secret_access_key": "secret", "token": None, "expires_at": expires_at}


def lasting() -> dict[str, Any]:
    return keys(None)


async def expiring() -> dict[str, Any]:
    return keys(datetime.now(UTC) + timedelta(seconds=30))


def test_a_credential_provider_is_called_once_if_its_credentials_last(bucket: Bucket) -> None:
    CALLS.clear()
    array = zarr_kit.open_array(bucket.store(lasting), mode="r")
    assert array[...].tolist() == list(range(6))
    assert set(bucket.signers) == {"key0"} == set(CALLS)


def test_credentials_that_expire_are_requested_again(bucket: Bucket) -> None:
    CALLS.clear()
    array = zarr_kit.open_array(zarr.storage.ObjectStore(bucket.store(expiring), read_only=True), mode="r")
    opened = len(CALLS)
    assert array[...].tolist() == list(range(6))
    assert len(CALLS) > opened
    assert set(bucket.signers) <= set(CALLS)
    assert len(set(bucket.signers)) > 1


def test_a_node_is_pickled_with_its_credential_provider(bucket: Bucket) -> None:
    CALLS.clear()
    array = zarr_kit.open_array(bucket.store(lasting), mode="r")
    again = pickle.loads(pickle.dumps(array))
    assert again[2:4].tolist() == [2, 3]
    assert set(bucket.signers) == {"key0", "key1"}
    with pytest.raises(AttributeError, match="lambda"):
        pickle.dumps(zarr_kit.open_array(bucket.store(lambda: keys(None)), mode="r"))


def test_the_error_of_a_credential_provider_is_that_of_the_call(bucket: Bucket) -> None:
    def failing() -> dict[str, Any]:
        raise RuntimeError("the vault is closed")

    with pytest.raises(zarr_kit.ZarrError, match="RuntimeError: the vault is closed"):
        zarr_kit.open_array(bucket.store(failing), mode="r")
    with pytest.raises(zarr_kit.ZarrError, match="returned expires_at, nothing"):
        zarr_kit.open_array(bucket.store(lambda: {"nothing": 1, "expires_at": None}), mode="r")
    with pytest.raises(zarr_kit.ZarrError, match=r"credentials Token\(.*\) cannot be used with S3"):
        zarr_kit.open_array(bucket.store(lambda: {"token": "x", "expires_at": None}), mode="r")
    assert bucket.signers == []
    with pytest.raises(errors.CopyError, match="RuntimeError: the vault is closed") as raised:
        zarr_kit.copy(bucket.store(failing), "copy.zarr")
    assert "python-credentials" not in str(raised.value)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ({"access_key": "QQ=="}, ("account_key", [("key", "QQ==")])),
        ({"sas_token": "?sv=1&sig=a%2Fb"}, ("signature", [("sv", "1"), ("sig", "a/b")])),
        ({"sas_token": [("sv", "1")]}, ("signature", [("sv", "1")])),
        ({"token": "t"}, ("token", [("token", "t")])),
        (
            {"access_key_id": "i", "secret_access_key": "s", "token": "t"},
            ("keys", [("id", "i"), ("secret", "s"), ("token", "t")]),
        ),
    ],
)
def test_credentials_of_each_service_have_their_kind(returned: dict[str, Any], expected: Any) -> None:
    assert CredentialSource(lambda: {**returned, "expires_at": None})() == expected


@pytest.fixture
def held() -> Iterator[HeldBucket]:
    with held_bucket() as bucket:
        yield bucket


@pytest.mark.filterwarnings("ignore:.*does not have conditional writes")
def test_options_of_a_url_reach_the_bucket(held: HeldBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint and the region come only from the options."""
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ALLOW_HTTP"):
        monkeypatch.delenv(name)
    ours: dict[str, Any] = {"endpoint": held.endpoint, "region": "us-east-1"}
    fsspecs = {
        "key": "known",
        "secret": "secret",
        "endpoint_url": held.endpoint,
        "client_kwargs": {"region_name": "us-east-1"},
    }
    for number, options in enumerate([ours, fsspecs]):
        url = f"{held.url}/{number}.zarr"
        array = zarr_kit.create_array(url, data=np.arange(6), chunks=2, storage_options=options)
        array[1] = 9
        group = zarr_kit.open_group(url + "-group", mode="w", storage_options=options)
        group.create_array("a", data=[1, 2])
        zarr_kit.consolidate(url + "-group", storage_options=options)
        assert zarr_kit.open_array(url, mode="r", storage_options=options)[...].tolist() == [0, 9, 2, 3, 4, 5]
        assert zarr_kit.digest(url, storage_options=options) == zarr_kit.digest(url, storage_options=ours)
        opened = xr.open_dataset(url + "-group", engine="zarr-kit", storage_options=options, drop_variables="a")
        assert not opened.variables
    assert any(request.startswith("PUT") and "0.zarr/c/" in request for request in held.requests)


def test_conditional_writes_may_be_required(tmp_path: Path) -> None:
    """A folder without locks does not have conditional writes."""
    folder = {"type": "filesystem", "path": str(tmp_path), "locking": "none"}
    zarr_kit.create_array(folder, data=np.arange(6), chunks=2)
    required = {**folder, "conditional": "require"}
    for location in (required, {"type": "statistics", "store": required}):
        array = zarr_kit.open_array(location, mode="r+")
        array[:2] = 7
        for opened in (array, pickle.loads(pickle.dumps(array))):
            with pytest.raises(errors.NotSupportedError, match="not have conditional writes, which are required"):
                opened[2] = 7
        assert array[...].tolist() == [7, 7, 2, 3, 4, 5]
    with pytest.raises(errors.InvalidInputError, match='`conditional` is "never"'):
        zarr_kit.open({**folder, "conditional": "never"})
    assert described("s3://bucket/a", {"conditional": "require"})["conditional"] == "require"


@pytest.mark.parametrize("scheme", ["s3", "s3a", "S3"])
def test_schemes_that_fsspec_knows_are_the_same_bucket(held: HeldBucket, scheme: str) -> None:
    url = f"{scheme}://{held.name}/a.zarr"
    zarr_kit.create_array(url, data=[1, 2])
    for options in (None, {"region": "us-east-1"}):
        assert zarr_kit.open_array(url, mode="r", storage_options=options)[...].tolist() == [1, 2]
    assert zarr_kit.open_array(f"{held.url}/a.zarr", mode="r")[0] == 1


@pytest.mark.parametrize(
    ("url", "options", "expected"),
    [
        ("s3a://bucket/a", {"anon": True}, {"type": "s3", "anonymous": True}),
        ("gs://bucket/a", {"token": "anon"}, {"type": "gs", "anonymous": True}),
        ("gcs://bucket/a", {"token": "google_default"}, {"type": "gs", "anonymous": False}),
        ("az://data/a", {"account_name": "me", "anon": True}, {"type": "az", "account": "me", "anonymous": True}),
        ("abfs://data/a", {"account_name": "me"}, {"type": "az", "account": "me"}),
        ("abfss://data@me.dfs.core.windows.net/a", {"anon": True}, {"type": "az", "anonymous": True}),
        ("https://host/a", {}, None),
    ],
)
def test_each_scheme_of_fsspec_has_a_store(url: str, options: dict[str, Any], expected: Any) -> None:
    if expected is None:
        assert store_location(url, options) == url
    else:
        assert described(url, options) == {**expected, "url": url}


@pytest.mark.filterwarnings("ignore:.*does not have conditional writes")
def test_a_store_with_a_credential_provider_is_written(held: HeldBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    CALLS.clear()
    provider: Any = expiring
    store: Any = obstore.store.S3Store(
        held.name,
        prefix="a.zarr",
        region="us-east-1",
        endpoint=held.endpoint,
        client_options={"allow_http": True},
        credential_provider=provider,
    )
    group = zarr_kit.create_group(store, attributes={"a": 1})
    array = group.create_array("x", data=np.arange(20), chunks=2, shards=4, dimension_names=["i"])
    array[3:9] = 7
    array.append([5, 6])
    group.attrs["b"] = 2
    zarr_kit.consolidate(store)
    # Each request asks for credentials, because these expire soon.
    assert len(CALLS) > 10
    read: Any = zarr_kit.open(store)
    expected = [*range(3), *[7] * 6, *range(9, 20), 5, 6]
    assert read["x"][...].tolist() == expected
    assert read.attrs.asdict() == {"a": 1, "b": 2}
    assert read.is_consolidated
    # xarray opens the same store, lazily and with Dask.
    choices: list[Any] = [None, {}]
    for chunks in choices:
        opened = xr.open_dataset(store, engine="zarr-kit", chunks=chunks)
        assert opened["x"].values.tolist() == expected


@pytest.mark.filterwarnings("ignore:.*does not have conditional writes")
def test_a_copy_calls_the_credential_providers(
    held: HeldBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zarr_kit.create_array(f"{held.url}/a.zarr", data=np.arange(6), chunks=2)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    called: list[str] = []

    def provider(name: str) -> dict[str, Any]:
        called.append(name)
        return keys(None)

    def failing() -> dict[str, Any]:
        raise RuntimeError("the vault is closed")

    def store(prefix: str, credentials: Any) -> obstore.store.S3Store:
        options: dict[str, Any] = {"region": "us-east-1", "endpoint": held.endpoint}
        options["client_options"] = {"allow_http": True}
        return obstore.store.S3Store(held.name, prefix=prefix, credential_provider=credentials, **options)

    source = store("a.zarr", partial(provider, "source"))
    zarr_kit.copy(source, tmp_path / "a.zarr", chunks=(3,))
    # One source of credentials serves the whole copy.
    assert called == ["source"]
    zarr_kit.copy(zarr_kit.open_array(source, mode="r"), tmp_path / "b.zarr")
    # The source and the destination have different credentials.
    called.clear()
    destination = store("c.zarr", partial(provider, "destination"))
    zarr_kit.copy(source, destination)
    assert sorted(called) == ["destination", "source"]
    for location in (tmp_path / "a.zarr", tmp_path / "b.zarr", destination):
        assert zarr_kit.open_array(location, mode="r")[...].tolist() == list(range(6))
    for first, second in [
        (source, destination),
        (source, store("d.zarr", failing)),
        (store("a.zarr", failing), tmp_path / "e"),
    ]:
        with pytest.raises(errors.CopyError, match="overwrite|vault is closed") as raised:
            zarr_kit.copy(first, second)
        assert "python-credentials" not in str(raised.value)
    # The description is valid only during a copy.
    with pytest.raises(zarr_kit.ZarrError, match="python-credentials"):
        zarr_kit.open({"type": "python-credentials", "number": 0})


def test_xarray_opens_stores_of_other_packages(stored: Path) -> None:
    folder = stored.parent / "d.zarr"
    xr.Dataset({"a": ("x", np.arange(4.0))}, attrs={"title": "t"}).to_zarr(folder, consolidated=False)
    expected = xr.open_dataset(folder, engine="zarr", consolidated=False)
    stores: list[Any] = [
        obstore.store.LocalStore(str(folder)),
        fsspec.get_mapper(str(folder)),
        zarr.storage.LocalStore(folder),
        zarr.storage.ObjectStore(obstore.store.LocalStore(str(folder))),
    ]
    for store in stores:
        xr.testing.assert_identical(xr.open_dataset(store, engine="zarr-kit"), expected)
        xr.testing.assert_identical(xr.open_dataset(store, engine="zarr-kit", chunks={}).load(), expected)
        xr.testing.assert_identical(xr.open_datatree(store, engine="zarr-kit").to_dataset(), expected)
    with pytest.raises(errors.InvalidInputError, match="builtins.int is not a location"):
        xr.open_dataset(5, engine="zarr-kit")  # type: ignore[arg-type]
