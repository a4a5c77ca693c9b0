"""Messages of copies name the arguments of Python, not the options of the command line."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors

# An option of the command line, such as `--overwrite`.
OPTION = re.compile(r"--[a-z]")

type Copy = Callable[..., None]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    """Return a function that copies the example. Locations are relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    group = zarr_kit.create_group("a.zarr", attributes={"title": "x"})
    data = np.arange(24).reshape(4, 6)
    group.create_array("t", data=data.astype("f4"), chunks=(2, 3), dimension_names=["y", "x"])
    group.create_array("u", data=data.astype("u1"), chunks=(2, 3), dimension_names=["y", "x"])
    group.create_array("s", data=data, chunks=(2, 3), shards=(4, 6), dimension_names=["y", "x"])

    def run(destination: str = "b.zarr", **options: Any) -> None:
        zarr_kit.copy("a.zarr", destination, **options)

    return run


BITROUND: Any = [{"name": "bitround", "configuration": {"keepbits": 1}}]
# Arguments of a copy, the class of the error, and its message.
REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no elements": ({"chunks": {"x": 0}}, errors.InvalidInputError, "chunks: `0` is not a number of elements"),
    "no elements of a shard": ({"shards": (0, 1)}, errors.InvalidInputError, "shards: `0` is not a number"),
    "chunks of text": ({"chunks": "x=3"}, errors.InvalidInputError, r'chunks=.x=3.: expected lengths.*"time": 10'),
    "chunks of a number": ({"chunks": 3}, errors.InvalidInputError, "chunks=3: expected lengths"),
    "fractions": ({"shards": {"x": 1.5}}, errors.InvalidInputError, "shards={'x': 1.5}: expected lengths"),
    "no such dimension": ({"chunks": {"xx": 3}}, errors.CopyError, "chunks: no array to copy has a dimension `xx`"),
    "no such rank": ({"chunks": (1, 2, 3)}, errors.CopyError, "chunks: no array to copy has 3 dimensions"),
    "another rank": ({"chunks": {"/t": (1,)}}, errors.CopyError, "/t: chunks: found lengths for 1 dimension"),
    "no such array": (
        {"shards": {"/none": {"x": 3}}},
        errors.CopyError,
        "shards: no array to copy at or below `/none`",
    ),
    "shards by name": (
        {"shards": {"x": 4}},
        errors.CopyError,
        r'`shards=\{"/PATH": \{"x": ...\}\}` limits it .* `shards=\{"/t": None\}` leaves this array out',
    ),
    "chunks in shards": (
        {"path": "s", "chunks": (3, 3)},
        errors.CopyError,
        r"choose others with shards=\.\.\., or none with shards=None",
    ),
    "codecs of no array": ({"codecs": {"/none": "gzip"}}, errors.CopyError, "codecs: there is no array to copy"),
    "changed elements": ({"path": "t", "codecs": BITROUND}, errors.CopyError, "; lossy=True allows this"),
    "a codec that decodes": (
        {"path": "u", "codecs": "imagecodecs_jpeg"},
        errors.CopyError,
        r"only decodes: choose another one with codecs=\.\.\.",
    ),
    "draft": (
        {"zarr_format": "v3-draft", "consolidate": True},
        errors.CopyError,
        "no consolidated metadata; leave out consolidate=True",
    ),
    "replaced parts": (
        {"overwrite": True, "partition": (1, 2)},
        errors.InvalidInputError,
        r"(overwrite=True|partition=\.\.\.) cannot be combined with (overwrite=True|partition=\.\.\.)",
    ),
    "lossy and verified": (
        {"lossy": True, "verify": True},
        errors.InvalidInputError,
        "(lossy|verify)=True cannot be combined with (lossy|verify)=True",
    ),
    "incomplete and verified": (
        {"skip_unreadable": True, "verify": True},
        errors.InvalidInputError,
        "(skip_unreadable|verify)=True cannot be combined with (skip_unreadable|verify)=True",
    ),
    "one pass": (
        {"partition": (1, 2), "partition_pass": 1},
        errors.CopyError,
        "every array takes one pass; leave out partition_pass",
    ),
    "a pass alone": ({"partition_pass": 1}, errors.InvalidInputError, "partition_pass needs partition"),
    "a third pass": ({"partition_pass": 3}, errors.InvalidInputError, "partition_pass=3: expected 1 or 2"),
    "no such part": ({"partition": (3, 2)}, errors.InvalidInputError, r"partition=\(3, 2\): expected \(i, n\)"),
    "not a part": ({"partition": "1/2"}, errors.InvalidInputError, "partition='1/2': expected"),
    "too many parts": ({"partition": (1, 200_000)}, errors.InvalidInputError, "partition: .*at most 100000"),
    "reads of text": ({"max_reads": "two"}, errors.InvalidInputError, "max_reads='two': expected a number"),
    "negative reads": ({"max_reads": -1}, errors.InvalidInputError, "^max_reads: "),
    "an empty pattern": ({"include": ""}, errors.InvalidInputError, "^include: `` is not a path"),
    "patterns that are not text": ({"exclude": [5]}, errors.InvalidInputError, r"exclude=\[5\]: expected a text"),
    "a path that is not text": ({"path": 5}, errors.InvalidInputError, "path=5: expected a text"),
    "no selected dimension": ({"select": {"xx": "1"}}, errors.CopyError, "select: no array to copy has a dimension"),
    "a selection without a name": ({"select": "0:1"}, errors.CopyError, "select: `0:1`: `copy` selects by dimension"),
    "a selection with half a name": ({"select": "x=1,5"}, errors.CopyError, "select: `5`: expected NAME=VALUE"),
    "a selection of no array": ({"select": "/none=0:1"}, errors.CopyError, "select: there is no array to copy at"),
    "a wrong selection": ({"select": {"x": "zz"}}, errors.CopyError, "select `x=zz`: "),
    "a slice": ({"select": {"x": slice(0, 2)}}, errors.InvalidInputError, r"select: slice\(0, 2, None\) is not a"),
    "no threads": ({"threads": 0}, errors.InvalidInputError, "the number of threads is 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_the_argument(copy: Copy, case: str) -> None:
    options, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message) as raised:
        copy(**options)
    assert OPTION.search(str(raised.value)) is None, raised.value
    assert not Path("b.zarr").exists()


