"""Every spelling of a location means the same to each function, and messages about wrong ones name the place."""

# fsspec has no annotations.
# mypy: allow-untyped-calls

import functools
import http.server
import json
import pickle
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
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

pytestmark = pytest.mark.filterwarnings("ignore:.*does not have conditional writes")

ELEMENTS = np.arange(24, dtype="i4").reshape(4, 6) * 5 - 7


class Places:
    """The same hierarchy in every store: below a folder, on a server of its files, and in a bucket."""

    def __init__(self, folder: Path, server: str, bucket: HeldBucket) -> None:
        self.folder = folder
        self.server = server
        self.bucket = bucket
        for zarr_format, name in ((3, "a.zarr"), (2, "v2.zarr"), ("v3-draft", "draft.zarr")):
            self._create(folder / name, zarr_format)
        for location in ("a.zip", "lmdb:a.lmdb", "redb:a.redb", "n5:a.n5"):
            scheme, _, file = location.rpartition(":")
            zarr_kit.copy(folder / "a.zarr", f"{scheme}:{folder / file}" if scheme else folder / file)
        zarr_kit.copy(folder / "a.zarr", f"{bucket.url}/data/a.zarr")
        zarr_kit.consolidate(folder / "v2.zarr")
        script = Path(sys.executable).with_name("zarrctl")
        subprocess.check_call([script, "references", folder / "v2.zarr", "-o", folder / "refs.json"])
        (folder / "empty.zarr").mkdir()
        (folder / "notes.txt").write_text("not a store")
        with zipfile.ZipFile(folder / "outer.zip", "w") as outer:
            outer.write(folder / "a.zip", "inner.zip")
            for path in (folder / "a.zarr").rglob("*"):
                outer.write(path, f"in a folder/{path.relative_to(folder)}")

    def _create(self, location: Path, zarr_format: Any) -> None:
        group = zarr_kit.create_group(location, zarr_format=zarr_format)
        attributes = {} if zarr_format == 3 else {"_ARRAY_DIMENSIONS": ["y", "x"]}
        names: Any = {"dimension_names": ["y", "x"]} if zarr_format == 3 else {}
        group.create_array("a", data=ELEMENTS, chunks=(2, 3), attributes=attributes, **names)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    folder = tmp_path_factory.mktemp("places")
    handler = partial(Handler, directory=folder)
    with held_bucket() as bucket, http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Places(folder, f"http://127.0.0.1:{server.server_port}", bucket)
        server.shutdown()


def read(location: Any) -> Any:
    """Return the elements of the array `/a`."""
    array: Any = zarr_kit.open(location, "a")
    return array[...]


type Spelling = Callable[[Places], Any]


def below(text: str) -> Spelling:
    """Return the spelling in which `@` stands for the folder."""
    return lambda places: text.replace("@", str(places.folder))


def described(description: dict[str, Any]) -> Spelling:
    """Return a description in which `@` stands for the folder."""
    return lambda places: json.loads(json.dumps(description).replace("@", str(places.folder)))


def obstore_bucket(places: Places) -> Any:
    return obstore.store.S3Store(
        places.bucket.name,
        prefix="data/a.zarr",
        region="us-east-1",
        endpoint=places.bucket.endpoint,
        client_options={"allow_http": True},
    )


