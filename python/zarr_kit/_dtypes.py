"""Zarr data types as NumPy data types."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zarr_kit import _engine
from zarr_kit.errors import ElementsError

type Kind = Literal["fixed", "string", "bytes", "json", "optional", "arrays"]

_CORE = frozenset(
    {"bool", "float16", "float32", "float64", "complex64", "complex128"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
# Names that `ml_dtypes` shares with Zarr.
_ML_DTYPES = frozenset(
    {
        "bfloat16",
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "int2",
        "int4",
        "uint2",
        "uint4",
    }
)
_VARIABLE: dict[str, tuple[Kind, np.dtype[Any]]] = {
    "string": ("string", np.dtypes.StringDType()),
    "bytes": ("bytes", np.dtype(object)),
    "zarr-kit.json": ("json", np.dtype(object)),
}
_TIME = re.compile(r"numpy\.((?:datetime|timedelta)64)\[(.*)\]")


@dataclass(frozen=True)
class ElementType:
    """A Zarr data type and its representation in NumPy."""

    name: str
    dtype: np.dtype[Any]
    kind: Kind = "fixed"
    present: "ElementType | None" = None
    items: np.dtype[Any] | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether all elements have the same size in bytes."""
        return self.kind == "fixed"

    def to_bytes(self, value: Any) -> bytes:
        """Return the bytes of one element."""
        if self.is_fixed:
            return self.array(value).reshape(()).tobytes()
        items = _as_object(value) if self.kind == "json" else self.array(value)
        element = self.to_list(items.reshape(1))[0]
        if self.present is not None:
            return b"" if element is None else b"\1" + _as_bytes(element)
        return _as_bytes(element)

    def from_bytes(self, element: bytes) -> Any:
        """Return one element as a NumPy scalar, or as a Python value for elements of a variable size."""
        if self.is_fixed:
            return fixed_elements(element, self.dtype, ())[()]
        if self.present is not None:
            return self.present.from_bytes(element[1:]) if element else np.ma.masked
        return self.from_list([element.decode() if self.kind == "string" else element])[0]

    def array(self, value: Any) -> NDArray[Any]:
        """Convert a value to an array of this data type, like an assignment in NumPy."""
        if self.kind == "optional":
            return self._optional_array(value)
        if self.items is not None:
            return _array_of_arrays(value)
        if self.dtype.kind == "O":
            return _object_array(value)
        if self.kind == "string" and isinstance(value, np.ndarray) and _is_complete_text(value.dtype):
            # With a data type, NumPy would copy all strings, because each array of strings has its own.
            return np.asarray(value)
        try:
            elements = with_order_of(value, self.dtype) if isinstance(value, np.ndarray) else value
            return np.asarray(elements, dtype=self.dtype)
        except (TypeError, ValueError) as error:
            raise ElementsError(f"the value cannot be converted to {self.dtype}: {error}") from error

    def to_list(self, elements: NDArray[Any]) -> list[Any] | NDArray[Any]:
        """Return elements of a variable size in a form that the engine accepts: a list, or an array of strings."""
        if _is_complete_text(elements.dtype):
            return np.ascontiguousarray(elements)
        if self.present is not None:
            present = self.present.to_list(np.ma.getdata(elements))
            missing = np.ma.getmaskarray(elements)
            return [None if is_missing else element for element, is_missing in zip(present, missing, strict=True)]
        if self.kind == "fixed":
            size = self.dtype.itemsize
            data = np.ascontiguousarray(elements).tobytes()
            return [data[start : start + size] for start in range(0, len(data), size)]
        if self.kind == "json":
            return [json.dumps(item) for item in elements]
        if self.items is not None:
            return [self._item_bytes(element) for element in elements]
        items: list[Any] = elements.tolist()
        return items

    def from_list(self, elements: Sequence[Any] | _engine.StringBuffer) -> NDArray[Any]:
        """Return elements of a variable size as a one-dimensional array."""
        if isinstance(elements, _engine.StringBuffer):
            strings: NDArray[Any] = np.empty(len(elements), dtype=self.dtype)
            elements.copy_to(strings)
            return strings
        if self.present is not None:
            missing = [element is None for element in elements]
            present = self.present.from_present([element for element in elements if element is not None])
            masked = np.ma.masked_all(len(elements), dtype=self.dtype)
            masked[~np.asarray(missing, dtype=bool)] = present
            return masked
        if self.kind == "string":
            return np.array(elements, dtype=self.dtype)
        result = np.empty(len(elements), dtype=object)
        for position, element in enumerate(elements):
            if self.items is not None:
                result[position] = _items(element, self.items)
            else:
                result[position] = json.loads(element) if self.kind == "json" else element
        return result

    def from_present(self, elements: list[bytes]) -> NDArray[Any]:
        """Return an array of elements, none of which is missing."""
        if self.is_fixed:
            return fixed_elements(b"".join(elements), self.dtype, (len(elements),))
        return self.from_list([element.decode() if self.kind == "string" else element for element in elements])

    def _item_bytes(self, element: Any) -> bytes:
        """Return the bytes of an element that is an array of items, the first dimension of which is variable."""
        assert self.items is not None
        shape = self.items.shape
        try:
            array = np.asarray(element, dtype=self.items.base)
        except (TypeError, ValueError) as error:
            raise ElementsError(f"an element cannot be converted to an array of {self.items.base}: {error}") from error
        if array.size == 0:
            return b""
        if array.ndim != 1 + len(shape) or array.shape[1:] != shape:
            raise ElementsError(f"an element is an array of shape {array.shape}; expected items of shape {shape}")
        return array.tobytes()

    def _optional_array(self, value: Any) -> NDArray[Any]:
        if isinstance(value, np.ma.MaskedArray):
            return np.ma.asarray(value).astype(self.dtype)
        items = np.asarray(value)
        if items.dtype.kind != "O":
            return np.ma.asarray(items.astype(self.dtype))
        missing = np.array([item is None for item in items.flat], dtype=bool).reshape(items.shape)
        result = np.ma.masked_all(items.shape, dtype=self.dtype)
        result[~missing] = items[~missing].astype(self.dtype)
        return result


