"""Progress and Ctrl-C of calls that take long."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from held_bucket import HeldBucket, held_bucket

import zarr_kit
from zarr_kit import errors

CHUNKS = 4000


def many_chunks(folder: Path) -> zarr_kit.Array:
    return zarr_kit.create_array(folder, shape=CHUNKS, dtype="u2", chunks=1, compressors=None)


class Stop(Exception):
    pass


def test_progress_is_reported_on_the_thread_of_the_caller(tmp_path: Path) -> None:
    array = many_chunks(tmp_path)
    reports: list[tuple[int, int]] = []
    threads = set()

    def report(done: int, planned: int) -> None:
        reports.append((done, planned))
        threads.add(threading.get_ident())

    array.write(..., np.arange(CHUNKS, dtype="u2"), progress=report)
    assert reports[-1] == (CHUNKS, CHUNKS)
    assert reports == sorted(reports)
    assert threads == {threading.get_ident()}
    reads: list[Callable[[], Any]] = [
        lambda: array.read(progress=report),
        lambda: array.read(out=np.empty(CHUNKS, "u2"), progress=report),
        lambda: array.read_many([...], progress=report)[0],
    ]
    for read in reads:
        reports.clear()
        assert np.array_equal(read(), np.arange(CHUNKS))
        assert reports[-1] == (CHUNKS, CHUNKS)
    reports.clear()
    array.append(np.arange(3, dtype="u2"), progress=report)
    array.resize(2, progress=report)
    assert reports
    assert array[...].tolist() == [0, 1]


def test_an_exception_of_the_function_ends_the_call(tmp_path: Path) -> None:
    array = many_chunks(tmp_path)

    def stop(done: int, planned: int) -> None:
        if done > 0:
            raise Stop

    values = np.arange(1, CHUNKS + 1, dtype="u2")
    with pytest.raises(Stop):
        array.write(..., values, progress=stop)
    read = array[...]
    assert set(np.unique(read == values)) <= {False, True}
    assert set(read[read != values]) <= {0}
    # The array can still be used.
    array[...] = values
    assert np.array_equal(array[...], values)


def test_an_append_that_ends_early_adds_all_rows_or_none(tmp_path: Path) -> None:
    array = many_chunks(tmp_path)
    array[...] = 1

    def stop(done: int, planned: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        array.append(np.full(CHUNKS, 2, "u2"), progress=stop)
    again = zarr_kit.open_array(tmp_path, mode="r")
    assert again.shape in {(CHUNKS,), (2 * CHUNKS,)}
    assert set(again[:CHUNKS]) == {1}
    assert set(again[CHUNKS:]) <= {2}


INTERRUPTED = """
import signal, sys, numpy as np, zarr_kit
# In the background, the signal may be disabled.
signal.signal(signal.SIGINT, signal.default_int_handler)
array = zarr_kit.open_array(sys.argv[1], mode="r+")
values = np.arange(1, array.size + 1, dtype="u2")
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
array[...] = values
assert np.array_equal(array[...], values)
"""


def test_ctrl_c_ends_a_write_after_the_chunks_that_were_started(tmp_path: Path) -> None:
    many_chunks(tmp_path)
    program = INTERRUPTED.format(call="for _ in range(50): array[...] = values")
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (tmp_path / "c").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        output, message = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, b"interrupted\n"), message.decode()


def test_ctrl_c_ends_a_copy(tmp_path: Path) -> None:
    many_chunks(tmp_path / "a")[...] = np.arange(1, CHUNKS + 1, dtype="u2")
    copy = f"zarr_kit.copy(sys.argv[1], {str(tmp_path / 'b')!r}, chunks=(2,))"
    command = [sys.executable, "-c", INTERRUPTED.format(call=copy), str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (tmp_path / "b" / "c").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        output, message = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, b"interrupted\n"), message.decode()
    assert not (tmp_path / "b" / "zarr.json").exists()
    # The same copy replaces the chunks that are left.
    zarr_kit.copy(tmp_path / "a", tmp_path / "b", chunks=(2,))
    assert np.array_equal(zarr_kit.open_array(tmp_path / "b", mode="r")[...], np.arange(1, CHUNKS + 1))


@pytest.fixture
def bucket() -> Iterator[HeldBucket]:
    with held_bucket() as bucket:
        yield bucket


FAR = """
import signal, sys, numpy as np, zarr_kit

def handle(*_):
    print("signal", flush=True)
    raise KeyboardInterrupt

