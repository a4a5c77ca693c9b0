"""Errors have the classes that Python programs catch, and the text of the engine."""

import asyncio
import contextlib
import http.server
import multiprocessing
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numcodecs.abc
import numcodecs.registry
import numpy as np
import obstore.store
import pytest

import zarr_kit
from zarr_kit import _engine, errors


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (errors.NodeNotFoundError, KeyError),
        (errors.NodeNotFoundError, FileNotFoundError),
        (errors.NodeExistsError, FileExistsError),
        (errors.WrongKindError, TypeError),
        (errors.SelectionError, IndexError),
        (errors.ElementsError, TypeError),
        (errors.StorePermissionError, PermissionError),
        (errors.ReadOnlyError, PermissionError),
        (errors.OutOfMemoryError, MemoryError),
        (errors.StoreTimeoutError, TimeoutError),
    ],
)
def test_a_class_derives_from_what_programs_catch(error: type[Exception], base: type[Exception]) -> None:
    assert issubclass(error, base)
    assert issubclass(error, zarr_kit.ZarrError)
    assert str(error("there is 'one'")) == "there is 'one'"


def test_a_missing_hierarchy_and_a_missing_node_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.NodeNotFoundError, match="no Zarr hierarchy"):
        zarr_kit.open(tmp_path)
    group = zarr_kit.create_group(tmp_path)
    with pytest.raises(KeyError, match="there is no node at /a"):
        group["a"]
    with pytest.raises(errors.NodeNotFoundError, match="there is no node at /a"):
        zarr_kit.open(tmp_path, "a")


def test_a_node_of_the_other_kind_is_a_type_error(tmp_path: Path) -> None:
    zarr_kit.create_group(tmp_path)
    with pytest.raises(errors.WrongKindError, match="group"):
        zarr_kit.open_array(tmp_path, mode="r")


def test_the_error_lists_unknown_metadata(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
    document = tmp_path / "zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"example.unknown"'))
    with pytest.raises(errors.NotUnderstoodError, match=r"example\.unknown"):
        zarr_kit.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("imagecodecs_pglz", "codec `imagecodecs_pglz` is unknown; Python package imagecodecs "),
        ("zarrs.test_unbounded", "codec `zarrs.test_unbounded` is unknown; crate zarrs "),
        ("hcc-dct", "codec `hcc-dct` is unknown; Python package healpix-compress "),
    ],
)
def test_the_error_names_what_provides_a_codec(tmp_path: Path, name: str, provider: str) -> None:
    zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
    document = tmp_path / "zarr.json"
    document.write_text(document.read_text().replace('"zstd"', f'"{name}"'))
    with pytest.raises(errors.NotUnderstoodError, match=re.escape(provider)):
        zarr_kit.open(tmp_path)


def test_the_error_names_what_provides_a_store() -> None:
    with pytest.raises(zarr_kit.ZarrError, match=r"the store for `sftp:` is unknown; Python package fsspec "):
        zarr_kit.open("sftp://host/a")
    with pytest.raises(zarr_kit.ZarrError, match=r"the step `ocdbt:` is unknown; Python package tensorstore "):
        zarr_kit.open("memory:|ocdbt:a")


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path, data=np.arange(4, dtype="i4"), chunks=(2,))
    (tmp_path / "c" / "1").write_bytes(b"damaged")
    assert array[:2].tolist() == [0, 1]
    with pytest.raises(errors.DamagedError, match=r"chunk \[1\].*zstd"):
        array[...]
    with pytest.raises(ValueError, match="chunk"):
        array.read(out=np.zeros(4, dtype="i4"))


