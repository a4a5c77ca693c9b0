"""Threads, other processes, and memory."""

import copy
import functools
import gc
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from held_bucket import held_bucket

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


ELEMENTS = np.random.default_rng(1).integers(0, 100, 16_000_000, dtype=np.int32)

LONG_CALLS: dict[str, Callable[[zarr_kit.Array, Path], object]] = {
    "read": lambda array, _: array[...],
    "read into memory": lambda array, _: array.read(out=np.empty_like(ELEMENTS)),
    "read many": lambda array, _: array.read_many([...]),
    "write": lambda array, _: array.__setitem__(..., ELEMENTS),
    "append": lambda array, _: array.append(ELEMENTS),
    "copy": lambda array, folder: zarr_kit.copy(array, folder / "copy", codecs="gzip", threads=1),
    "digest": lambda array, _: zarr_kit.digest(array.location, threads=1),
    "diff": lambda array, _: zarr_kit.diff(array.location, array.location, threads=1),
    "verify": lambda array, _: zarr_kit.verify(array.location, threads=1),
}


ATTEMPTS = 5


def ticks_during(call: Callable[[], object]) -> list[float]:
    """Return the times at which another thread ran during a call, with those of its start and end."""
    times = [time.perf_counter()]
    worker = threading.Thread(target=call)
    worker.start()
    while worker.is_alive():
        worker.join(0.001)
        times.append(time.perf_counter())
    return times


def check_other_threads_run(call: Callable[[int], object]) -> None:
    """Check that the other thread never waited for a large part of the call.

    Other processes may interrupt the thread, too, but rarely in several calls. A call gets its number.
    """
    largest = []
    for number in range(ATTEMPTS):
        times = ticks_during(functools.partial(call, number))
        gaps = np.diff(times)
        largest.append(gaps.max() / (times[-1] - times[0]))
        if len(gaps) > 10 and largest[-1] < 0.5:
            return
    raise AssertionError(largest)


@pytest.mark.parametrize("name", LONG_CALLS)
def test_other_threads_run_during_a_long_call(tmp_path: Path, name: str) -> None:
    array = zarr_kit.create_array(
        tmp_path / "a", data=ELEMENTS, chunks=(500_000,), compressors={"name": "zstd", "configuration": {"level": 3}}
    )
    array = zarr_kit.open_array(tmp_path / "a", mode="r+", threads=1)
    check_other_threads_run(lambda number: LONG_CALLS[name](array, tmp_path / str(number)))


def test_other_threads_run_while_a_far_hierarchy_is_opened_and_changed() -> None:
    with held_bucket() as bucket:
        group = zarr_kit.create_group(bucket.url)
        for number in range(ATTEMPTS):
            group.create_group(f"old{number}")
        bucket.delay = 0.3
        calls: list[Callable[[int], object]] = [
            lambda _: zarr_kit.open(bucket.url, threads=1),
            lambda number: group.create_group(str(number)),
            lambda _: group.keys(),
            lambda number: group.__delitem__(f"old{number}"),
        ]
        for call in calls:
            check_other_threads_run(call)


def test_reads_and_changes_release_their_memory() -> None:
    array = zarr_kit.create_array("memory:", shape=(1000, 100), dtype="i8", chunks=(100, 100))

    def use(count: int) -> None:
        for _ in range(count):
            array[:500]
            array[::-1, 0] = 7
            array.attrs["a"] = 1

    check_no_growth(use, 300)


def test_opening_and_closing_many_times_leaks_nothing(tmp_path: Path) -> None:
    zarr_kit.create_group(tmp_path).create_array("a", data=np.arange(10))

    def open_all(count: int) -> None:
        for _ in range(count):
            group: Any = zarr_kit.open(tmp_path)
            array = group["a"]
            assert array[3] == 3

    check_no_growth(open_all, 4_000)


def check_no_growth(use: Callable[[int], None], count: int) -> None:
    """Check that a second half of the same calls needs no more memory than the first half left."""
    # Pools and caches reach their sizes.
    use(count // 2)
    sizes = [resident_now()]
    for _ in range(2):
        use(count)
        sizes.append(resident_now())
    # A leak of 1 kB per call would be 4 MB in each half of the opens.
    growth = np.diff(sizes)
    assert growth.min() < 1 << 20, growth


def resident_now() -> int:
    """Return the memory of this process in bytes, without objects that are not used any more."""
    gc.collect()
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


@pytest.mark.parametrize(
    ("file", "some"),
    [
        ("test_strings.py", ""),
        ("test_exchange.py", ""),
        ("test_pipeline.py", "exchanged or layout or numpy or dimensions"),
        ("test_pipeline_files.py", "layout or strides or selections or text"),
    ],
)
def test_tests_pass_while_the_interpreter_checks_its_memory(file: str, some: str) -> None:
    """Strings, buffers and views of the memory of callers are used in many ways there."""
    command = [sys.executable, "-X", "dev", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    ended = subprocess.run(
        [*command, "-W", "ignore::ResourceWarning", "-k", some, str(Path(__file__).with_name(file))],
        env={**os.environ, "PYTHONMALLOC": "debug"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout


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
    # Variables of libraries that the engine uses are ignored.
    others = {"RAYON_NUM_THREADS": "7", "RAYON_RS_NUM_CPUS": "7", "OMP_NUM_THREADS": "7"}
    environment = {**os.environ, **others, "ZARR_KIT_THREADS": variable}
    assert int(subprocess.check_output([sys.executable, "-c", program], env=environment)) == expected