IN_FOLDER = {"type": "filesystem", "path": "@/a.zarr"}
ABOVE: dict[str, Any] = {"type": "filesystem", "path": "@"}
SPELLINGS: dict[str, Spelling] = {
    # Folders.
    "path": below("@/a.zarr"),
    "path with a slash": below("@/a.zarr/"),
    "path object": lambda places: places.folder / "a.zarr",
    "URL of a folder": below("file://@/a.zarr"),
    "v2": below("@/v2.zarr"),
    "v3 draft": below("@/draft.zarr"),
    "description of a folder": described(IN_FOLDER),
    "JSON of a folder": lambda places: json.dumps(described(IN_FOLDER)(places)),
    "read only": described({"type": "read-only", "store": IN_FOLDER}),
    "prefix": described({"type": "prefix", "prefix": "a.zarr", "store": ABOVE}),
    "pipeline of a format": below("@/a.zarr|zarr3:"),
    "pipeline of any format": below("@/v2.zarr|zarr:"),
    "overlay": below("@/a.zarr|overlay:?changes=@/empty.zarr"),
    "description of an overlay": described({"type": "overlay", "store": {"type": "memory"}, "base": IN_FOLDER}),
    "cache": described({"type": "cache", "bytes": 1_000_000, "store": IN_FOLDER}),
    # Archives.
    "archive": below("@/a.zip"),
    "path object of an archive": lambda places: places.folder / "a.zip",
    "archive with a scheme": below("zip:@/a.zip"),
    "pipeline of an archive": below("@/a.zip|zip:"),
    "long pipeline of an archive": below("file://@/a.zip|zip:|zarr3:"),
    "description of an archive": described({"type": "zip", "path": "@/a.zip"}),
    "archive in an archive": below("@/outer.zip|zip:inner.zip|zip:"),
    "folder in an archive": below("@/outer.zip|zip:in%20a%20folder/a.zarr/|zarr3:"),
    # Databases and containers.
    "LMDB": below("lmdb:@/a.lmdb"),
    "pipeline of LMDB": below("@/a.lmdb|lmdb:"),
    "description of LMDB": described({"type": "lmdb", "path": "@/a.lmdb"}),
    "redb": below("redb:@/a.redb"),
    "redb by its contents": below("@/a.redb"),
    "pipeline of redb": below("@/a.redb|redb:"),
    "N5": below("n5:@/a.n5"),
    "pipeline of N5": below("@/a.n5|n5:"),
    "description of N5": described({"type": "n5", "store": {"type": "filesystem", "path": "@/a.n5"}}),
    "references": below("reference:@/refs.json"),
    "pipeline of references": below("@/refs.json|reference:|zarr2:"),
    "description of references": described({"type": "reference", "key": "refs.json", "store": ABOVE}),
    # Servers and buckets, whose settings are in the environment.
    "server": lambda places: f"{places.server}/v2.zarr",
    "archive on a server": lambda places: f"{places.server}/a.zip|zip:",
    "archive on a server with a scheme": lambda places: f"zip:{places.server}/a.zip",
    "mapping of a server": lambda places: fsspec.get_mapper(f"{places.server}/v2.zarr"),
    "bucket": lambda places: f"{places.bucket.url}/data/a.zarr",
    "description of a bucket": lambda places: {"type": "s3", "url": f"{places.bucket.url}/data/a.zarr"},
    "bucket of obstore": obstore_bucket,
    "bucket of zarr-python": lambda places: zarr.storage.ObjectStore(obstore_bucket(places)),
    # Local stores of other packages.
    "folder of obstore": lambda places: obstore.store.LocalStore(str(places.folder / "a.zarr")),
    "folder of zarr-python": lambda places: zarr.storage.LocalStore(places.folder / "a.zarr"),
    "mapping of a folder": lambda places: fsspec.get_mapper(str(places.folder / "a.zarr")),
}
# HTTP servers do not list, so their nodes are in consolidated metadata, and nothing else finds them.
NOT_LISTABLE = {"server", "mapping of a server"}
# Changes of these are lost, so they are neither copied nor passed to other processes.
IN_MEMORY = {"description of an overlay"}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_opened(places: Places, name: str) -> None:
    location = SPELLINGS[name](places)
    for group in (zarr_kit.open(location), zarr_kit.open_group(location, mode="r")):
        assert isinstance(group, zarr_kit.Group)
        [(name_of_array, found)] = group.arrays()
        assert name_of_array == "a"
        np.testing.assert_array_equal(found[...], ELEMENTS)
    array: Any = zarr_kit.open(location, "a")
    if name in IN_MEMORY:
        with pytest.raises(TypeError, match="store in memory cannot be pickled: copy it to a folder first"):
            pickle.dumps(array)
    else:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[1:3, 2], ELEMENTS[1:3, 2])


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_a_dataset(places: Places, name: str) -> None:
    location = SPELLINGS[name](places)
    choices: list[Any] = [None, {}]
    for chunks in choices:
        with xr.open_dataset(location, engine="zarr-kit", chunks=chunks) as dataset:
            assert dataset["a"].dims == ("y", "x")
            np.testing.assert_array_equal(dataset["a"].values, ELEMENTS)


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.filterwarnings("ignore:the copy loses some metadata")
def test_every_spelling_is_copied(places: Places, tmp_path: Path, name: str) -> None:
    location = SPELLINGS[name](places)
    if name in IN_MEMORY:
        with pytest.raises(zarr_kit.ZarrError, match="store in memory"):
            zarr_kit.copy(location, tmp_path / "copy.zarr")
        return
    # Without a listing, the nodes are those of the consolidated metadata.
    warned: Any = pytest.warns(zarr_kit.ZarrWarning, match="is not listable") if name in NOT_LISTABLE else nullcontext()
    with warned:
        zarr_kit.copy(location, tmp_path / "copy.zarr", zarr_format=3)
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path / "copy.zarr", path="a", mode="r")[...], ELEMENTS)


