"""Lazy arrays for xarray."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from zarr_kit._array import Array
from zarr_kit._background import in_background
from zarr_kit._dtypes import with_order_of


class LazyArray(BackendArray):
    """An array whose elements are read when they are indexed.

    Missing elements of an optional type become NaN or NaT. For this, integers of at most 32 bits become ``float64``.
    Types without such a value become objects, with None for missing elements. Big-endian numbers of v2 have the byte
    order that zarr-python returns.
    """

    __slots__ = ("_array", "_is_optional", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        self._array = array
        self._is_optional = array._type.kind == "optional"
        self.shape = array.shape
        self.dtype = _optional_dtype(array.dtype) if self._is_optional else _stored_dtype(array)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        return self._read(self._array, key)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Do the same while the event loop continues. If the task is cancelled, no more chunks are decoded."""
        return await in_background(lambda progress: self._read(self._array._with_progress(progress), key))

    def _read(self, array: Array, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        # xarray's adapter for engines with fewer kinds of keys is not needed, and rejects empty slices with a negative
        # step.
        if isinstance(key, indexing.VectorizedIndexer):
            return self._filled(array.vindex[key.tuple])
        if isinstance(key, indexing.OuterIndexer):
            return self._filled(array.oindex[key.tuple])
        # With the ellipsis, a single element is an array without dimensions.
        return self._filled(array[(*key.tuple, ...)])

    def _filled(self, elements: NDArray[Any]) -> NDArray[Any]:
        if not self._is_optional:
            return np.asarray(with_order_of(elements, self.dtype), self.dtype)
        filled = np.ma.getdata(elements).astype(self.dtype)
        filled[np.ma.getmaskarray(elements)] = _missing(self.dtype)
        return filled


def _stored_dtype(array: Array) -> np.dtype[Any]:
    is_big_endian = array.format == "v2" and array._engine.is_big_endian
    return array.dtype.newbyteorder(">") if is_big_endian else array.dtype


def _optional_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "fcmM":
        return dtype
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        return np.dtype(np.float64)
    return np.dtype(object)


def _missing(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "O":
        return None
    return np.array("NaT", dtype) if dtype.kind in "mM" else np.nan