def test_a_refusal_of_existing_arrays_names_the_argument(copy: Copy) -> None:
    copy()
    with pytest.raises(errors.CopyError, match="/t: an array already exists; overwrite=True replaces it") as raised:
        copy(chunks={"x": 6})
    assert OPTION.search(str(raised.value)) is None
    copy(chunks={"x": 6}, overwrite=True)


def test_a_fill_value_that_v2_lacks_names_the_argument(copy: Copy) -> None:
    path = Path("a.zarr/t/zarr.json")
    document = json.loads(path.read_text())
    del document["dimension_names"]
    path.write_text(json.dumps({**document, "fill_value": "0x7fc00001"}))
    with pytest.raises(errors.CopyError, match="lossy=True copies it with the standard NaN") as raised:
        copy(path="t", zarr_format=2)
    assert OPTION.search(str(raised.value)) is None


def test_parts_that_differ_name_the_argument_and_the_variable(copy: Copy) -> None:
    copy(partition=(1, 2), chunks={"x": 6})
    with pytest.raises(errors.CopyError, match="with partition, ZARR_KIT_MEMORY must be the same") as raised:
        copy(partition=(1, 3), chunks={"x": 6})
    assert OPTION.search(str(raised.value)) is None
    # The destination is a source now, and lacks a part.
    with pytest.raises(errors.ZarrWarning, match=r"run it with partition=\(2, 2\)") as warned:
        zarr_kit.copy("b.zarr", "c.zarr")
    assert OPTION.search(str(warned.value)) is None


