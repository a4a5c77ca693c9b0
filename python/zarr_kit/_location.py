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
# `pathlib` removes one of the slashes of a URL.
_LOST_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/([^/].*)")
# Schemes before paths: steps that read the file or folder.
_OF_PATHS = {"zip", "reference", "lmdb", "redb", "n5", "icechunk", "overlay", "zarr", "zarr2", "zarr3"}
# Stores whose descriptions have the path of a file or a folder.
_WITH_PATHS = ("filesystem", "zip", "lmdb", "redb", "icechunk")
# Schemes of URLs, and the type of the store.
_TYPES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "azure": "az", "https": "http"}


def store_location(location: Location, storage_options: Mapping[str, Any] | None) -> str:
    """Return the location as text that another process can open."""
    described = description_of(location)
    if described is not None:
        location = described
        if storage_options:
            raise InvalidInputError("storage_options cannot be combined with a store, which has its own options")
    if type(location).__module__.startswith("zarr_kit."):
        raise InvalidInputError("a node is not a location: give `node.location`, and `node.path` as the path")
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise InvalidInputError(f"storage_options={storage_options!r}: expected a dictionary")
    if isinstance(location, Mapping):
        if storage_options:
            raise InvalidInputError(
                "storage_options cannot be combined with a description of the store: add them to the description"
            )
        return json.dumps(_with_absolute_paths(dict(location)))
    if not isinstance(location, (str, os.PathLike)):
        raise InvalidInputError(
            f"{type(location).__module__}.{type(location).__qualname__} is not a location: expected a path, a URL, a "
            "description of stores, or a store of obstore or fsspec"
        )
    text = os.fsdecode(location)
    # Path objects of other packages may be URLs.
    is_path = isinstance(location, os.PathLike) and "://" not in text
    if is_path and not storage_options:
        return _path(text)
    if "::" in text and not os.path.exists(text):
        raise InvalidInputError(f"{text!r} is a chain of fsspec: describe the stores as a dictionary instead")
    scheme = None if is_path else _SCHEME.match(text)
    if storage_options:
        if scheme is None:
            raise InvalidInputError(f"storage_options need a URL, but the location is {text!r}")
        store_type = _TYPES.get(scheme.group(1).lower(), scheme.group(1).lower())
        return json.dumps({"type": store_type, "url": text, **translated_options(store_type, storage_options)})
    if text.lstrip().startswith("{"):
        return _description(text)
    if scheme is not None and scheme.group(1).lower() in _OF_PATHS:
        return text[: scheme.end()] + _absolute(text[scheme.end() :])
    return text if scheme is not None else _absolute(text)


def _path(path: str) -> str:
    """Return the absolute path of a path object, which is not a URL."""
    url = _LOST_SLASH.match(path)
    if url and not os.path.exists(path):
        raise InvalidInputError(
            f"{path!r} is a path object, in which a URL loses a slash: give the URL as a text, such as "
            f"'{url.group(1)}://{url.group(2)}'"
        )
    return os.path.abspath(path)


def _absolute(text: str) -> str:
    """Return a path as an absolute path, so that other processes open it in any folder. Other texts are unchanged."""
    if not text or _SCHEME.match(text):
        return text
    # The path of a step may end in a slash, which `abspath` would remove.
    return os.path.join(os.getcwd(), text) if "|" in text else os.path.abspath(text)


def _description(text: str) -> str:
    try:
        return json.dumps(_with_absolute_paths(json.loads(text)))
    except ValueError:
        # The message of the engine names the place in the text.
        return text


def _with_absolute_paths(description: Any) -> Any:
    if isinstance(description, Mapping):
        paths = {"path"} if description.get("type") in _WITH_PATHS else set()
        return {
            name: _absolute(value) if name in paths and isinstance(value, str) else _with_absolute_paths(value)
            for name, value in description.items()
        }
    return [_with_absolute_paths(entry) for entry in description] if isinstance(description, list) else description


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
