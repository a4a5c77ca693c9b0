"""The tests of zarr-python run with the pipeline of this package.

`zarr_python_outcomes.txt` has their outcomes with the default pipeline: the number of tests that pass and a hash of their
names for each file, and the same of skipped tests for each function. `zarr_python_differences.txt` lists the tests that fail with the
pipeline of this package, files that are not run, and settings, with reasons. All other outcomes must be the same. With
`ZARR_LONG=1`, all tests of zarr-python run.

`UPDATE_SNAPSHOTS=1` runs the tests with the default pipeline, and stores the outcomes of the files that ran.
"""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as xml
from collections import defaultdict
from collections.abc import Callable, Iterable
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
DIFFERENCES = Path(__file__).parent / "zarr_python_differences.txt"
OUTCOMES = Path(__file__).parent / "zarr_python_outcomes.txt"
# The tests of CI take at most 8 minutes. Slower machines, or those that do other work, have twice that time. All tests
# have an hour.
LIMIT = 2 * 8 * 60
LONG_LIMIT = 60 * 60


@dataclass
class Outcomes:
    """The names of tests by their outcome."""

    failed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)

    def lines(self) -> list[str]:
        """Return the outcomes as sorted lines: those that pass by file, and others by test without its parameters."""
        passed = counted("passed", self.passed, module_of)
        skipped = counted("skipped", self.skipped, without_parameters)
        return sorted([*passed, *skipped, *(f"failed {name}" for name in self.failed)])


@dataclass
class Differences:
    """The contents of `zarr_python_differences.txt`."""

    failing: set[str] = field(default_factory=set)
    ignored: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls) -> "Differences":
        found = cls()
        for line in DIFFERENCES.read_text().splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "fails":
                found.failing.add(rest)
            elif kind == "ignored":
                found.ignored.append(rest)
            elif kind == "environment":
                name, _, value = rest.partition("=")
                found.environment[name] = value
            else:
                assert not line or kind == "#", line
        return found


def test_outcomes_are_those_of_the_default_pipeline_except_for_listed_tests(tmp_path: Path) -> None:
    is_long = os.environ.get("ZARR_LONG") == "1"
    differences = Differences.read()
    tests = ["tests", *(f"--ignore={path}" for path in differences.ignored)] if is_long else TESTS
    limit = LONG_LIMIT if is_long else LIMIT
    folder = sources()
    if os.environ.get("UPDATE_SNAPSHOTS"):
        store(run(folder, tests, tmp_path / "default.xml", differences.environment, limit))
    pipeline = {"ZARR_CODEC_PIPELINE__PATH": "zarr_kit.CodecPipeline"}
    ours = run(folder, tests, tmp_path / "ours.xml", {**differences.environment, **pipeline}, limit)
    listed = {name for name in differences.failing if is_long or is_in_any(TESTS, name)}
    unknown = {name for name in ours.failed if not covers(listed, name)}
    fixed = {line for line in listed if any(covers([line], name) for name in ours.passed | ours.skipped)}
    absent = {line for line in listed if not any(covers([line], name) for name in ours.failed)}
    assert (unknown, fixed, absent) == (set(), set(), set())
    # Listed tests pass with the default pipeline.
    same = Outcomes(passed=ours.passed | ours.failed, skipped=ours.skipped)
    assert same.lines() == [line for line in stored() if is_long or is_in_any(TESTS, line.split(" ")[1])]


def stored() -> list[str]:
    return [line for line in OUTCOMES.read_text().splitlines() if not line.startswith("#")]


def store(default: Outcomes) -> None:
    """Replace the outcomes of the files that ran."""
    assert not default.failed, default.failed
    ran = {module_of(name) for name in default.passed | default.skipped}
    others = [line for line in stored() if module_of(line.split(" ")[1]) not in ran]
    heading = f"# The outcomes of the tests of zarr-python {version('zarr')} with its default pipeline."
    OUTCOMES.write_text("\n".join([heading, *sorted([*others, *default.lines()])]) + "\n")


def module_of(name: str) -> str:
    """Return the module of a test, whose class has a capital letter."""
    path = name.partition("::")[0]
    return re.sub(r"\.[A-Z].*", "", path)


def without_parameters(name: str) -> str:
    return name.partition("[")[0]


def counted(outcome: str, names: Iterable[str], group: Callable[[str], str]) -> list[str]:
    """Return a line for each group of tests: its name, the number of tests, and a hash of their names."""
    groups: dict[str, set[str]] = defaultdict(set)
    for name in names:
        groups[group(name)].add(name)
    return [f"{outcome} {name} {len(members)} {hashed(members)}" for name, members in groups.items()]


def hashed(names: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]


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


def run(folder: Path, tests: list[str], report: Path, settings: dict[str, str], limit: float) -> Outcomes:
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
    environment = {**os.environ, **settings}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=limit
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
    return name == module or name.startswith((f"{module}.", f"{module}::"))


def is_in_any(paths: Iterable[str], name: str) -> bool:
    return any(is_in(path, name) for path in paths)


def covers(listed: Iterable[str], name: str) -> bool:
    """Return whether the list has the test, or the test without its parameters."""
    return name in listed or without_parameters(name) in listed
