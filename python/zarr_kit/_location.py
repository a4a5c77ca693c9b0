"""Locations of stores, in the form that the engine accepts."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from zarr_kit.errors import InvalidInputError

type Location = str | os.PathLike[str] | Mapping[str, Any]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def store_location(location: Location, storage_options: Mapping[str, Any] | None) -> str:
    """Return the location as text that another process can open."""
    if isinstance(location, Mapping):
        if storage_options:
            raise InvalidInputError(
                "storage_options cannot be combined with a description of the store: add them to the description"
            )
        return json.dumps(dict(location))
    text = os.fspath(location)
    scheme = _SCHEME.match(text)
    if storage_options:
        if scheme is None:
            raise InvalidInputError(f"storage_options need a URL, but the location is {text!r}")
        return json.dumps({"type": scheme.group()[:-1], "url": text, **storage_options})
    is_text_for_engine = not text or scheme is not None or text.lstrip().startswith("{")
    return text if is_text_for_engine else os.path.abspath(text)


def is_in_memory(location: str) -> bool:
    """Return whether the store exists only in the memory of this process."""
    if not location.lstrip().startswith("{"):
        return location.startswith("memory:")
    try:
        return _has_memory(json.loads(location))
    except ValueError:
        return False


def _has_memory(description: object) -> bool:
    if isinstance(description, dict):
        return description.get("type") == "memory" or any(map(_has_memory, description.values()))
    if isinstance(description, list):
        return any(map(_has_memory, description))
    return isinstance(description, str) and description.startswith("memory:")
