"""Data types of the engine for zarr-python."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from zarr.core.dtype.common import HasEndianness, HasItemSize, HasObjectCodec
from zarr.core.dtype.wrapper import ZDType
from zarr.errors import DataTypeValidationError


@dataclass(frozen=True, kw_only=True)
class EngineDataType(ZDType[Any, Any], HasItemSize):
    """A data type that the engine describes. NumPy's data types never select it: it is named in documents."""

    document: Any = None

    dtype_cls: ClassVar[Any] = np.dtypes.VoidDType
    _zarr_v3_name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.document is None:
            object.__setattr__(self, "document", self._zarr_v3_name)

    @classmethod
    def named(cls, name: str) -> "type[EngineDataType]":
        """Return the class for a name."""
        members = {"_zarr_v3_name": name, "__module__": __name__}
        return cast("type[EngineDataType]", type(f"EngineDataType_{name}", (cls,), members))

    @classmethod
    def from_native_dtype(cls, dtype: Any) -> Self:
        raise DataTypeValidationError(f"{dtype} does not determine the data type {cls._zarr_v3_name}")

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        raise DataTypeValidationError(f"the data type {cls._zarr_v3_name} is not defined for v2")

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        name = data.get("name") if isinstance(data, Mapping) else data
        if name != cls._zarr_v3_name:
            raise DataTypeValidationError(f"{data!r} is not the data type {cls._zarr_v3_name}")
        from zarr_kit._zarr_data_types import has_byte_order

        return cast("Self", (EngineNumber if has_byte_order(data) else EngineDataType)(document=data))

    def to_native_dtype(self) -> Any:
        return self._engine().dtype

    def to_json(self, zarr_format: Any) -> Any:
        if zarr_format == 2:
            raise ValueError(f"the data type {self.document!r} is not defined for v2")
        return self.document

    def _check_scalar(self, data: object) -> bool:
        from zarr_kit.errors import ElementsError

        try:
            self.cast_scalar(data)
        except ElementsError:
            return False
        return True

    def cast_scalar(self, data: object) -> Any:
        return self._engine().scalar(data)

    def default_scalar(self) -> Any:
        return self._engine().default_scalar()

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return self._engine().from_json(data)

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        return self._engine().to_json(data)

    @property
    def item_size(self) -> int:
        return int(self.to_native_dtype().itemsize)

    def _engine(self) -> Any:
        from zarr_kit._zarr_data_types import engine_type

        return engine_type(self.document)

    def __hash__(self) -> int:
        return hash(repr(self.document))


@dataclass(frozen=True, kw_only=True)
class EngineNumber(EngineDataType, HasEndianness):
    """A data type whose elements have a byte order."""

    _zarr_v3_name: ClassVar[str] = "zarr_kit_number"

    def to_native_dtype(self) -> Any:
        if self.endianness == "big":
            from zarr_kit.errors import NotSupportedError

            raise NotSupportedError(
                f"NumPy does not have a big-endian form of the data type {self.document!r}: read the array with "
                "zarr_kit.open, or set `codec_pipeline.path` to zarr_kit.CodecPipeline"
            )
        return super().to_native_dtype()

    def __hash__(self) -> int:
        return hash((repr(self.document), self.endianness))


class JsonDataType(EngineDataType, HasObjectCodec):
    """Elements that are JSON values. Only codecs of the engine convert them."""

    dtype_cls = np.dtypes.ObjectDType
    _zarr_v3_name = "zarr-kit.json"
    object_codec_id = "json2"

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if data != cls._zarr_v3_name:
            raise DataTypeValidationError(f"{data!r} is not the data type {cls._zarr_v3_name}")
        return cls(document=data)