def element_type(description: Mapping[str, Any]) -> ElementType:
    """Return the element type that the engine describes."""
    name = str(description["name"])
    optional = description["optional"]
    if optional is not None:
        present = element_type(optional)
        if present.kind == "optional":
            raise ElementsError(f"data type {name}: NumPy has no data type for nested optional elements")
        dtype = np.dtype(object) if present.kind == "string" else present.dtype
        return ElementType(name, dtype, "optional", present)
    if (items := description["items"]) is not None:
        item = np.dtype((_fixed_dtype(items["data_type"]), tuple(items["shape"])))
        return ElementType(name, np.dtype(object), "arrays", items=item)
    if description["size"] is None:
        kind, dtype = _VARIABLE.get(name, ("bytes", np.dtype(object)))
        return ElementType(name, dtype, kind)
    return ElementType(name, _fixed_dtype(description))


def with_order_of(elements: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return times without a unit in the byte order of `dtype`, and other elements as they are.

    NumPy converts all other elements itself. For times without a unit, it changes the data type and not the bytes.
    """
    if elements.dtype.kind not in "mM" or elements.dtype.kind != dtype.kind:
        return elements
    if np.datetime_data(elements.dtype)[0] != "generic" or elements.dtype.isnative == dtype.isnative:
        return elements
    return elements.byteswap().view(elements.dtype.newbyteorder(dtype.byteorder))


def _is_complete_text(dtype: np.dtype[Any]) -> bool:
    """Return whether the elements are strings, none of which can be missing."""
    return isinstance(dtype, np.dtypes.StringDType) and not hasattr(dtype, "na_object")


def fixed_elements(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return `data` as an array, without a copy."""
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype).reshape(shape)