def test_tolerated_documents_cause_a_warning_or_an_error_in_strict_mode(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
    document = tmp_path / "zarr.json"
    document.write_text(document.read_text().replace('"endian": "little"', ""))
    with pytest.warns(zarr_kit.ZarrWarning, match="endian") as warned:
        zarr_kit.open(tmp_path)
    assert warned[0].filename == __file__
    with pytest.raises(zarr_kit.ZarrError, match="endian"):
        zarr_kit.open(tmp_path, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(zarr_kit.ZarrWarning):
            zarr_kit.open(tmp_path)


def test_the_number_of_threads_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(4))
    with pytest.raises(ValueError, match="threads"):
        zarr_kit.open(tmp_path, threads=0)
    monkeypatch.setenv("ZARR_KIT_THREADS", "many")
    with pytest.raises(ValueError, match="ZARR_KIT_THREADS"):
        zarr_kit.open(tmp_path)
    monkeypatch.setenv("ZARR_KIT_THREADS", "3")
    assert zarr_kit.open(tmp_path)._hierarchy.engine.threads == 3
    assert zarr_kit.open(tmp_path, threads=1)._hierarchy.engine.threads == 1


@pytest.mark.filterwarnings("ignore::zarr_kit.ZarrWarning")
def test_arguments_out_of_range_never_cause_a_panic(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path / "a", data=np.arange(12, dtype="u2").reshape(3, 4), chunks=(2, 2))
    words = zarr_kit.create_array(tmp_path / "b", data=np.array(["x", "y"], dtype="T"))
    node = array._engine
    hierarchy = array._hierarchy.engine
    most = 2**64 - 1
    progress = _engine.Progress()
    numbers = [0, 1, 5, 2**31, 2**63, most, -1]
    keys: list[Any] = [(a, b) for a in numbers for b in numbers]
    keys += [((0, a, 1), (b, c, d)) for a in numbers for b in (0, 3, most) for c in (2, most) for d in (0, 1, most)]
    keys += [[np.array([a], "u8"), np.array([b], "u8")] for a in numbers[:6] for b in numbers[:6]]
    keys += [(), [], (1,), (1, 1, 1), [np.array([1], "u8")], [np.array([1, 2], "u8"), np.array([1], "u8")]]
    data = np.zeros(12, "u1")
    calls: list[Callable[[], object]] = []
    for key in keys:
        calls += [
            lambda key=key: node.read(key),  # type: ignore[misc]
            lambda key=key: node.read_many([key]),  # type: ignore[misc]
            lambda key=key: node.read_into(key, data),  # type: ignore[misc]
            lambda key=key: node.write(key, data),  # type: ignore[misc]
            lambda key=key: words._engine.read_list(key),  # type: ignore[misc]
            lambda key=key: words._engine.write_list(key, ["z"]),  # type: ignore[misc]
        ]
    for number in numbers:
        calls += [
            lambda number=number: node.chunk_ranges([number, 0]),  # type: ignore[misc]
            lambda number=number: node.append(number, data, progress),  # type: ignore[misc]
            lambda number=number: node.read_element((number, number)),  # type: ignore[misc]
            lambda number=number: node.resize([number], progress),  # type: ignore[misc]
        ]
    for text in ["", "/", "//", "/a/../b", "\0", "é" * 300, "{", "[]", '{"shape": [-1]}', '{"shape": [1e400]}']:
        calls += [
            lambda text=text: hierarchy.array(text),  # type: ignore[misc]
            lambda text=text: hierarchy.kind(text),  # type: ignore[misc]
            lambda text=text: hierarchy.create_arrays([("/c", text, None)]),  # type: ignore[misc]
            lambda text=text: _engine.ChunkCoder.open(text, "v3", False, None),  # type: ignore[misc]
            lambda text=text: zarr_kit.open(tmp_path / "a", text),  # type: ignore[misc]
            lambda text=text: zarr_kit.copy(tmp_path / "a", tmp_path / "copy", path=text),  # type: ignore[misc]
        ]
    for call in calls:
        # `PanicException` derives only from `BaseException`, so that it would end this test, too.
        try:
            call()
        except errors.InternalError:
            raise
        except Exception as error:  # noqa: BLE001 - any other error is an answer
            assert str(error)
    assert zarr_kit.open_array(tmp_path / "a", mode="r").ndim == 2


class Panicking(numcodecs.abc.Codec):  # type: ignore[misc]
    """A codec that raises the exception that stands for a panic of Rust code. PyO3 continues the panic."""

    codec_id = "panicking"
    panic: type[BaseException] = BaseException

    def encode(self, buf: Any) -> bytes:
        return bytes(buf)

    def decode(self, buf: Any, out: Any = None) -> bytes:
        raise Panicking.panic("the codec panics")


@pytest.mark.parametrize("count", [1, 300])
def test_a_panic_is_an_internal_error(count: int) -> None:
    # Each extension that is built with PyO3 has such a class, as soon as it has received an exception.
    with pytest.raises(errors.NotUnderstoodError):
        zarr_kit.create_array("memory:", shape=1, dtype="nothing")
    panics = [kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"]
    numcodecs.registry.register_codec(Panicking)
    zarr_kit.use_numcodecs("panicking")
    array = zarr_kit.create_array(
        "memory:", data=np.zeros(count, "u1"), chunks=1, compressors="panicking", fill_value=1
    )
    reads: list[Callable[[], object]] = [
        lambda: array[...],
        lambda: array[0],
        lambda: array.read(out=np.empty(count, "u1"), progress=lambda done, planned: None),
        lambda: asyncio.run(array.read_async()),
    ]
    for read in reads:
        kinds = []
        for Panicking.panic in panics:
            with pytest.raises((errors.InternalError, errors.PluginError), match="the codec panics") as raised:
                read()
            kinds.append(raised.type)
            assert ("please report it" in str(raised.value)) is (raised.type is errors.InternalError)
        assert kinds.count(errors.InternalError) == 1
    # The array can still be used.
    array[...] = 1
    assert (array[...] == 1).all()


class Server(http.server.BaseHTTPRequestHandler):
    """Responds with the status in the first part of the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def responded(url: str, status: int) -> None:
    zarr_kit.open({"type": "http", "url": f"{url}/{status}", "retry-seconds": 0})


def in_memory(**arguments: Any) -> zarr_kit.Array:
    return zarr_kit.create_array("memory:", **{"shape": 4, "dtype": "i4", "chunks": 2, **arguments})


def not_understood(folder: Path) -> None:
    array = zarr_kit.create_array(folder / "a", data=[1])
    document = folder / "a/zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"example.unknown"'))
    zarr_kit.open(array.location)


def undefined(folder: Path) -> None:
    zarr_kit.create_array(folder, name="a", shape=4, dtype="i4", zarr_format="v3-draft")
    [document] = folder.rglob("a.array*")
    document.write_text(re.sub('"fill_value": *0', '"fill_value": null', document.read_text()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr_kit.ZarrWarning)
        array = zarr_kit.open_array(folder, path="a", mode="r")
    array[...]


def damaged(folder: Path) -> None:
    array = zarr_kit.create_array(folder / "a", data=[1])
    (folder / "a/c/0").write_bytes(b"damaged")
    array[0]


def changed_for_reading(folder: Path) -> None:
    zarr_kit.create_group(folder)
    zarr_kit.open(folder).attrs["a"] = 1


def cancelled(folder: Path) -> None:
    progress = _engine.Progress()
    progress.cancel()
    in_memory()._with_progress(progress)[...]


def of_a_codec(folder: Path, kind: type[BaseException]) -> None:
    numcodecs.registry.register_codec(Panicking)
    zarr_kit.use_numcodecs("panicking")
    Panicking.panic = kind
    in_memory(data=np.array([1], "u1"), shape=None, dtype=None, chunks=1, compressors="panicking")[0]


def of_a_panic(folder: Path) -> None:
    for kind in [kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"]:
        with contextlib.suppress(errors.PluginError):
            of_a_codec(folder, kind)


def read_after_a_fork(folder: Path) -> None:
    array = in_memory()
    receiving, sending = multiprocessing.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            array[0]
        except Exception as error:  # noqa: BLE001 - the other process raises it
            sending.send(error)
        os._exit(0)
    os.waitpid(child, 0)
    raise receiving.recv()


# How each class is raised, by calls that programs make, and a part of its message.
RAISED: dict[type[errors.ZarrError], list[tuple[Callable[[Path, str], object], str]]] = {
    errors.NodeNotFoundError: [
        (lambda folder, _: zarr_kit.open(folder), "no Zarr hierarchy"),
        (lambda _, url: responded(url, 404), "no Zarr hierarchy"),
    ],
    errors.NodeExistsError: [
        (lambda folder, _: [zarr_kit.create_group(folder) for _ in range(2)], "cannot create /"),
    ],
    errors.WrongKindError: [(lambda folder, _: (zarr_kit.create_group(folder), zarr_kit.open_array(folder)), "group")],
    errors.NotUnderstoodError: [(lambda folder, _: not_understood(folder), "example.unknown")],
    errors.InvalidInputError: [(lambda _, url: in_memory(chunks=(2, 2)), "chunks")],
    errors.SelectionError: [
        (lambda *_: in_memory()._engine.read((9,)), "9"),
        (lambda *_: in_memory()._engine.read(((0, 9, 1),)), "9"),
    ],
    errors.ElementsError: [(lambda *_: in_memory().append([[1]]), "shape")],
    errors.UndefinedFillValueError: [
        (lambda folder, _: undefined(folder), "fill value"),
    ],
    errors.NotSupportedError: [(lambda *_: zarr_kit.open(obstore.store.MemoryStore()), "MemoryStore")],
    errors.DamagedError: [(lambda folder, _: damaged(folder), "zstd")],
    errors.OutOfMemoryError: [
        (lambda *_: in_memory(shape=2**61, chunks=2**20)[...], "bytes"),
        (lambda *_: in_memory(shape=2**50, chunks=2**20)[...], "bytes"),
    ],
    errors.StoreError: [(lambda _, url: responded(url, 500), "500")],
    errors.StorePermissionError: [
        (lambda _, url: responded(url, 403), "403"),
        (lambda _, url: responded(url, 401), "401"),
    ],
    errors.StoreTimeoutError: [
        (lambda _, url: responded(url, 504), "504"),
        (lambda _, url: responded(url, 408), "408"),
    ],
    errors.ReadOnlyError: [
        (lambda folder, _: changed_for_reading(folder), "mode"),
    ],
    errors.PluginError: [(lambda folder, _: of_a_codec(folder, ValueError), "panicking of numcodecs")],
    errors.CopyError: [(lambda folder, _: zarr_kit.copy(folder / "a", folder / "b"), "a")],
    errors.CancelledError: [(lambda folder, _: cancelled(folder), "cancel")],
    errors.InternalError: [(lambda folder, _: of_a_panic(folder), "please report it")],
    errors.ForkedError: [(lambda folder, _: read_after_a_fork(folder), "forked")],
}


@pytest.mark.parametrize(
    ("error", "number"), [(error, number) for error, calls in RAISED.items() for number in range(len(calls))]
)
def test_each_class_is_raised_by_a_call(
    tmp_path: Path, server: str, error: type[errors.ZarrError], number: int
) -> None:
    call, part = RAISED[error][number]
    with pytest.raises(errors.ZarrError) as raised:
        call(tmp_path, server)
    assert raised.type is error
    assert part in str(raised.value)


def test_the_table_has_all_classes() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ZarrError)}
    assert set(RAISED) == kinds - {errors.ZarrError}