def test_the_options_of_a_url_select_its_server(places: Places, tmp_path: Path) -> None:
    options = {"endpoint_url": places.bucket.endpoint, "client_kwargs": {"region_name": "us-east-1"}}
    url = f"{places.bucket.url}/data/a.zarr"
    assert list(zarr_kit.open_group(url, mode="r", storage_options=options)) == ["a"]
    with xr.open_dataset(url, engine="zarr-kit", storage_options=options) as dataset:
        np.testing.assert_array_equal(dataset["a"].values, ELEMENTS)
    zarr_kit.copy(url, tmp_path / "copy.zarr", source_storage_options=options)
    zarr_kit.copy(tmp_path / "copy.zarr", f"{places.bucket.url}/again.zarr", storage_options=options)
    np.testing.assert_array_equal(read(f"{places.bucket.url}/again.zarr"), ELEMENTS)


# `@` is an empty folder.
DESTINATIONS: dict[str, str | dict[str, Any]] = {
    "path": "@/b.zarr",
    "URL of a folder": "file://@/b.zarr",
    "description of a folder": {"type": "filesystem", "path": "@/b.zarr"},
    "prefix": {"type": "prefix", "prefix": "b.zarr", "store": ABOVE},
    "archive": "@/b.zip",
    "archive with a scheme": "zip:@/b.zip",
    "description of an archive": {"type": "zip", "path": "@/b.zip"},
    "LMDB": "lmdb:@/b.lmdb",
    "redb": "redb:@/b.redb",
    "N5": "n5:@/b.n5",
    "bucket": "s3://BUCKET/b.zarr",
    "description of a bucket": {"type": "s3", "url": "s3://BUCKET/b.zarr"},
}


@pytest.mark.parametrize("name", DESTINATIONS)
def test_every_spelling_is_a_destination(places: Places, tmp_path: Path, name: str) -> None:
    text = json.dumps(DESTINATIONS[name]).replace("@", str(tmp_path)).replace("BUCKET", places.bucket.name)
    location = json.loads(text)
    zarr_kit.copy(places.folder / "a.zarr", location, overwrite=True)
    np.testing.assert_array_equal(read(location), ELEMENTS)


@pytest.mark.parametrize("package", ["obstore", "zarr-python", "fsspec"])
def test_stores_of_other_packages_are_destinations(places: Places, tmp_path: Path, package: str) -> None:
    folder = tmp_path / "b.zarr"
    folder.mkdir()
    store: Any = {
        "obstore": lambda: obstore.store.LocalStore(str(folder)),
        "zarr-python": lambda: zarr.storage.LocalStore(folder),
        "fsspec": lambda: fsspec.get_mapper(str(folder)),
    }[package]()
    zarr_kit.copy(places.folder / "a.zarr", store)
    np.testing.assert_array_equal(read(folder), ELEMENTS)


