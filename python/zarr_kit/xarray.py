"""The backend `zarr-kit` of xarray: ``xarray.open_dataset(location, engine="zarr-kit")``.

It reads v2, the v3 draft and v3, with consolidated metadata or without. Variables are lazy. Values, attributes and
encodings are those of the backend `zarr`; encodings have codecs only where zarr-python is installed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, override

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree, Variable
from xarray.backends import BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.backends.zarr import FillValueCoder
from xarray.core import indexing

from zarr_kit._api import Options, open_group
from zarr_kit._array import Array
from zarr_kit._group import Group
from zarr_kit._zarr_python import codecs_of

# Where v2 has the names of dimensions.
_DIMENSIONS = "_ARRAY_DIMENSIONS"
_DECODERS = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "decode_coords",
    "use_cftime",
    "decode_timedelta",
)
_OPTIONS = ("group", "consolidated", "storage_options", "zarr_format", "strict", "threads")


class ZarrKitBackend(BackendEntrypoint):
    """Opens data sets and trees with ``zarr_kit``."""

    description = "Open Zarr v2, the v3 draft and v3 with zarr_kit"
    url = "https://github.com/zarr-kit/zarr-kit"
    supports_groups = True
    open_dataset_parameters = ("filename_or_obj", "drop_variables", *_DECODERS, *_OPTIONS)

    @override
    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: the backend is used where it is asked for."""
        return False

    @override
    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **arguments: Any
    ) -> Dataset:
        """Open a group as a data set."""
        return _dataset(_group(filename_or_obj, arguments), drop_variables, _decoders(arguments))

    @override
    def open_groups_as_dict(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **arguments: Any
    ) -> dict[str, Dataset]:
        """Open a group and all groups below it, by their paths from it."""
        group = _group(filename_or_obj, arguments)
        decoders = _decoders(arguments)
        prefix = group.path.rstrip("/")
        groups = [group, *_groups_below(group)]
        return {found.path[len(prefix) :] or "/": _dataset(found, drop_variables, decoders) for found in groups}

    @override
    def open_datatree(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **arguments: Any
    ) -> DataTree:
        """Open a group and all groups below it as a tree."""
        groups = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **arguments)
        return DataTree.from_dict(groups)


class _Store(AbstractDataStore):
    """A group as a store of variables."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def get_attrs(self) -> Mapping[str, Any]:
        return _without_nc(self._group.attrs.asdict())

    def get_variables(self) -> Mapping[str, Variable]:
        return {name: _variable(array) for name, array in self._group.arrays()}

    def get_dimensions(self) -> Mapping[str, int]:
        sizes: dict[str, int] = {}
        for variable in self.get_variables().values():
            sizes.update({str(name): size for name, size in variable.sizes.items()})
        return sizes


class _LazyArray(BackendArray):
    """An array that is read where it is indexed."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        read = self._array.__getitem__
        if isinstance(key, indexing.VectorizedIndexer):
            read = self._array.vindex.__getitem__
        elif isinstance(key, indexing.OuterIndexer):
            read = self._array.oindex.__getitem__
        value = indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.VECTORIZED, read)
        return self._as_array(value)

    def _as_array(self, value: Any) -> NDArray[Any]:
        return value if isinstance(value, np.ndarray) else np.asarray(value, dtype=self.dtype)


def _group(location: Any, arguments: Mapping[str, Any]) -> Group:
    """Open the group that the arguments of the backend name."""
    for name in arguments:
        if name not in _DECODERS and name not in _OPTIONS:
            raise TypeError(f"the backend zarr-kit has no argument {name!r}")
    options = Options(
        storage_options=arguments.get("storage_options"),
        zarr_format=arguments.get("zarr_format"),
        use_consolidated=arguments.get("consolidated"),
        strict=arguments.get("strict", False),
        threads=arguments.get("threads"),
    )
    return open_group(location, path=arguments.get("group"), mode="r", **options)


def _decoders(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name in _DECODERS}


def _dataset(group: Group, drop_variables: str | Iterable[str] | None, decoders: dict[str, Any]) -> Dataset:
    return StoreBackendEntrypoint().open_dataset(_Store(group), drop_variables=drop_variables, **decoders)


def _groups_below(group: Group) -> list[Group]:
    groups = []
    for _, below in group.groups():
        groups += [below, *_groups_below(below)]
    return groups


def _variable(array: Array) -> Variable:
    attributes = array.attrs.asdict()
    dimensions = attributes.pop(_DIMENSIONS, None) if array.format != "v3" else None
    dimensions = dimensions if dimensions is not None else array.dimension_names
    dimensions = () if dimensions is None else tuple(dimensions)
    if len(dimensions) != array.ndim:
        raise KeyError(f"array {array.path} has {array.ndim} dimensions, and names for {len(dimensions)}")
    encoding: dict[str, Any] = {
        "chunks": array.chunks,
        "preferred_chunks": dict(zip(dimensions, array.chunks, strict=True)),
        "shards": array.shards,
        **codecs_of(array),
    }
    if array.dtype.kind == "T":
        encoding["dtype"] = array.dtype
    if array.format == "v3":
        encoding["fill_value"] = array.fill_value
        if "_FillValue" in attributes:
            attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], array.dtype)
    elif array.fill_value is not None:
        # In the older formats, the fill value marks missing values.
        attributes["_FillValue"] = array.fill_value
    if array.format == "v2":
        attributes = _without_nc(attributes)
    return Variable(dimensions, indexing.LazilyIndexedArray(_LazyArray(array)), attributes, encoding)


def _without_nc(attributes: dict[str, Any]) -> dict[str, Any]:
    """Leave out the attributes of netCDF's own form of Zarr."""
    return {name: value for name, value in attributes.items() if not name.lower().startswith("_nc")}
