"""Groups as data stores of xarray: variables with attributes and encodings."""

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.backends.zarr import FillValueCoder
from xarray.core import indexing

from zarr_kit._array import Array
from zarr_kit._group import Group
from zarr_kit._xarray_array import LazyArray
from zarr_kit._xarray_encoding import array_encoding
from zarr_kit.errors import ZarrError

_DIMENSIONS = "_ARRAY_DIMENSIONS"
_MISSING = "_FillValue"
# The number of arrays that are opened at the same time.
_REQUESTS = 16


class DimensionNamesError(ZarrError, KeyError):
    """An array cannot be a variable of xarray, because its dimensions have no names."""


class GroupStore(AbstractDataStore):
    """The arrays directly below a group, except for those in `dropped`.

    `fill_is_missing` sets whether the fill value marks missing elements; None selects the default of the format.
    """

    __slots__ = ("_dropped", "_fill_is_missing", "_group")

    def __init__(self, group: Group, dropped: frozenset[str], fill_is_missing: bool | None) -> None:
        self._group = group
        self._dropped = dropped
        self._fill_is_missing = group.format == "v2" if fill_is_missing is None else fill_is_missing

    def get_variables(self) -> dict[str, Variable]:
        """Return a variable for each array. Elements are not read."""
        opened = self._opened_without(self._dropped) if self._dropped else [array for _, array in self._group.arrays()]
        return {array.basename: _variable(array, fill_is_missing=self._fill_is_missing) for array in opened}

    def get_attrs(self) -> dict[str, Any]:
        """Return the attributes of the group, without those that netCDF uses internally."""
        return _without_netcdf(self._group.attrs.asdict())

    def _opened_without(self, dropped: frozenset[str]) -> list[Array]:
        """Open arrays one by one. A dropped array may be one that cannot be opened."""
        paths = [path for path, kind in self._group._children() if kind != "group"]
        opening = partial(Array._open, self._group._hierarchy)
        # Without consolidated metadata, opening an array takes one or two requests.
        with ThreadPoolExecutor(_REQUESTS, thread_name_prefix="zarr-kit-open") as executor:
            return list(executor.map(opening, [path for path in paths if path.rpartition("/")[2] not in dropped]))


def _variable(array: Array, *, fill_is_missing: bool) -> Variable:
    attributes = array.attrs.asdict()
    dimensions = _dimensions(array, attributes)
    if array.format != "v3":
        attributes = _without_netcdf(attributes)
        attributes.pop(_DIMENSIONS, None)
    lazy = LazyArray(array)
    encoding = array_encoding(array, dimensions)
    fill_value = array.fill_value
    if lazy.dtype.kind == "T":
        encoding["dtype"] = lazy.dtype
    if fill_is_missing:
        if fill_value is not None:
            attributes[_MISSING] = fill_value
    else:
        if array.format != "v2":
            encoding["fill_value"] = fill_value
        if _MISSING in attributes:
            attributes[_MISSING] = _missing_value(attributes[_MISSING], array.dtype)
    return Variable(dimensions, indexing.LazilyIndexedArray(lazy), attributes, encoding)


def _dimensions(array: Array, attributes: dict[str, Any]) -> tuple[Hashable, ...]:
    names = array.dimension_names
    if names is None and array.format != "v3":
        names = attributes.get(_DIMENSIONS)
    if names is None and array.ndim == 0:
        return ()
    if names is None or len(names) != array.ndim:
        source = "`dimension_names`" if array.format == "v3" else f"the attribute `{_DIMENSIONS}`"
        raise DimensionNamesError(
            f"{array.path} has {array.ndim} dimensions, but {source} does not name them: add the names, or leave the"
            f" array out with drop_variables={array.basename!r}"
        )
    return tuple(names)


def _without_netcdf(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if not name.lower().startswith("_nc")}


def _missing_value(value: Any, dtype: np.dtype[Any]) -> Any:
    # xarray stores floating-point numbers in base64, because JSON has no NaN. Other programs store numbers.
    is_number = dtype.kind in "fc" and isinstance(value, int | float)
    return value if is_number else FillValueCoder.decode(value, dtype)
