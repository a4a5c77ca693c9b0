"""Writes many small hierarchies with another program as the initial corpus for fuzzing.

Each folder below OUT_DIR is one hierarchy. OUT_DIR must be empty or absent. Prints the versions of the packages.
"""

import argparse
import importlib
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

PROGRAMS = {
    "zarr-python-2": ("small.with_zarr2", ("zarr", "numcodecs")),
    "zarr-python-3": ("small.with_zarr3", ("zarr", "numcodecs")),
    "tensorstore": ("small.with_tensorstore", ("tensorstore",)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", metavar="OUT_DIR", type=Path)
    parser.add_argument("--program", required=True, choices=PROGRAMS)
    arguments = parser.parse_args()
    if arguments.out_dir.exists() and any(arguments.out_dir.iterdir()):
        parser.error(f"{arguments.out_dir} is not empty")
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    module, packages = PROGRAMS[arguments.program]
    importlib.import_module(module).write(arguments.out_dir)
    print(", ".join(f"{package} {version(package)}" for package in packages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