def data_type_of(dtype: Any) -> tuple[Any, ElementType | None]:
    """Return the description of a data type for a new array, and its element type if NumPy has one."""
    if isinstance(dtype, Mapping):
        return dict(dtype), None
    if dtype is str or (isinstance(dtype, str) and dtype in {"str", "string"}):
        return "string", ElementType("string", np.dtypes.StringDType(), "string")
    name = "bytes" if dtype is bytes else dtype
    if isinstance(name, str) and name in _VARIABLE:
        kind, numpy_dtype = _VARIABLE[name]
        return name, ElementType(name, numpy_dtype, kind)
    if isinstance(dtype, str) and dtype in _ML_DTYPES:
        return dtype, ElementType(dtype, _ml_dtype(dtype))
    try:
        numpy_dtype = np.dtype(dtype)
    except TypeError:
        # The engine knows the name or reports an error.
        return dtype, None
    return _described(numpy_dtype)


@lru_cache(maxsize=128)
def _described(dtype: np.dtype[Any]) -> tuple[Any, ElementType]:
    if dtype.kind == "T":
        return "string", ElementType("string", np.dtypes.StringDType(), "string")
    if dtype.kind == "O":
        raise ElementsError(
            "dtype object does not determine the type of the elements: use 'string', 'bytes' or 'zarr-kit.json'"
        )
    native = dtype.newbyteorder("=")
    if dtype.name in _ML_DTYPES:
        return dtype.name, ElementType(dtype.name, native)
    if dtype.names is not None:
        return json.loads(json.dumps(dtype.descr)), ElementType("struct", native)
    # Types of other packages may be shown as raw bytes.
    if dtype.kind == "V" and not isinstance(dtype, np.dtypes.VoidDType):
        raise ElementsError(f"Zarr has no data type for dtype {dtype.name}")
    return dtype.str, ElementType(dtype.name, native)


def _fixed_dtype(description: Mapping[str, Any]) -> np.dtype[Any]:
    name = str(description["name"])
    size = int(description["size"])
    fields = description["fields"]
    if fields is not None:
        return _structure([field for field in fields if field["name"]], size)
    if name in _CORE:
        return np.dtype(name)
    if name in _ML_DTYPES:
        return _ml_dtype(name)
    if time := _TIME.fullmatch(name):
        unit = time.group(2).replace("μs", "us")
        return np.dtype(time.group(1) if unit == "generic" else f"{time.group(1)}[{unit}]")
    if name.startswith("null_terminated_bytes["):
        return np.dtype(f"S{size}")
    if name.startswith("fixed_length_utf32["):
        return np.dtype(f"U{size // 4}")
    part = name.removeprefix("complex_")
    if part != name and (part in _ML_DTYPES or part in _CORE):
        part_dtype = np.dtype(part) if part in _CORE else _ml_dtype(part)
        return np.dtype([("real", part_dtype), ("imag", part_dtype)])
    return np.dtype(f"V{size}")


def _structure(fields: Sequence[Mapping[str, Any]], size: int) -> np.dtype[Any]:
    formats = []
    for field in fields:
        dtype = _fixed_dtype(field["data_type"])
        formats.append((dtype, tuple(field["shape"])) if field["shape"] else dtype)
    names = [field["name"] for field in fields]
    offsets = [field["offset"] for field in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _ml_dtype(name: str) -> np.dtype[Any]:
    # Imported only when needed, because most arrays have a type of NumPy itself.
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def _as_bytes(element: str | bytes) -> bytes:
    return element.encode() if isinstance(element, str) else element


def _object_array(value: Any) -> NDArray[Any]:
    if isinstance(value, (bytes, str, dict)):
        return _as_object(value)
    return np.asarray(value, dtype=object)


def _items(element: bytes, item: np.dtype[Any]) -> NDArray[Any]:
    """Return a copy of an element that is an array of items."""
    return np.frombuffer(element, item.base).reshape(-1, *item.shape).copy()


def _array_of_arrays(value: Any) -> NDArray[Any]:
    """Return an array of objects as it is, a list as an array of elements, and an array of numbers as one element."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return value
    if isinstance(value, list | tuple) and not all(np.ndim(element) == 0 for element in value):
        elements = np.empty(len(value), dtype=object)
        for position, element in enumerate(value):
            elements[position] = np.asarray(element)
        return elements
    return _as_object(np.asarray(value))


def _as_object(value: Any) -> NDArray[Any]:
    item = np.empty((), dtype=object)
    item[()] = value
    return item
