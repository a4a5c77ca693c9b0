"""Attributes of nodes: a mapping whose changes are stored."""

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import numpy as np

from zarr_kit.errors import InvalidInputError


def attributes_text(attributes: Mapping[str, Any] | None) -> str:
    """Return attributes as JSON. Values of NumPy become numbers and lists."""
    if attributes is not None and not isinstance(attributes, Mapping):
        raise InvalidInputError(f"attributes={attributes!r} is not valid: expected a dictionary")
    try:
        return json.dumps(dict(attributes or {}), default=_plain, allow_nan=False)
    except ValueError as error:
        # JSON does not have numbers that are NaN or infinite.
        raise InvalidInputError(f"the attributes cannot be stored as JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


class HasAttributes(Protocol):
    """The interface of a node for its attributes."""

    def _attributes_text(self) -> str: ...

    def _store_attributes(self, changed: str, removed: list[str], replace: bool) -> None: ...


class Attributes(MutableMapping[str, Any]):
    """The attributes of a node.

    Each assignment and deletion is stored immediately. It does not overwrite other attributes that another handle has
    stored since. A change inside a value is not stored: assign the value again.
    """

    def __init__(self, node: HasAttributes) -> None:
        self._node = node

    def asdict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary."""
        attributes: dict[str, Any] = json.loads(self._node._attributes_text())
        return attributes

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Replace all attributes."""
        self._node._store_attributes(attributes_text(attributes), [], True)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Store several attributes in one call."""
        self._node._store_attributes(attributes_text(dict(*args, **kwargs)), [], False)

    def clear(self) -> None:
        """Remove all attributes."""
        self.put({})

    def __getitem__(self, name: str) -> Any:
        return self.asdict()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        if name not in self.asdict():
            raise KeyError(name)
        self._node._store_attributes("{}", [name], False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.asdict())

    def __len__(self) -> int:
        return len(self.asdict())

    def __repr__(self) -> str:
        return f"Attributes({self.asdict()!r})"