RELATIVE: list[Any] = [
    "a.zarr",
    "./a.zarr",
    Path("a.zarr"),
    "a.zarr|zarr3:",
    "a.zip",
    "a.zip|zip:",
    "outer.zip|zip:inner.zip|zip:",
    "zip:a.zip",
    "lmdb:a.lmdb",
    "redb:a.redb",
    "n5:a.n5",
    "reference:refs.json",
    {"type": "zip", "path": "a.zip"},
    '{"type": "filesystem", "path": "a.zarr"}',
    {"type": "prefix", "prefix": "a.zarr", "store": {"type": "filesystem", "path": "."}},
]


@pytest.mark.filterwarnings("ignore:the copy loses some metadata")
@pytest.mark.parametrize("location", RELATIVE, ids=str)
def test_relative_locations_are_those_of_the_first_folder(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: Any
) -> None:
    """A pickled node is opened in the folder of another process."""
    monkeypatch.chdir(places.folder)
    array: Any = zarr_kit.open(location, "a")
    with xr.open_dataset(location, engine="zarr-kit", chunks={}) as dataset:
        pickled = pickle.dumps((array, dataset))
    zarr_kit.copy(location, tmp_path / "copy.zarr", zarr_format=3)
    monkeypatch.chdir(tmp_path)
    again, dataset = pickle.loads(pickled)
    np.testing.assert_array_equal(again[...], ELEMENTS)
    np.testing.assert_array_equal(dataset["a"].values, ELEMENTS)
    np.testing.assert_array_equal(array[...], ELEMENTS)


@pytest.mark.parametrize("name", ["a b.zarr", "a%20b.zarr", "a#b?c.zarr", "ä.zarr", "data:b.zarr", "x|y.zarr"])
def test_paths_may_have_any_characters(places: Places, tmp_path: Path, name: str) -> None:
    """The absolute path, a path object, the URL of the path, and a relative path object."""
    folder = tmp_path / name
    shutil.copytree(places.folder / "a.zarr", folder)
    locations: list[Any] = [str(folder), folder, folder.as_uri(), {"type": "filesystem", "path": str(folder)}]
    for location in locations:
        np.testing.assert_array_equal(read(location), ELEMENTS)
        with xr.open_dataset(location, engine="zarr-kit") as dataset:
            np.testing.assert_array_equal(dataset["a"].values, ELEMENTS)


