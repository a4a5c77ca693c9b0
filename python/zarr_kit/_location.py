"""Locations of stores, in the form that the engine accepts."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from zarr_kit._foreign_stores import description_of, translated_options
from zarr_kit.errors import InvalidInputError

# A path, a URL, a description of stores, or a store of obstore, fsspec or zarr-python.
type Location = str | os.PathLike[str] | Mapping[str, Any] | Any

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
# Schemes of URLs, and the type of the store.
_TYPES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "azure": "az", "https": "http"}


def store_location(location: Location, storage_options: Mapping[str, Any] | None) -> str:
    """Return the location as text that another process can open."""
    described = description_of(location)
    if described is not None:
        location = described
        if storage_options:
            raise InvalidInputError("storage_options cannot be combined with a store, which has its own options")
    if isinstance(location, Mapping):
        if storage_options:
            raise InvalidInputError(
                "storage_options cannot be combined with a description of the store: add them to the description"
            )
        return json.dumps(dict(location))
    if not isinstance(location, (str, os.PathLike)):
        raise InvalidInputError(
            f"{type(location).__module__}.{type(location).__qualname__} is not a location: expected a path, a URL, a "
            "description of stores, or a store of obstore or fsspec"
        )
    text = os.fspath(location)
    if "::" in text and not os.path.exists(text):
        raise InvalidInputError(f"{text!r} is a chain of fsspec: describe the stores as a dictionary instead")
    scheme = _SCHEME.match(text)
    if storage_options:
        if scheme is None:
            raise InvalidInputError(f"storage_options need a URL, but the location is {text!r}")
        store_type = _TYPES.get(scheme.group(1).lower(), scheme.group(1).lower())
        return json.dumps({"type": store_type, "url": text, **translated_options(store_type, storage_options)})
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
