"""The tests of zarr-python run with the pipeline of this package.

With its default pipeline, each of these tests passes or is skipped. `zarr_python_differences.txt` lists the tests that
fail with this pipeline, with the reasons. A test that fails but is not listed is an error here, and so is a listed test
that passes. With `ZARR_LONG=1`, all tests of zarr-python run.
"""

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as xml
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest

TESTS = [
    "tests/test_array.py",
    "tests/test_indexing.py",
    "tests/test_codecs",
    "tests/test_v2.py",
    "tests/test_group.py",
    "tests/test_properties.py",
]
# Measurements, and files that need packages which no other test here uses.
NOT_TESTED = ["tests/benchmarks", "tests/test_api/test_synchronous.py", "tests/test_examples.py"]
DIFFERENCES = Path(__file__).parent / "zarr_python_differences.txt"


@dataclass
class Outcomes:
    """The names of tests by their outcome."""

    failed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)


def test_only_listed_tests_of_zarr_python_fail(tmp_path: Path) -> None:
    is_long = os.environ.get("ZARR_LONG") == "1"
    tests = ["tests", *(f"--ignore={path}" for path in NOT_TESTED)] if is_long else TESTS
    outcomes = run(sources(), tests, tmp_path / "report.xml")
    count = len(outcomes.failed) + len(outcomes.passed) + len(outcomes.skipped)
    lines = DIFFERENCES.read_text().splitlines()
    assert (f"# all: {count} tests" if is_long else f"# {count} tests") in lines
    names = [line for line in lines if line and not line.startswith("#")]
    listed = {name for name in names if is_long or any(is_in(test, name) for test in TESTS)}
    unknown = {name for name in outcomes.failed if not covers(listed, name)}
    fixed = {line for line in listed if any(covers([line], name) for name in outcomes.passed)}
    absent = {line for line in listed if not any(covers([line], name) for name in outcomes.failed)}
    assert (unknown, fixed, absent) == (set(), set(), set())


def sources() -> Path:
    """Return the unpacked source distribution of the installed version, which is downloaded once."""
    release = f"zarr-{version('zarr')}"
    folder = Path(sys.prefix) / "sources"
    if not (folder / release / "PKG-INFO").exists():
        module(
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            "zarr",
            "--dest",
            str(folder),
            release.replace("-", "=="),
        )
        with tarfile.open(folder / f"{release}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / release


def run(folder: Path, tests: list[str], report: Path) -> Outcomes:
    """Run the tests in `folder` in several processes."""
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        # Elements that hypothesis draws are the same in every run.
        "--hypothesis-seed=0",
        "-n",
        str(os.cpu_count() or 1),
        "--junitxml",
        str(report),
    ]
    # Some tests expect that every registered data type is also defined for v2, so this package registers none.
    pipeline = {"ZARR_CODEC_PIPELINE__PATH": "zarr_kit.CodecPipeline", "ZARR_KIT_REGISTRATION": "off"}
    environment = {**os.environ, **pipeline}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=3600
    )
    assert report.exists(), ended.stdout + ended.stderr
    outcomes = Outcomes()
    # The file was written by this test.
    for case in xml.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            outcomes.failed.add(name)
        elif "skipped" in kinds:
            outcomes.skipped.add(name)
        else:
            outcomes.passed.add(name)
    return outcomes


def module(*arguments: str) -> None:
    ended = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        pytest.fail(ended.stderr)


def is_in(path: str, name: str) -> bool:
    """Return whether the file or folder has the test."""
    module = path.removesuffix(".py").replace("/", ".")
    return name.startswith((f"{module}.", f"{module}::"))


def covers(listed: Iterable[str], name: str) -> bool:
    """Return whether the list has the test, or the test without its parameters."""
    return name in listed or name.split("[")[0] in listed
