"""Plugins that tests build: libraries from C and from Rust crates, and modules in WebAssembly."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# The script of the package.
ZARRCTL = Path(sys.executable).with_name("zarrctl")


def run(command: list[Any], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with `folder` as the home of the user. The programs of this environment come first."""
    removed = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ZARR_"))}
    path = os.pathsep.join([str(ZARRCTL.parent), os.environ["PATH"]])
    environment = {**removed, "HOME": str(folder), "PATH": path, **environment}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def checked(command: list[Any], folder: Path, **environment: str) -> str:
    """Run a command that succeeds. Return its output."""
    ended = run(command, folder, **environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def write_archive(folder: Path) -> None:
    """Write `xor.zip` with the codec `example.xor`, which is written in C."""
    plugin = ROOT / "zarr-plugin"
    source = folder / "library.c"
    source.write_text('#include "tests/plugins/xor.c"\n')
    options = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", f"-I{plugin}/include", f"-I{plugin}"]
    checked(["cc", *options, "-o", "libxor.so", source], folder)
    checked([ZARRCTL, "plugins", "pack", "libxor.so"], folder)
    with zipfile.ZipFile(folder / "xor.zip", "w") as archive:
        for path in (folder / "dist").iterdir():
            archive.write(path, f"dist/{path.name}")


def crates(*names: str) -> list[Path]:
    """Build crates of `conformance/outside`. Return the libraries."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "tmp/plugins"
    packages = [argument for name in names for argument in ("--package", f"outside-{name}-plugin")]
    # With this profile, dependencies are those of the guide for plugins, whose test builds into the same folder.
    variables = {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}
    build = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--locked", "--release", *packages]
    ended = subprocess.run(
        build,
        cwd=ROOT / "conformance/outside",
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [target / f"release/liboutside_{name.replace('-', '_')}_plugin.so" for name in names]


def webassembly(folder: Path) -> Path:
    """Build the example `example.runs` as a module in a folder."""
    module = folder / "runs.wasm"
    options = ["--target=wasm32", "-O2", "-mbulk-memory", "-nostdlib", f"-I{ROOT}/zarr-plugin/include"]
    options.append("-Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table")
    checked(["clang", *options, "-o", module, ROOT / "examples/three-ways/runs.c"], folder)
    return module