def test_a_path_object_is_never_a_url(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(places.folder / "a.zarr", "zip:b.zarr")
    np.testing.assert_array_equal(read(Path("zip:b.zarr")), ELEMENTS)
    with xr.open_dataset(Path("zip:b.zarr"), engine="zarr-kit") as dataset:
        np.testing.assert_array_equal(dataset["a"].values, ELEMENTS)
    for call in (zarr_kit.open, zarr_kit.create_group, partial(zarr_kit.copy, places.folder / "a.zarr")):
        with pytest.raises(errors.InvalidInputError, match=r"'s3:/bucket/b.zarr' .* such as 's3://bucket/b.zarr'"):
            call(Path("s3://bucket/b.zarr"))
    assert not Path("s3:").exists()


# Wrong locations, and parts of the message: the place, and what a correct location is.
WRONG: dict[str, tuple[Any, list[str]]] = {
    "no folder": ("@/none", ["@/none", "does not exist"]),
    "no folder of a URL": ("file://@/none", ["@/none", "does not exist"]),
    "no folder of a description": ({"type": "filesystem", "path": "@/none"}, ["@/none", "does not exist"]),
    "an empty folder": ("@/empty.zarr", ["@/empty.zarr", "the store is empty"]),
    "a file": ("@/notes.txt", ["@/notes.txt", "is a file", "the folder of a hierarchy or a zip archive"]),
    "no archive": ("zip:@/none.zip", ["@/none.zip", "does not exist"]),
    "not an archive": ("zip:@/notes.txt", ["@/notes.txt", "zip archive"]),
    "no database of LMDB": ("lmdb:@/none", ["@/none", "does not exist"]),
    "not a database of LMDB": ("lmdb:@/notes.txt", ["@/notes.txt"]),
    "no database of redb": ("redb:@/none", ["@/none", "does not exist"]),
    "not a database of redb": ("redb:@/notes.txt", ["@/notes.txt"]),
    "no container": ("n5:@/none", ["@/none", "does not exist"]),
    "no references": ("reference:@/none", ["@/none", "does not exist"]),
    "not references": ("reference:@/notes.txt", ["@/notes.txt"]),
    "another format": ("@/a.zarr|zarr2:", ["@/a.zarr"]),
    "no folder in an archive": ("@/a.zip|zip:none/|zarr3:", ["@/a.zip", "none"]),
    "no archive in an archive": ("@/outer.zip|zip:none.zip|zip:", ["@/outer.zip", "none.zip"]),
    "an unknown step": ("@/a.zip|none:", ["none", "zip"]),
    "an unknown option of a step": ("@/a.zip|zip:?none=1", ["none"]),
    "an unknown scheme": ("none://x/y", ["none://x/y", "expected one of", "`zip:`", "paths"]),
    "no bucket": ("s3://typo-of-a-bucket/a.zarr", ["typo-of-a-bucket"]),
    "no archive in a bucket": ("s3://BUCKET/none.zip|zip:", ["none.zip"]),
    "no server": ("http://127.0.0.1:9/a.zarr", ["127.0.0.1:9"]),
    "not on the server": ("SERVER/none.zarr", ["none.zarr"]),
    "an unknown type": ({"type": "zpi", "path": "@/a.zip"}, ["`zpi`", "did you mean `zip`?"]),
    "no type": ({"path": "@/a.zarr"}, ["`type` is missing", "`filesystem`"]),
    "no path": ({"type": "zip"}, ["a zip store needs either `path`, or `store` and `key`"]),
    "JSON that is cut off": ('{"type": "zip", ', ["column 17", 'a correct example is {"type": "zip", "path"']),
    "a number": (5, ["builtins.int is not a location", "expected a path, a URL"]),
    "nothing": (None, ["NoneType is not a location", "expected a path, a URL"]),
    "bytes": (b"a.zarr", ["builtins.bytes is not a location", "expected a path, a URL"]),
    "an empty text": ("", ["the location of the store is empty", "expected a path, a URL or a JSON description"]),
}


@pytest.mark.parametrize("call", ["open", "open_group", "open_dataset", "copy"])
@pytest.mark.parametrize("name", WRONG)
def test_a_message_about_a_wrong_location_names_it(places: Places, tmp_path: Path, name: str, call: str) -> None:
    spelled, parts = WRONG[name]

    def filled(text: str) -> str:
        names = {"@": str(places.folder), "BUCKET": places.bucket.name, "SERVER": places.server}
        return functools.reduce(lambda text, old: text.replace(old, names[old]), names, text)

    location = spelled if isinstance(spelled, (int, bytes)) else json.loads(filled(json.dumps(spelled)))
    calls: dict[str, Callable[[Any], Any]] = {
        "open": zarr_kit.open,
        "open_group": partial(zarr_kit.open_group, mode="r"),
        "open_dataset": partial(xr.open_dataset, engine="zarr-kit"),
        "copy": lambda location: zarr_kit.copy(location, tmp_path / "copy.zarr"),
    }
    with pytest.raises(zarr_kit.ZarrError) as raised:
        calls[call](location)
    for part in parts:
        assert filled(part) in str(raised.value)
    assert not (tmp_path / "copy.zarr").exists()
    assert not (places.folder / "none").exists()
