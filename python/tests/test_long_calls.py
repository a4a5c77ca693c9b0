"""Progress and Ctrl-C of calls that take long."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
