"""Data types of the engine, for data types of zarr-python."""

import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from zarr_kit import _engine
from zarr_kit._dtypes import ElementType, element_type


@dataclass(frozen=True)
class EngineType:
    """A data type of a document of v3, with its scalars in NumPy and in JSON."""

    engine: _engine.DataType
    elements: ElementType
    has_byte_order: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.elements.dtype

    def scalar(self, value: object) -> Any:
        """Return a value as an element."""
        return self.elements.from_bytes(self.elements.to_bytes(value))

    def default_scalar(self) -> Any:
        return self.elements.from_bytes(self.engine.default_fill_value)

    def from_json(self, value: Any) -> Any:
        """Return the element that a member `fill_value` represents."""
        return self.elements.from_bytes(self.engine.fill_value(json.dumps(value)))

    def to_json(self, value: object) -> Any:
        """Return the member `fill_value` for an element."""
        return json.loads(self.engine.fill_value_json(self.elements.to_bytes(value)))


def has_byte_order(document: Any) -> bool:
    """Return whether elements of a data type have a byte order."""
    return engine_type(document).has_byte_order


def engine_type(document: Any) -> EngineType:
    """Return the data type that a document of v3 contains."""
    return _engine_type(json.dumps(document))


@functools.lru_cache(maxsize=256)
def _engine_type(document: str) -> EngineType:
    engine = _engine.DataType.open(document)
    description = engine.description
    return EngineType(engine, element_type(description), bool(description["has_byte_order"]))
