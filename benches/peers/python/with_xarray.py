"""xarray with its own engine for Zarr, or with the engine of the Python package. It opens data sets."""

import importlib.metadata
import json
import warnings

import xarray as xr

from runner import checksum_of_lines, timed

ENGINES = {"xarray": "zarr", "xarray-zarr-kit": "zarr-kit"}


class Program:
    def __init__(self, name, threads):
        self.engine = ENGINES[name]
        self.version = importlib.metadata.version("xarray")
        # Consolidated metadata is not part of the specification of v3.
        warnings.simplefilter("ignore")

    def prepare(self, case):
        if case.operation != "open" or not is_consolidated(case.folder):
            raise NotImplementedError("only data sets with names of dimensions are opened")
        return lambda: self.do_open(case)

    def do_open(self, case):
        dataset, seconds = timed(lambda: xr.open_dataset(self.location(case), engine=self.engine))
        lines = (f"/{name} [{', '.join(map(str, variable.shape))}]" for name, variable in dataset.items())
        return seconds, checksum_of_lines(lines)

    def location(self, case):
        if not case.far:
            return str(case.folder)
        url = f"s3://{case.far['bucket']}/{case.far['prefix']}"
        if self.engine == "zarr-kit":
            return {"type": "s3", "url": url, "endpoint": case.far["endpoint"], "anonymous": True}
        import zarr
        from with_zarr import object_store

        zarr.config.set({"async.concurrency": case.far["requests"]})
        return object_store(case.far)


def is_consolidated(folder):
    return "consolidated_metadata" in json.loads((folder / "zarr.json").read_text())
