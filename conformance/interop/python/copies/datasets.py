"""Writes datasets with xarray, and compares a store and its copy, as xarray reads them.

datasets.py write FOLDER: writes `v2.zarr` and `v3.zarr`.
datasets.py compare SOURCE COPY: prints each difference; exits with status 1 if there is one.
"""

import sys
import warnings

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")

ENCODING = {
    "packed": {"dtype": "i2", "scale_factor": 0.001, "add_offset": 2.0, "_FillValue": -32768, "chunks": (2,)},
    "marked": {"_FillValue": -999.0, "chunks": (2,)},
    "marked32": {"_FillValue": np.float32(0.1), "chunks": (2,)},
    "counts": {"_FillValue": 0},
    "small": {"_FillValue": 255, "dtype": "u1", "chunks": (2,)},
}


def dataset():
    """Returns a dataset with many zeros, the usual fill value of v3."""
    days = np.array(["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"], "M8[ns]")
    nan = np.nan
    variables = {
        # In `packed`, 2.0 is stored as 0, so the first chunk has only zeros, which v3 does not store.
        "packed": ("x", np.array([2.0, 2.0, 1.0, nan])),
        "marked": ("x", np.array([0.0, 0.0, nan, 3.0])),
        "marked32": ("x", np.array([0.0, 1.5, nan, 3.0], "f4")),
        "counts": ("x", np.array([nan, 5.0, nan, 7.0])),
        "small": ("x", np.array([0.0, 0.0, nan, 7.0])),
        "flags": ("x", np.array([False, True, False, False])),
        "off": ("x", np.zeros(4, bool)),
        "integers": ("x", np.array([0, 5, 0, 7], "i4")),
        "floats": ("x", np.array([0.0, 1.5, nan, np.inf], "f4")),
        "halves": ("x", np.array([0.0, 1.5, nan, 3.0], "f2")),
        "complex": ("x", np.array([0, 1j, 2, 3], "c8")),
        "scalar": ((), np.int32(0)),
        "unicode": ("x", np.array(["a", "", "bc", "d"], "<U2")),
        "strings": ("x", np.array(["a", "", "bc", "d"], object)),
        "bytes": ("x", np.array([b"a", b"", b"bc", b"d"])),
        "dates": ("x", np.array([days[0], days[1], np.datetime64("NaT"), days[3]])),
        "plane": (("y", "x"), np.arange(12.0).reshape(3, 4)),
    }
    coordinates = {"x": np.arange(4), "y": [0.0, 0.5, 1.0], "time": ("x", days)}
    return xr.Dataset(variables, coords=coordinates, attrs={"title": "t"})


def write(folder):
    for zarr_format in (2, 3):
        dataset().to_zarr(
            f"{folder}/v{zarr_format}.zarr",
            zarr_format=zarr_format,
            encoding={name: dict(encoding) for name, encoding in ENCODING.items()},
            consolidated=False,
        )


def read(store, **options):
    return xr.open_zarr(store, consolidated=False, chunks=None, **options).load()


def differences(source, copy):
    ours, theirs = read(copy), read(source)
    try:
        xr.testing.assert_identical(ours, theirs)
    except AssertionError as error:
        yield str(error)
    for name in theirs.variables:
        if ours[name].dtype != theirs[name].dtype:
            yield f"{name}: {ours[name].dtype} instead of {theirs[name].dtype}"
    # Compares elements in stored form, without masks, scales and times.
    ours, theirs = (read(store, decode_cf=False) for store in (copy, source))
    for name in theirs.variables:
        if not np.array_equal(ours[name].values, theirs[name].values, equal_nan=ours[name].dtype.kind in "fc"):
            yield f"{name}: stored {ours[name].values} instead of {theirs[name].values}"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        found = list(differences(sys.argv[2], sys.argv[3]))
        print("\n".join(found))
        sys.exit(bool(found))
