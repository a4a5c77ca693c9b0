"""Reads an array with GDAL: `gdal_read.py STORE ARRAY OUT`, with the Python that has GDAL's bindings."""

import json
import sys
from pathlib import Path

import numpy as np
from osgeo import gdal

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes

gdal.UseExceptions()


def stored_type(folder: Path, elements: np.ndarray) -> np.ndarray:
    """Returns the elements in the type of the document. GDAL has fewer types: it widens `int8`, and texts have any length."""
    document = folder / ".zarray"
    if not document.exists():
        return elements
    name = json.loads(document.read_text())["dtype"]
    kinds = "SU" if elements.dtype.kind == "O" else "biufc"
    if elements.dtype.kind not in "iufcO" or not isinstance(name, str) or np.dtype(name).kind not in kinds:
        return elements
    stored = elements.astype(np.dtype(name).newbyteorder("="))
    is_text = elements.dtype.kind == "O"
    return stored if is_text or np.array_equal(stored, elements, equal_nan=elements.dtype.kind in "fc") else elements


store, path, out = sys.argv[1:]
# The prefix makes GDAL open the folder whatever its name is.
dataset = gdal.OpenEx(f'ZARR:"{store}"', gdal.OF_MULTIDIM_RASTER)
array = dataset.GetRootGroup().OpenMDArrayFromFullname(path)
if array is None:
    sys.exit(f"no array {path}")
if array.GetDataType().GetClass() == gdal.GEDTC_STRING:
    elements = np.array(array.Read(), dtype=object)
else:
    elements = array.ReadAsArray()
Path(out).write_bytes(raw_bytes(stored_type(Path(store) / path.strip("/"), np.asarray(elements))))
