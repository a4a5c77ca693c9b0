"""Threads, other processes, and memory."""

import copy
import gc
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors


def total(array: zarr_kit.Array) -> int:
    return int(array[...].sum())


def data_of(folder: Path) -> zarr_kit.Array:
    return zarr_kit.create_array(folder, data=np.arange(10_000).reshape(100, 100), chunks=(30, 30))


def test_nodes_are_pickled_by_their_location(tmp_path: Path) -> None:
    array = data_of(tmp_path)
    again = pickle.loads(pickle.dumps(array))
    again[0, 0] = 5
    assert array[0, 0] == 5
    read_only = pickle.loads(pickle.dumps(zarr_kit.open(tmp_path)))
    assert read_only.read_only
    group = zarr_kit.create_group(tmp_path / "group", attributes={"a": 1})
    assert pickle.loads(pickle.dumps(group)).attrs["a"] == 1


@pytest.mark.parametrize("location", ["memory:", {"type": "memory"}])
def test_a_store_in_memory_is_not_pickled(location: Any) -> None:
    with pytest.raises(TypeError, match="in memory"):
        pickle.dumps(zarr_kit.create_array(location, data=np.arange(3)))


def test_spawned_processes_open_pickled_arrays(tmp_path: Path) -> None:
    array = data_of(tmp_path)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(total, array).result() == total(array)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_refuses_open_nodes_and_opens_new_ones(tmp_path: Path) -> None:
    array = data_of(tmp_path)
    expected = total(array)
    child = os.fork()
    if child == 0:
        refuses = reopens = False
        try:
            array[0, 0]
        except errors.ForkedError:
            refuses = True
        reopens = total(zarr_kit.open_array(tmp_path, mode="r")) == expected
        os._exit(0 if refuses and reopens else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_read_and_write_one_array() -> None:
    array = zarr_kit.create_array("memory:", shape=(64, 50), dtype="i4", chunks=(10, 50))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: array.__setitem__(row, row), range(64)))
        sums = list(pool.map(lambda row: int(array[row].sum()), range(64)))
    assert sums == [50 * row for row in range(64)]


def test_threads_append_and_set_attributes_and_nothing_is_lost() -> None:
    array = zarr_kit.create_array("memory:", shape=(0,), dtype="i4", chunks=(3,))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: array.append([number]), range(50)))
        list(pool.map(lambda number: array.attrs.update({str(number): number}), range(50)))
    assert sorted(array[...].tolist()) == list(range(50))
    assert len(array.attrs) == 50


def test_other_threads_run_while_elements_are_read(tmp_path: Path) -> None:
    data = np.random.default_rng(1).integers(0, 100, 8_000_000, dtype=np.int32)
    array = zarr_kit.create_array(tmp_path, data=data, chunks=(500_000,), compressors="zstd", threads=1)
    is_done = threading.Event()
    counts: list[int] = []

    def read() -> None:
        for _ in range(3):
            array[...]
        is_done.set()

    worker = threading.Thread(target=read)
    worker.start()
    while not is_done.is_set():
        counts.append(1)
        is_done.wait(0.001)
    worker.join()
    assert len(counts) > 3


def test_reads_and_changes_release_their_memory() -> None:
    array = zarr_kit.create_array("memory:", shape=(1000, 100), dtype="i8", chunks=(100, 100))

    def use(count: int) -> None:
        for _ in range(count):
            array[:500]
            array[::-1, 0] = 7
            array.attrs["a"] = 1

    use(50)
    gc.collect()
    before = resident()
    use(1000)
    gc.collect()
    assert resident() - before < 32 << 20


def test_opening_and_closing_many_times_leaks_nothing(tmp_path: Path) -> None:
    zarr_kit.create_group(tmp_path).create_array("a", data=np.arange(10))

    def open_all(count: int) -> None:
        for _ in range(count):
            group: Any = zarr_kit.open(tmp_path)
            array = group["a"]
            assert array[3] == 3

    open_all(500)
    gc.collect()
    before = resident()
    open_all(10_000)
    gc.collect()
    assert resident() - before < 32 << 20


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_the_memory_of_a_read_outlives_the_array() -> None:
    array = zarr_kit.create_array("memory:", data=np.arange(1_000_000))
    result = array[...]
    view = result[10:20]
    del array, result
    gc.collect()
    assert view.tolist() == list(range(10, 20))


def test_the_interpreter_checks_its_memory(tmp_path: Path) -> None:
    data_of(tmp_path)
    program = (
        "import sys, zarr_kit; array = zarr_kit.open(sys.argv[1], mode='r+'); array[::-3, [1, 2]] = 4; "
        "array.read(out=array[...]); print(array[...].sum())"
    )
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_importing_loads_few_modules() -> None:
    # Time depends on the machine; the number of modules does not. NumPy itself loads more than 100.
    program = "import sys, numpy; before = set(sys.modules); import zarr_kit; print(*(set(sys.modules) - before))"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    others = {name.partition(".")[0] for name in loaded} - {"zarr_kit"}
    assert others & {"zarr", "numcodecs", "xarray", "dask", "ml_dtypes", "fsspec", "obstore", "cubed"} == set()
    assert len(loaded) < 45, sorted(loaded)


def test_copies_of_nodes_use_the_same_store() -> None:
    group = zarr_kit.create_group("memory:", attributes={"a": 1})
    array = group.create_array("x", data=np.arange(3))
    for again in (copy.copy(array), copy.deepcopy(array)):
        again[0] += 5
    assert array[0] == 10
    for other in (copy.copy(group), copy.deepcopy(group)):
        assert other.attrs["a"] == 1
        assert "x" in other


def test_errors_are_pickled_with_their_class_and_message() -> None:
    for name in vars(errors):
        if isinstance(kind := getattr(errors, name), type) and issubclass(kind, errors.ZarrError):
            again = pickle.loads(pickle.dumps(kind("a message")))
            assert (type(again), str(again)) == (kind, "a message")


@pytest.mark.parametrize(("variable", "argument", "expected"), [("", None, 1), ("3", None, 3), ("3", 2, 2), ("", 4, 4)])
def test_the_number_of_threads_follows_from_argument_variable_and_affinity(
    variable: str, argument: int | None, expected: int
) -> None:
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); import zarr_kit; "
        f"array = zarr_kit.create_array('memory:', shape=3, dtype='u1', threads={argument}); "
        "print(array._hierarchy.engine.threads)"
    )
    environment = {**os.environ, "ZARR_KIT_THREADS": variable}
    assert int(subprocess.check_output([sys.executable, "-c", program], env=environment)) == expected
