"""Worker processes that are killed, and the examples of the page about clusters."""

# Functions of Dask have no annotations.
# mypy: allow-untyped-calls

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer
from numpy.typing import NDArray

import zarr_kit
import zarr_kit.dask

PAGE = Path(__file__).parents[2] / "docs" / "python-clusters.md"
EXAMPLES = [text for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "# Needs a" not in text]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_page_work(tmp_path: Path, example: str) -> None:
    script = tmp_path / "example.py"
    script.write_text(example)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 4


def test_a_message_of_the_page_is_that_of_the_package() -> None:
    array = da.from_array(np.zeros(7), chunks=3)
    with pytest.raises(zarr_kit.ZarrError) as refused:
        zarr_kit.dask.to_zarr(array, "memory:", chunks=(2,))
    assert f"```text\n{refused.value}\n```" in PAGE.read_text()


def test_a_worker_that_is_killed_while_it_writes_loses_nothing(tmp_path: Path) -> None:
    data = np.arange(160 * 50, dtype=np.float64).reshape(160, 50)
    array = da.from_array(data, chunks=(10, 50)).map_blocks(killed_once, tmp_path / "killed", meta=data[:0])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        zarr_kit.dask.to_zarr(array, tmp_path / "a.zarr", chunks=(5, 10), threads=1)
        read = zarr_kit.dask.from_zarr(tmp_path / "a.zarr", threads=1).compute()
    assert int((tmp_path / "killed").read_text()) in before
    np.testing.assert_array_equal(read, data)
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path / "a.zarr", mode="r")[...], data)


def watch(folder: str, marker: str, count: int) -> None:
    """Kill this process as soon as the folder has a number of files. The first process writes the number and its ID."""

    def kill() -> None:
        while not Path(marker).exists():
            found = sum(len(files) for _, _, files in os.walk(folder))
            if found >= count:
                Path(marker).write_text(f"{found} {os.getpid()}")
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.001)

    threading.Thread(target=kill, daemon=True).start()


@pytest.mark.parametrize("shards", [None, (500, 4)])
def test_a_worker_that_is_killed_in_the_middle_of_a_write_loses_nothing(tmp_path: Path, shards: Any) -> None:
    data = np.arange(4000 * 4, dtype=np.float64).reshape(4000, 4)
    array = da.from_array(data, chunks=(2000, 4))
    marker = tmp_path / "killed"
    total = 4000 if shards is None else 8
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        [first, _] = client.scheduler_info()["workers"]
        client.run(watch, str(tmp_path / "a.zarr/c"), str(marker), max(2, total // 100), workers=[first])
        zarr_kit.dask.to_zarr(array, tmp_path / "a.zarr", chunks=(1, 4), shards=shards, compressors=None, threads=1)
    stored, killed = map(int, marker.read_text().split())
    assert killed in before
    # It was killed before all chunks were stored.
    assert 0 < stored < total
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path / "a.zarr", mode="r")[...], data)
    # No temporary file remains after the same chunks were written again.
    assert zarr_kit.verify(tmp_path / "a.zarr")["whole"]


KILLED = """
import os, signal, sys, threading, time
import numpy as np, zarr_kit
folder, count = sys.argv[1], int(sys.argv[2])
array = zarr_kit.open_array(folder, mode="r+")

def kill():
    while sum(len(files) for _, _, files in os.walk(folder + "/c")) < count:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
array[...] = np.full(array.shape, 7, array.dtype)
"""


@pytest.mark.parametrize(("shards", "count"), [(None, 50), ((64, 1024), 3)])
def test_chunks_of_a_killed_process_are_whole_or_missing(tmp_path: Path, shards: Any, count: int) -> None:
    array = zarr_kit.create_array(
        tmp_path, shape=(4096, 1024), dtype="u2", chunks=(1, 1024), shards=shards, compressors=None
    )
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(count)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    rows = array[...]
    length = 1 if shards is None else shards[0]
    for start in range(0, 4096, length):
        assert set(np.unique(rows[start : start + length])) in ({0}, {7}), start
    assert 0 < np.count_nonzero(rows) < rows.size
    array[...] = 9
    assert (array[...] == 9).all()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of a bucket in a server of S3 on this machine, whose credentials are in the environment."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ACCESS_KEY_ID": "known",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    # All servers of this process share their buckets.
    name = f"shared-{port}"
    with urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/{name}", method="PUT")):
        pass
    yield f"s3://{name}"
    server.stop()


@pytest.mark.parametrize("shards", [None, (40, 40)])
def test_workers_share_a_bucket_while_one_of_them_is_killed(tmp_path: Path, bucket: str, shards: Any) -> None:
    data = np.arange(160 * 40, dtype=np.float64).reshape(160, 40)
    array = da.from_array(data, chunks=(40, 40)).map_blocks(killed_once, tmp_path / "writer", meta=data[:0])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        zarr_kit.dask.to_zarr(array, f"{bucket}/a.zarr", chunks=(20, 20), shards=shards, threads=1)
        stored: Any = zarr_kit.dask.from_zarr(f"{bucket}/a.zarr", threads=1)
        read = stored.map_blocks(killed_once, tmp_path / "reader", meta=data[:0]).compute()
        killed = {int((tmp_path / name).read_text()) for name in ("writer", "reader")}
        client.wait_for_workers(2, timeout=60)
        after = set(client.run(os.getpid).values())
    assert killed & before and len(killed) == 2 and not killed & after and len(after) == 2
    np.testing.assert_array_equal(read, data)
    np.testing.assert_array_equal(zarr_kit.open_array(f"{bucket}/a.zarr", mode="r")[...], data)


@pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part in the Zarr format 3")
def test_workers_read_data_sets_of_a_bucket(bucket: str) -> None:
    data = np.arange(60.0).reshape(6, 10)
    dataset = xr.Dataset({"t": (("y", "x"), data)})
    group = zarr_kit.create_group(f"{bucket}/d.zarr")
    group.create_array("t", data=data, chunks=(2, 5), dimension_names=["y", "x"])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        opened = xr.open_dataset(f"{bucket}/d.zarr", engine="zarr-kit", chunks={}, threads=1)
        xr.testing.assert_equal(opened.mean("x").compute(), dataset.mean("x"))


def killed_once(block: NDArray[Any], marker: Path) -> NDArray[Any]:
    """Return the block. The first process that has a block in the middle is killed."""
    if block.size and 3000 < block[0, 0] < 4100 and not marker.exists():
        marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_regions_are_written_by_programs_that_run_at_the_same_time(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path / "a.zarr", shape=(400, 20), dtype="i8", chunks=(10, 20), shards=(100, 20))
    program = """
import sys, dask.array as da, numpy as np, zarr_kit.dask
start = int(sys.argv[1])
part = da.from_array(np.arange(start * 20, start * 20 + 4000).reshape(200, 20), chunks=(100, 20))
zarr_kit.dask.to_zarr(part, "a.zarr", region=(slice(start, start + 200), slice(None)))
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(start)], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for start in [0, 200]
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    written = zarr_kit.open_array(tmp_path / "a.zarr", mode="r")
    np.testing.assert_array_equal(written[...], np.arange(8000).reshape(400, 20))


def test_a_number_of_threads_reaches_the_workers(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(4))
    array = zarr_kit.open_array(tmp_path, mode="r", threads=1)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        assert client.submit(threads_of, array).result() == 1


def threads_of(array: zarr_kit.Array) -> int:
    return array._hierarchy.engine.threads