url = sys.argv[1]
array = zarr_kit.open_array(url, path="a", mode="r+", threads=1)
group = zarr_kit.open_group(url, mode="r+", threads=1)
signal.signal(signal.SIGINT, handle)
print("ready", flush=True)
sys.stdin.readline()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def started(bucket: HeldBucket, call: str) -> subprocess.Popen[str]:
    """Start a program that makes one call, and wait until it has opened the array."""
    command = [sys.executable, "-c", FAR.format(call=call), bucket.url]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    first = process.stdout.readline()
    assert first == "ready\n", process.communicate()
    bucket.requests.clear()
    return process


def rest_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the output that was not read yet, and the errors."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, message = process.stdout.read(), process.stderr.read()
    process.wait(60)
    return output, message


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("call", ["array[...] = np.ones(array.shape, array.dtype)", "array[...]"])
def test_ctrl_c_ends_one_call_of_a_far_store(bucket: HeldBucket, call: str) -> None:
    count = 600
    array = zarr_kit.create_array(bucket.url, name="a", shape=count, dtype="u2", chunks=1, compressors=None)
    array[:3] = 1
    with started(bucket, call) as process:
        bucket.delay = 0.5
        go(process)
        bucket.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        output, message = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "signal\ninterrupted\n"), message
    assert len(bucket.requests) < count


# Calls that change nothing. They end although the server does not respond.
READS = [
    "zarr_kit.open(url, threads=1)",
    "zarr_kit.open_array(url, path='a', mode='r', threads=1)",
    "group['a']",
    "'a' in group",
    "group.keys()",
    "group.members()",
    "group.arrays()",
    "group.tree()",
    "array.nchunks_initialized",
    "array[...]",
    "array[1]",
    "array.read_many([0, slice(2)])",
    "array.read(progress=lambda done, planned: None)",
]


@pytest.mark.parametrize("call", READS)
def test_ctrl_c_ends_a_call_that_waits_for_a_server(bucket: HeldBucket, call: str) -> None:
    zarr_kit.create_array(bucket.url, name="a", data=[1, 2, 3], chunks=1)
    with started(bucket, call) as process:
        bucket.free.clear()
        go(process)
        bucket.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        output, message = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "signal\ninterrupted\n"), message


# Calls that change the store. They end after the requests that were sent.
CHANGES = [
    "del group['a']",
    "group._hierarchy.engine.consolidate('/')",
    "group.create_group('b')",
    "group.create_array('b', shape=3, dtype='u1')",
    "group.attrs.update(b=1)",
    "array.attrs.update(b=1)",
    "array.resize(1)",
    "array.append([4])",
]


@pytest.mark.parametrize("call", CHANGES)
def test_ctrl_c_ends_a_change_of_a_far_store_after_its_requests(bucket: HeldBucket, call: str) -> None:
    zarr_kit.create_array(bucket.url, name="a", data=[1, 2, 3], chunks=1)
    check_interrupted_after_its_requests(bucket, call)


def check_interrupted_after_its_requests(bucket: HeldBucket, call: str) -> None:
    """Interrupt a call while its first requests wait, and then let the bucket answer them."""
    with started(bucket, call) as process:
        bucket.free.clear()
        go(process)
        bucket.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        # The signal is handled while the request waits.
        assert process.stdout is not None
        assert process.stdout.readline() == "signal\n"
        bucket.free.set()
        output, message = rest_of(process)
    assert (process.returncode, output) == (0, "interrupted\n"), message


def test_ctrl_c_ends_an_erasure_before_the_next_request(bucket: HeldBucket) -> None:
    zarr_kit.create_array(bucket.url, name="a", data=np.arange(20), chunks=1)
    check_interrupted_after_its_requests(bucket, "del group['a']")
    assert zarr_kit.open_array(bucket.url, path="a", mode="r")[...].tolist() == list(range(20))


def test_a_cancelled_call_raises_an_error(tmp_path: Path) -> None:
    from zarr_kit import _engine

    array = many_chunks(tmp_path)
    progress = _engine.Progress()
    progress.cancel()
    with pytest.raises(errors.CancelledError, match="cancel"):
        array._with_progress(progress)[...]


def test_only_one_module_releases_the_lock_and_converts_panics() -> None:
    sources = Path(__file__).parents[1] / "src"
    releasing = {file.name for file in sources.glob("*.rs") if ".detach(" in file.read_text()}
    assert releasing == {"calls.rs"}
