"""The commands of the README install the package from a checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]


@pytest.mark.skipif(os.environ.get("ZARR_LONG") != "1", reason="it installs NumPy and links the extension")
def test_pip_installs_the_package_from_a_checkout(tmp_path: Path) -> None:
    readme = (FOLDER / "README.md").read_text()
    assert "`pip install ./python`" in readme
    [example, *_] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    run(sys.executable, "-m", "venv", "new", folder=tmp_path)
    programs = tmp_path / "new/bin"
    # With this profile and feature, pip uses the crates that are compiled for the other tests.
    arguments = {"MATURIN_PEP517_ARGS": "--locked --profile dev --features shared-features"}
    run(programs / "pip", "install", "--quiet", str(FOLDER), folder=FOLDER.parent, **arguments)
    printed = run(programs / "python", "-c", example, folder=tmp_path)
    assert "weather.zarr" in printed or "temperature" in printed
    assert run(programs / "zarrctl", "info", "weather.zarr/temperature", folder=tmp_path)


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """Run a command and return its output."""
    removed = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONPYCACHEPREFIX")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