def test_an_interrupted_copy_names_the_argument(copy: Copy) -> None:
    chunk = Path("a.zarr/u/c/1/1")
    stored = chunk.read_bytes()
    chunk.write_bytes(b"damaged")
    with pytest.raises(errors.CopyError, match="resume=True continues the copy") as raised:
        copy(codecs="gzip")
    assert OPTION.search(str(raised.value)) is None
    with pytest.raises(errors.CopyError, match="run the same copy again with resume=True") as raised:
        zarr_kit.copy("b.zarr", "c.zarr")
    assert OPTION.search(str(raised.value)) is None
    chunk.write_bytes(stored)
    copy(codecs="gzip", resume=True)


@pytest.fixture
def server() -> Iterator[str]:
    class Missing(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Missing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/b.zarr"
        server.shutdown()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"resume": True}, "resume=True needs a destination"), ({"partition": (1, 2)}, r"partition=\.\.\. needs a")],
)
def test_a_destination_that_does_not_list_names_the_argument(
    copy: Copy, server: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.CopyError, match=message) as raised:
        copy(server, **options)
    assert OPTION.search(str(raised.value)) is None


def test_shards_and_codecs_are_removed_by_path(copy: Copy) -> None:
    copy(shards={"/s": None}, codecs={"/t": None})
    copied: Any = zarr_kit.open("b.zarr")
    assert (copied["s"].shards, copied["s"].chunks) == (None, (2, 3))
    assert [name for name, _ in copied["t"].codecs] == ["bytes"]
    assert [name for name, _ in copied["u"].codecs] != ["bytes"]
    zarr_kit.copy("a.zarr", "c.zarr", path=["u", "t"], codecs=None)
    plain: Any = zarr_kit.open("c.zarr")
    assert [name for name, _ in plain["u"].codecs] == ["bytes"]


# 16 MiB of elements, of which a copy with columns as chunks reads each row many times in 1 MiB of memory.
TALL = """
import sys
import numpy as np
import zarr_kit

steps = {
    "write": lambda: zarr_kit.create_array("tall.zarr", data=np.ones((4096, 4096), "u1"), chunks=(16, 4096)),
    "read": lambda: zarr_kit.open_array("tall.zarr", mode="r")[0],
    "without": lambda: zarr_kit.copy("tall.zarr", "wide.zarr", chunks=(4096, 16), partition=(1, 2)),
    "early": lambda: zarr_kit.copy(
        "tall.zarr", "wide.zarr", chunks=(4096, 16), partition=(1, 2), partition_pass=2
    ),
    "first": lambda: zarr_kit.copy(
        "tall.zarr", "wide.zarr", chunks=(4096, 16), partition=(1, 2), partition_pass=1
    ),
}
try:
    steps[sys.argv[1]]()
except Exception as error:
    print(type(error).__name__, error)
"""


def run(step: str, memory: str) -> str:
    """Run a step in a process with this much memory for chunks and elements, and return its error."""
    command = [sys.executable, "-c", TALL, step]
    environment = {**os.environ, "ZARR_KIT_MEMORY": memory}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    assert OPTION.search(ended.stdout) is None, ended.stdout
    return ended.stdout


def test_passes_are_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("write", "") == ""
    needed = "run all parts with partition_pass=1, and then all parts with partition_pass=2"
    assert needed in run("without", "4MiB")
    assert "the first pass of this plan has not begun: run all parts with partition_pass=1" in run("early", "4MiB")
    assert run("first", "4MiB") == ""
    assert "part 2 of 2 is missing; run partition_pass=1 first" in run("early", "4MiB")


def test_the_memory_is_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("write", "")
    message = run("read", "40KiB")
    assert message.startswith("OutOfMemoryError chunk [0, 0] of /")
    assert "more than the memory budget for chunks, 30720 bytes: raise it with the environment variable" in message
    assert "`ZARR_KIT_MEMORY`, such as 8GiB" in message
    assert run("read", "1MiB") == ""
    assert "InvalidInputError environment variable ZARR_KIT_MEMORY: invalid size `much`" in run("read", "much")
