"""Reads a dataset over HTTP with xarray, zarr-python and fsspec, and compares it with the same dataset in a folder.

    served_datasets.py URL FOLDER
"""

import sys

import xarray as xr


def main(url: str, folder: str) -> None:
    local = xr.open_zarr(folder, chunks=None).load()
    for consolidated in (True, None):
        remote = xr.open_zarr(url.rstrip("/"), chunks=None, consolidated=consolidated).load()
        xr.testing.assert_identical(remote, local)
    part = xr.open_zarr(url.rstrip("/"), chunks=None)["t2m"][1:3, 1, 2].load()
    xr.testing.assert_identical(part, local["t2m"][1:3, 1, 2])


if __name__ == "__main__":
    main(*sys.argv[1:])
