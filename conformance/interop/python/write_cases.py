"""Writes many small hierarchies with another program, and records their expected content.

Writes stores, expected elements (`expected/*.raw`) and the index `cases.json` into OUT_DIR; see
`cases.py` for the index and `raw.py` for the elements. OUT_DIR must be empty or absent.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

MODULES = {
    "zarr3": "writers.with_zarr3",
    "zarr2": "writers.with_zarr2",
    "zarr2-draft": "writers.with_zarr2_draft",
    "tensorstore": "writers.with_tensorstore",
    "numcodecs": "writers.with_numcodecs",
    "numeric": "writers.with_numeric",
    "images": "writers.with_images",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", metavar="OUT_DIR", type=Path)
    parser.add_argument("--writer", required=True, choices=MODULES)
    parser.add_argument("--sharding", action="store_true", help="zarr2-draft: also write shards (cases-sharding.json)")
    arguments = parser.parse_args()
    if arguments.sharding and arguments.writer != "zarr2-draft":
        parser.error("--sharding requires --writer zarr2-draft")
    if arguments.out_dir.exists() and any(arguments.out_dir.iterdir()):
        parser.error(f"{arguments.out_dir} is not empty")
    if arguments.writer == "zarr2-draft":
        # zarr-python reads these variables only when it is imported.
        os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
        os.environ["ZARR_V3_SHARDING"] = "1"
    try:
        writer = importlib.import_module(MODULES[arguments.writer])
    except ModuleNotFoundError as error:
        parser.error(f"{sys.executable} lacks the module {error.name}; see requirements-*.txt")
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    writer.write(arguments.out_dir)
    if arguments.sharding:
        writer.write_sharded(arguments.out_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
