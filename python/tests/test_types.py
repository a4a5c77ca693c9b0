"""The annotations and the stub of the extension are right."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent


def module(*arguments: str) -> None:
    ended = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=FOLDER, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_code_is_typed() -> None:
    module("mypy", "--strict", "--no-incremental", "--cache-dir", "/dev/null", "zarr_kit", "zarr_kit_plugins", "tests")


def test_the_stub_describes_the_extension() -> None:
    module("mypy.stubtest", "--mypy-config-file", "pyproject.toml", "zarr_kit._engine")
