"""The script ``zarrctl`` that the package installs."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import zarr_kit

SCRIPT = str(Path(sys.executable).with_name("zarrctl"))


def run(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


# Starts the script with the signal enabled, for tests that run in the background.
START = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(2, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]


def many_chunks(folder: Path) -> Path:
    zarr_kit.create_array(folder, data=np.arange(1, 6001, dtype="u2"), chunks=(1,), compressors=None)
    return folder


def test_the_package_has_one_copy_of_the_engine() -> None:
    libraries = [file for file in files("zarr_kit") or [] if file.suffix == ".so"]
    assert len(libraries) == 1
    assert Path(SCRIPT).read_bytes().startswith(b"#!")
    assert not zipfile.is_zipfile(SCRIPT)


def test_exit_statuses_are_those_of_the_program(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path / "a", data=np.arange(3, dtype="u1"))
    printed = run("get", tmp_path / "a", "/", "--format", "raw")
    assert (printed.returncode, printed.stdout, printed.stderr) == (0, b"\x00\x01\x02", b"")
    assert run("--help").returncode == 0
    usage = run("tree")
    assert usage.returncode == 2
    assert b"Usage: zarrctl tree" in usage.stderr
    missing = run("tree", tmp_path / "missing")
    assert missing.returncode == 1
    assert missing.stderr.startswith(b"error: ")


def test_arguments_that_are_not_text_are_refused_by_the_program(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff"
    refused = subprocess.run([SCRIPT, "tree", name], capture_output=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert b"invalid UTF-8" in refused.stderr


def test_a_closed_pipe_ends_the_script_without_a_message(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(300_000))
    command = [SCRIPT, "get", str(tmp_path), "/", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() != b""
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_interrupted_copy_completes_its_writes_and_says_what_it_leaves(tmp_path: Path) -> None:
    source = many_chunks(tmp_path / "source")
    target = tmp_path / "target"
    # Another shape of chunks, so that the copy reads and writes region by region.
    command = [*START, SCRIPT, "copy", str(source), str(target), "--chunks", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while not (target / "c").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        message = process.stderr.read()
    assert process.returncode == 128 + signal.SIGINT
    assert message.startswith(b"interrupted; copied chunks remain in"), message
    assert not (target / "zarr.json").exists()


def test_the_signal_ends_a_verb_that_only_reads(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(300_000))
    command = [*START, SCRIPT, "get", str(tmp_path), "/", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        # The program waits, because the pipe is full.
        assert process.stdout.read(1) != b""
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_info_decodes_the_coordinates_that_xarray_writes(zarr_format: int, tmp_path: Path) -> None:
    attributes = {"units": "K", "long_name": "Air temperature"}
    dataset = xr.Dataset(
        {"t2m": (("time", "lat"), np.arange(40.0).reshape(10, 4), attributes)},
        coords={
            "time": np.arange("2001-01-01", "2001-01-11", dtype="M8[D]").astype("M8[ns]"),
            "lat": ("lat", [60.0, 30.0, 0.0, -30.0], {"units": "degrees_north"}),
        },
        attrs={"Conventions": "CF-1.8"},
    )
    packing = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -99}
    dataset.to_zarr(tmp_path / "a", zarr_format=zarr_format, encoding={"t2m": packing}, consolidated=False)
    printed = run("info", tmp_path / "a", "t2m").stdout.decode()
    for part in (
        "name              Air temperature",
        "units             K",
        "10 × 4 (time, lat)",
        "values            stored × 0.5 + 10",
        "time  2001-01-01 to 2001-01-10",
        "lat   60 to -30 degrees_north, step -30",
        "conventions       CF 1.8",
        "metadata          a document for each node",
    ):
        assert part in printed, printed
    decoded = run("get", tmp_path / "a", "t2m", "--select", "time=2001-01-03", "--cf", "--format", "csv")
    assert decoded.stdout == b"8,9,10,11\r\n"


def test_worker_processes_of_the_conformance_suite_are_the_script() -> None:
    checked = run("conformance", "plugin", "crc32c", "--level", "L1")
    assert checked.returncode == 0, checked.stderr
