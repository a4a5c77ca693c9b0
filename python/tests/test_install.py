"""The commands of the README install the package from a checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

from strategies import IS_LONG

FOLDER = Path(__file__).parents[1]


def installs(folder: Path) -> None:
    """Install the package with pip into a new environment, and run the first example of the README."""
    readme = (FOLDER / "README.md").read_text()
    assert "`pip install ./python`" in readme
    [example, *_] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    run(sys.executable, "-m", "venv", "new", folder=folder)
    programs = folder / "new/bin"
    # With this profile and feature, pip uses the crates that are compiled for the other tests.
    arguments = {"MATURIN_PEP517_ARGS": "--locked --profile dev --features shared-features"}
    run(programs / "pip", "install", "--quiet", str(FOLDER), folder=FOLDER.parent, **arguments)
    assert "temperature" in run(programs / "python", "-c", example, folder=folder)
    assert run(programs / "zarrctl", "info", "weather.zarr/temperature", folder=folder)


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


# It takes long, and a test that is skipped would be a failure in CI.
if IS_LONG:

    def test_pip_installs_the_package_from_a_checkout(tmp_path: Path) -> None:
        installs(tmp_path)
