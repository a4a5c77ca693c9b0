"""xarray with its own engine for Zarr and three codec pipelines of zarr-python, or with the engine of the Python package.

Elements are read from a data set, whose only variable is the array. xarray does not have a call that reads into memory of
the caller, or several parts at once.
"""

import importlib.metadata
import json
import warnings

import xarray as xr

from runner import checksum, checksum_of_lines, timed

PIPELINES = {
    "xarray": "zarr-python",
    "xarray-fused": "zarr-python-fused",
    "xarray-zarrs": "zarr-python-zarrs",
}


class Program:
    def __init__(self, name, threads):
        self.version = importlib.metadata.version("xarray")
        # Consolidated metadata is not part of the specification of v3.
        warnings.simplefilter("ignore")
        self.zarr_python = None
        if name in PIPELINES:
            import with_zarr

            self.zarr_python = with_zarr.Program(PIPELINES[name], threads)
            self.version += f", zarr {self.zarr_python.version}"
        else:
            self.version += f", zarr_kit {importlib.metadata.version('zarr_kit')}"

    def prepare(self, case):
        operation = getattr(self, "do_" + case.operation.replace("-", "_"), None)
        if operation is None:
            raise NotImplementedError(f"`{case.operation}` is not compared with xarray")
        if not has_names_of_dimensions(case):
            raise NotImplementedError("xarray opens only arrays with names of dimensions")
        return lambda: operation(case)

    def do_read(self, case):
        variable = self.open(case)["array"].variable
        found, seconds = timed(lambda: variable.values)
        return seconds, checksum(found)

    # A whole read returns a NumPy array, which has a type and a shape.
    do_read_values = do_read
    do_read_ndarray = do_read

    def do_chunks(self, case):
        return self.one_by_one(case, case.chunk_slices())

    def do_boxes(self, case):
        return self.one_by_one(case, case.boxes)

    do_boxes_at_once = do_boxes

    def one_by_one(self, case, boxes):
        variable = self.open(case)["array"].variable
        total = found = 0
        for box in boxes:
            elements, seconds = timed(lambda box=box: variable[box].values)
            total += seconds
            found = checksum(elements, found)
        return total, found

    def do_open(self, case):
        dataset, seconds = timed(lambda: self.open(case))
        lines = (f"/{name} [{', '.join(map(str, variable.shape))}]" for name, variable in dataset.items())
        return seconds, checksum_of_lines(lines)

    def open(self, case):
        """Open the data set. Without the argument `cache`, xarray would keep all elements that it has read."""
        engine = "zarr" if self.zarr_python else "zarr-kit"
        return xr.open_dataset(self.location(case), engine=engine, cache=False)

    def location(self, case):
        if self.zarr_python:
            return self.zarr_python.store(case)
        import with_zarr_kit

        return with_zarr_kit.location(case)


def has_names_of_dimensions(case):
    if case.operation == "open":
        return "consolidated_metadata" in json.loads((case.folder / "zarr.json").read_text())
    return "dimension_names" in json.loads(case.document[1])
