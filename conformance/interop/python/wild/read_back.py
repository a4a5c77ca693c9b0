"""Compares stores with their copies, as the library of their family reads them.

    read_back.py FAMILY ORIGINAL COPY [ORIGINAL COPY ...]

Prints a JSON object: the versions of the libraries, and for each pair the number of compared items and the differences.
An item is an array, a table, or the attributes of a node.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")


def described(value) -> object:
    """Returns a value in a form that `==` compares exactly: arrays with their types and bits, NaN like any number."""
    if isinstance(value, np.ma.MaskedArray):
        return ["masked", described(np.ma.getmaskarray(value)), described(value.filled())]
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        items = [described(item) for item in array.ravel().tolist()] if array.dtype.hasobject else array.tobytes().hex()
        return [str(array.dtype), list(array.shape), items]
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))}
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    return repr(value)


def zarr_items(group, unreadable: tuple = ()) -> Iterator[tuple[str, object]]:
    """Returns the arrays and attributes of a group of zarr-python 3, except the arrays `unreadable`."""
    import zarr

    yield "/ attributes", dict(group.attrs)
    for path, node in sorted(group.members(max_depth=None)):
        if path in unreadable:
            continue
        yield f"/{path} attributes", dict(node.attrs)
        if isinstance(node, zarr.Array):
            yield f"/{path}", node[...]


def with_zarr(store: str) -> Iterator[tuple[str, object]]:
    import zarr

    yield from zarr_items(zarr.open_group(store, mode="r", use_consolidated=False))


def frame_items(name: str, frame) -> Iterator[tuple[str, object]]:
    """Returns the columns of a pandas table."""
    yield f"{name} index", frame.index.to_numpy()
    for column, values in frame.items():
        kind = str(values.dtype)
        if kind == "category":
            kind = f"category {values.cat.categories.tolist()} {values.cat.ordered}"
        yield f"{name}.{column}", [kind, values.to_numpy(dtype=object)]


def anndata_value(name: str, value) -> Iterator[tuple[str, object]]:
    import pandas as pd
    import scipy.sparse

    if isinstance(value, pd.DataFrame):
        yield from frame_items(name, value)
    elif scipy.sparse.issparse(value):
        yield name, [value.format, list(value.shape), value.data, value.indices, value.indptr]
    elif isinstance(value, Mapping):
        # The matrix itself is the layer `None`.
        for key in sorted(value, key=str):
            yield from anndata_value(f"{name}/{key}", value[key])
    elif value is not None:
        yield name, value


def matrix_items(name: str, matrix) -> Iterator[tuple[str, object]]:
    for part in ("X", "obs", "var", "layers", "obsm", "varm", "obsp", "varp", "uns"):
        yield from anndata_value(f"{name}{part}", getattr(matrix, part))


def with_anndata(store: str) -> Iterator[tuple[str, object]]:
    import anndata

    yield from matrix_items("", anndata.read_zarr(store))


def with_vcztools(store: str) -> Iterator[tuple[str, object]]:
    """Returns the lines of the VCF file that vcztools makes of the store."""
    import io

    from vcztools.retrieval import VczReader
    from vcztools.utils import open_zarr
    from vcztools.vcf_writer import write_vcf

    output = io.StringIO()
    write_vcf(VczReader(open_zarr(store)), output, no_version=True)
    for number, line in enumerate(output.getvalue().splitlines()):
        yield f"line {number}", line


def with_gdal(store: str) -> Iterator[tuple[str, object]]:
    from osgeo import gdal

    gdal.UseExceptions()

    def described_attributes(item) -> dict:
        return {attribute.GetName(): attribute.Read() for attribute in item.GetAttributes() or []}

    def visit(group, path: str):
        yield f"{path}/ attributes", described_attributes(group)
        for name in group.GetMDArrayNames() or []:
            array = group.OpenMDArray(name)
            reference = array.GetSpatialRef()
            yield f"{path}/{name}", array.ReadAsArray()
            yield f"{path}/{name} attributes", described_attributes(array)
            yield f"{path}/{name} unit, reference", [array.GetUnit(), reference and reference.ExportToWkt()]
            yield f"{path}/{name} missing", array.GetNoDataValueAsDouble()
            yield f"{path}/{name} dimensions", [(axis.GetName(), axis.GetSize()) for axis in array.GetDimensions()]
        for name in group.GetGroupNames() or []:
            yield from visit(group.OpenGroup(name), f"{path}/{name}")

    yield from visit(gdal.OpenEx(store, gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "")
    raster = gdal.OpenEx(store, gdal.OF_RASTER)
    if raster.RasterCount:
        yield "raster", raster.ReadAsArray()
        yield "transform", [raster.GetGeoTransform(), raster.GetProjection(), raster.GetRasterBand(1).GetNoDataValue()]


def with_hdmf_zarr(store: str) -> Iterator[tuple[str, object]]:
    from hdmf_zarr.nwb import NWBZarrIO

    with NWBZarrIO(store, mode="r") as io:
        file = io.read()
        yield "file", [file.session_description, file.identifier, file.session_start_time, file.file_create_date[:]]
        for name, series in file.acquisition.items():
            yield f"acquisition/{name}", series.data[...]
            yield f"acquisition/{name} attributes", [series.unit, series.rate, series.conversion, series.description]
        for name, table in (("trials", file.trials), ("units", file.units)):
            yield from frame_items(name, table.to_dataframe())


def with_icechunk(store: str) -> Iterator[tuple[str, object]]:
    import icechunk
    import zarr

    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(store))
    yield from zarr_items(zarr.open_group(repository.readonly_session("main").store, mode="r"))


def with_imagecodecs(store: str) -> Iterator[tuple[str, object]]:
    import imagecodecs.numcodecs
    import imagecodecs.zarr

    imagecodecs.numcodecs.register_codecs(verbose=False)
    imagecodecs.zarr.register_codecs(verbose=False)
    yield from with_zarr(store)


def with_references(file: str) -> Iterator[tuple[str, object]]:
    """Returns the arrays of references, as fsspec and zarr-python read them."""
    import fsspec
    import imagecodecs.numcodecs
    import zarr

    imagecodecs.numcodecs.register_codecs(verbose=False)
    # fsspec resolves relative targets in the working directory.
    os.chdir(Path(file).parent)
    files = fsspec.filesystem("reference", fo=file, remote_protocol="file", asynchronous=True)
    store = zarr.storage.FsspecStore(files, read_only=True)
    group = zarr.open_group(store, mode="r", zarr_format=2, use_consolidated=False)
    # virtualizarr describes the stream of LZF in a way that imagecodecs does not read.
    yield from zarr_items(group, unreadable=("lzf",))


def with_kerchunk(file: str) -> Iterator[tuple[str, object]]:
    """Returns the variables of references, as the backend of kerchunk for xarray reads them."""
    import xarray as xr

    os.chdir(Path(file).parent)
    options = {"remote_protocol": "file"}
    for group in ("/", "/g"):
        opened = {"group": group, "chunks": None}
        dataset = xr.open_dataset(file, engine="kerchunk", storage_options=options, open_dataset_options=opened)
        yield from dataset_items(f"{group} ", dataset)


def with_virtualizarr(file: str) -> Iterator[tuple[str, object]]:
    """Returns the variables of references, as virtualizarr reads them."""
    import xarray as xr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = KerchunkJSONParser(fs_root=f"file://{Path(file).parent}/")
    store = parser(url=f"file://{file}", registry=registry)
    yield from dataset_items("", xr.open_zarr(store, consolidated=False, zarr_format=3, chunks=None, decode_cf=False))


def with_tensorstore(container: str) -> Iterator[tuple[str, object]]:
    import tensorstore as ts

    for attributes in sorted(Path(container).rglob("attributes.json")):
        path = str(attributes.parent.relative_to(container))
        members = json.loads(attributes.read_text())
        if "dimensions" in members:
            kvstore = {"driver": "file", "path": f"{attributes.parent}/"}
            array = ts.open({"driver": "n5", "kvstore": kvstore}).result()
            yield path, array.read().result()
            yield f"{path} layout", [str(array.domain), array.chunk_layout.read_chunk.shape]
            yield f"{path} compression", members["compression"]["type"]


def with_netcdf(store: str) -> Iterator[tuple[str, object]]:
    import netCDF4

    mode = "zarr,file" if Path(store).name.startswith("zarr") else "nczarr,file"

    def visit(path: str, group):
        yield f"{path}/ attributes", group.__dict__
        yield f"{path}/ dimensions", [(name, len(axis), axis.isunlimited()) for name, axis in group.dimensions.items()]
        for name, variable in group.variables.items():
            yield f"{path}/{name} attributes", variable.__dict__
            yield f"{path}/{name} dimensions", [variable.dimensions, variable.shape, variable.chunking()]
            variable.set_auto_maskandscale(False)
            yield f"{path}/{name} stored", np.asarray(variable[...])
            variable.set_auto_maskandscale(True)
            yield f"{path}/{name}", variable[...]
        for name, child in group.groups.items():
            yield from visit(f"{path}/{name}", child)

    with netCDF4.Dataset(f"file://{store}#mode={mode}", "r") as dataset:
        yield from visit("", dataset)


def with_ngff_zarr(store: str) -> Iterator[tuple[str, object]]:
    import ngff_zarr

    scales = ngff_zarr.from_ome_zarr(store)
    yield "metadata", repr(scales.metadata)
    for number, image in enumerate(scales.images):
        yield f"image {number}", image.data.compute()
        yield f"image {number} axes", [image.dims, image.scale, image.translation, image.name, image.axes_units]


def with_ome_zarr(store: str) -> Iterator[tuple[str, object]]:
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    for number, node in enumerate(Reader(parse_url(store))()):
        # Plates have their specifications in `node.specs`, which print as addresses.
        yield f"node {number}", [str(node.zarr.basename()), [type(spec).__name__ for spec in node.specs]]
        yield f"node {number} metadata", without_objects(node.metadata)
        for level, data in enumerate(node.data):
            yield f"node {number} level {level}", data.compute()
    yield from with_zarr(store)


def without_objects(value):
    """Returns metadata without objects that print as addresses."""
    if isinstance(value, Mapping):
        return {key: without_objects(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_objects(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else type(value).__name__


def dataset_items(name: str, dataset) -> Iterator[tuple[str, object]]:
    """Returns the variables of a dataset of xarray."""
    yield f"{name} attributes", dataset.attrs
    yield f"{name} dimensions, coordinates", [dict(dataset.sizes), sorted(map(str, dataset.coords))]
    for variable in sorted(dataset.variables):
        yield f"{name}{variable}", [dataset[variable].dims, dataset[variable].values]
        yield f"{name}{variable} attributes", dataset[variable].attrs


def with_xarray(store: str) -> Iterator[tuple[str, object]]:
    import xarray as xr

    for name, options in (("decoded ", {}), ("stored ", {"decode_cf": False})):
        yield from dataset_items(name, xr.open_zarr(store, chunks=None, **options))


def with_rioxarray(store: str) -> Iterator[tuple[str, object]]:
    import rioxarray  # noqa: F401  adds the accessor `rio`
    import xarray as xr

    dataset = xr.open_zarr(store, chunks=None, decode_coords="all")
    yield from dataset_items("", dataset)
    raster = dataset["raster"].rio
    yield "projection", raster.crs.to_wkt()
    yield "transform", [tuple(raster.transform()), raster.bounds(), raster.nodata, raster.shape]


def with_spatialdata(store: str) -> Iterator[tuple[str, object]]:
    import spatialdata
    from spatialdata.transformations import get_transformation

    dataset = spatialdata.read_zarr(store)
    for kind in ("images", "labels"):
        for name, element in getattr(dataset, kind).items():
            scales = element.subtree if hasattr(element, "subtree") else [element]
            for number, scale in enumerate(scales):
                for key, array in getattr(scale, "data_vars", {name: scale}).items():
                    yield f"{kind}/{name}/{number}/{key}", [array.dims, np.asarray(array.data)]
                    places = {axis: np.asarray(values) for axis, values in array.coords.items()}
                    yield f"{kind}/{name}/{number}/{key} coordinates", places
            yield f"{kind}/{name} transformations", repr(get_transformation(element, get_all=True))
    for name, table in dataset.tables.items():
        yield from matrix_items(f"tables/{name}/", table)


def with_z5py(store: str) -> Iterator[tuple[str, object]]:
    import z5py

    def visit(path: str, group):
        # The container declares the version of N5 that its writer supports.
        yield f"{path}/ attributes", {name: value for name, value in group.attrs.items() if name != "n5"}
        for name in sorted(group):
            node = group[name]
            if isinstance(node, z5py.Dataset):
                yield f"{path}/{name}", node[...]
                yield f"{path}/{name} attributes", dict(node.attrs.items())
                yield f"{path}/{name} layout", [node.chunks, node.compression, str(node.dtype)]
            else:
                yield from visit(f"{path}/{name}", node)

    yield from visit("", z5py.File(store, "r", use_zarr_format=store.endswith(".zarr")))


def with_zarr_n5(store: str) -> Iterator[tuple[str, object]]:
    import zarr_n5  # noqa: F401  registers the codec

    yield from with_zarr(store)


def with_zarr_2(store: str) -> Iterator[tuple[str, object]]:
    import zarr

    nodes = [zarr.open_group(store, mode="r")]
    nodes[0].visitvalues(lambda node: nodes.append(node))
    for node in nodes:
        yield f"{node.name} attributes", node.attrs.asdict()
        if isinstance(node, zarr.Array):
            yield node.name, node[...]


# The functions that read the families, and the packages whose versions are printed.
FAMILIES = {
    "anndata": (with_anndata, ["anndata", "zarr"]),
    "bio2zarr": (with_vcztools, ["vcztools", "zarr"]),
    "gdal": (with_gdal, ["GDAL"]),
    "gribberish": (with_zarr, ["zarr"]),
    "hdf5plugin": (with_references, ["fsspec", "imagecodecs", "zarr"]),
    "hdmf-zarr": (with_hdmf_zarr, ["hdmf-zarr", "pynwb", "zarr"]),
    "icechunk": (with_icechunk, ["icechunk", "zarr"]),
    "imagecodecs": (with_imagecodecs, ["imagecodecs", "zarr"]),
    "kerchunk": (with_kerchunk, ["kerchunk", "fsspec", "xarray", "zarr"]),
    "n5": (with_tensorstore, ["tensorstore"]),
    "netcdf-c": (with_netcdf, ["netCDF4"]),
    "ngff-zarr": (with_ngff_zarr, ["ngff-zarr", "zarr"]),
    "ome-zarr": (with_ome_zarr, ["ome-zarr", "zarr"]),
    "rioxarray": (with_rioxarray, ["rioxarray", "rasterio", "xarray", "zarr"]),
    "spatialdata": (with_spatialdata, ["spatialdata", "zarr"]),
    "virtualizarr": (with_virtualizarr, ["virtualizarr", "xarray", "zarr"]),
    "wavpack-numcodecs": (with_zarr, ["wavpack-numcodecs", "zarr"]),
    "xarray": (with_xarray, ["xarray", "zarr"]),
    "z5py": (with_z5py, ["z5py"]),
    "zarr-n5": (with_zarr_n5, ["zarr-n5", "zarr"]),
    "zarr-python-2": (with_zarr_2, ["zarr", "numcodecs"]),
}


def items(pairs: Iterator[tuple[str, object]]) -> dict[str, object]:
    """Returns items by their names, of which each is unique."""
    found = {}
    for name, item in pairs:
        assert name not in found, name
        found[name] = described(item)
    return found


def compared(read, original: str, copy: str) -> dict:
    """Returns the number of items of the original, and the names of those that the copy lacks or changes."""
    theirs = items(read(original))
    try:
        ours = items(read(copy))
    except Exception as error:
        return {"items": len(theirs), "differences": [f"{type(error).__name__}: {error}"]}
    names = [*theirs, *(name for name in ours if name not in theirs)]
    differences = [
        f"{name}: {str(ours.get(name))[:200]} instead of {str(theirs.get(name))[:200]}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]
    return {"items": len(theirs), "differences": differences}


def main(family: str, stores: list[str]) -> None:
    read, packages = FAMILIES[family]
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    pairs = zip(stores[::2], stores[1::2], strict=True)
    print(json.dumps({"versions": versions, "pairs": [compared(read, *pair) for pair in pairs]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
