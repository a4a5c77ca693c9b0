"""Writes datasets with missing, packed and other encoded values, and prints the values that xarray decodes.

decoded.py write FOLDER: writes `v2.zarr` and `v3.zarr` with xarray, and `plain.zarr` and `unnamed.zarr` with
zarr-python.
decoded.py values STORE [masked]: prints a JSON object with the values of each variable; with `masked`, elements that equal
the fill value are missing in v3 too.
"""

import json
import sys
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")

NAN = np.nan
HOURS = np.array(["2000-01-01", "2000-01-02T06", "NaT", "2000-01-04"], "M8[ns]")

VARIABLES = {
    "integers": (np.array([0, 5, 0, 7], "i4"), {}),
    "marked_integers": (np.array([0.0, 5.0, NAN, 7.0]), {"dtype": "i2", "_FillValue": -99}),
    "marked_zero": (np.array([NAN, 5.0, NAN, 7.0]), {"dtype": "u1", "_FillValue": 0}),
    "marked_by_two": (np.array([1.0, NAN, 3.0, 4.0]), {"dtype": "i4", "_FillValue": -1, "missing_value": -1}),
    "missing_value": (np.array([1.0, NAN, 3.0, 4.0]), {"dtype": "i2", "missing_value": -7}),
    "floats": (np.array([0.0, 1.5, NAN, np.inf]), {}),
    "marked_floats": (np.array([0.0, 1.5, NAN, 3.0]), {"_FillValue": -999.0}),
    "marked_floats32": (np.array([0.0, 1.5, NAN, 3.0], "f4"), {"_FillValue": np.float32(0.1)}),
    "marked_halves": (np.array([0.0, 1.5, NAN, 3.0], "f2"), {"_FillValue": np.float16(0.1)}),
    "packed": (
        np.array([2.0, 2.5, NAN, -1.0]),
        {"dtype": "i2", "scale_factor": 0.1, "add_offset": 2.0, "_FillValue": -32768},
    ),
    "packed_zero": (np.array([2.0, NAN, 3.0, 4.0]), {"dtype": "u1", "add_offset": 1.5, "scale_factor": 0.5, "_FillValue": 0}),
    "scaled": (np.array([0.5, 1.0, 1.5, 2.0]), {"dtype": "i4", "scale_factor": 0.5}),
    "scaled_floats": (np.array([0.5, NAN, 1.5, 2.0], "f4"), {"scale_factor": 0.1, "_FillValue": np.float32(-5)}),
    "unsigned": (np.array([0.0, 200.0, NAN, 127.0]), {"dtype": "i1", "_Unsigned": "true", "_FillValue": -1}),
    "unsigned_packed": (
        np.array([0.0, 20.0, NAN, 12.5]),
        {"dtype": "i1", "_Unsigned": "true", "_FillValue": -1, "scale_factor": 0.1},
    ),
    "times": (HOURS, {"units": "hours since 2000-01-01", "dtype": "i4", "_FillValue": -1}),
    "exact_times": (HOURS[:2].repeat(2), {"units": "seconds since 1970-01-01", "dtype": "i8"}),
    "float_times": (HOURS, {"units": "days since 1999-12-31", "dtype": "f8", "_FillValue": NAN}),
    "model_times": (
        xr.date_range("2000-02-27", periods=4, calendar="noleap", use_cftime=True).values,
        {"units": "days since 2000-01-01", "calendar": "noleap", "dtype": "i4"},
    ),
    "texts": (np.array(["a", "", "bc", "d"], object), {}),
}


def write(folder: str) -> None:
    for zarr_format in (2, 3):
        dataset = xr.Dataset({name: ("x", values) for name, (values, _) in VARIABLES.items()})
        encoding = {name: dict(options) for name, (_, options) in VARIABLES.items()}
        if zarr_format == 3:
            # The fill value of v3 that is not an attribute.
            encoding["integers"]["fill_value"] = 5
        dataset.to_zarr(f"{folder}/v{zarr_format}.zarr", zarr_format=zarr_format, encoding=encoding, consolidated=False)
    write_plain(folder)


def write_plain(folder: str) -> None:
    """Writes arrays of v2 as programs other than xarray write them: fill values and attributes are independent."""
    group = zarr.create_group(f"{folder}/plain.zarr", zarr_format=2)
    for name, values, fill, attributes in (
        ("zero", np.array([0, 5, 0, 7], "i4"), 0, {}),
        ("undefined", np.array([0, 5, 0, 7], "i4"), None, {}),
        ("attribute", np.array([0, 5, 0, 7], "i4"), None, {"_FillValue": 5}),
        ("attribute32", np.array([0.1, 5, 0, 7], "f4"), None, {"_FillValue": 0.1}),
        ("packed", np.array([0, 5, 10, 7], "i2"), 0, {"scale_factor": 0.5}),
        ("times", np.array([0, 5, 10, 7], "i4"), 0, {"units": "days since 2001-01-01"}),
        ("signed", np.array([0, 200, 255, 7], "u1"), 255, {"_Unsigned": "false"}),
        ("both", np.array([0, 5, 0, 7], "i4"), 0, {"_FillValue": 5}),
        ("flags", np.array([True, False, True, False]), False, {}),
    ):
        array = group.create_array(name, shape=4, chunks=2, dtype=values.dtype, fill_value=fill)
        array[:] = values
        array.attrs.update({"_ARRAY_DIMENSIONS": ["x"], **attributes})
    # xarray opens only groups whose arrays all have names of dimensions.
    unnamed = zarr.create_group(f"{folder}/unnamed.zarr", zarr_format=2)
    unnamed.create_array("zero", data=np.array([0, 5, 0, 7], "i4"), fill_value=0)
    zero = group.create_array("scalar", shape=(), dtype="i4", fill_value=0)
    zero.attrs["_ARRAY_DIMENSIONS"] = []


def as_json(value) -> float | str | bool:
    """Returns a value as `zarrctl get --cf` prints it."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[us]"))
    elif hasattr(value, "isoformat"):
        text = value.isoformat()
    elif isinstance(value, np.floating | float):
        return float(value) if np.isfinite(value) else str(float(value)).replace("nan", "NaN").replace("inf", "Infinity")
    else:
        return value.item() if isinstance(value, np.generic) else value
    for zeros in (".000000", ":00", "T00:00"):
        text = text.removesuffix(zeros)
    return text


def main(action: str, *arguments: str) -> None:
    if action == "write":
        return write(*arguments)
    # The functions of xarray that open datasets ignore this option.
    options = {"use_zarr_fill_value_as_mask": True} if "masked" in arguments else {}
    dataset = xr.open_dataset(xr.backends.ZarrStore.open_group(arguments[0], consolidated=False, **options))
    print(json.dumps({name: [as_json(value) for value in dataset[name].values.ravel()] for name in dataset.variables}))


if __name__ == "__main__":
    main(*sys.argv[1:])
