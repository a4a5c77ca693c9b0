"""Registers names with zarr-python and numcodecs."""

from collections.abc import Iterable
from typing import Any

import numcodecs.registry
import zarr.registry
from zarr.core.dtype import data_type_registry

from zarr_kit_plugins._data_types import EngineDataType, JsonDataType
from zarr_kit_plugins._installed import installed
from zarr_kit_plugins._lazy import codec_for_numcodecs, codec_for_zarr
from zarr_kit_plugins._names import CODECS_V2, CODECS_V3, DATA_TYPES


def register() -> None:
    """Register each name that no other package provides."""
    plugins = list(installed())
    codecs = [plugin for plugin in plugins if plugin.kind == "codec"]
    data_types = [plugin for plugin in plugins if plugin.kind == "data_type"]
    _register_codecs_of_zarr([*CODECS_V3, *(name for codec in codecs for name in codec.v3)])
    _register_codecs_of_numcodecs([*CODECS_V2, *(name for codec in codecs for name in codec.v2)])
    _register_data_types([*DATA_TYPES, *(name for data_type in data_types for name in data_type.v3)])
    data_type_registry.register(JsonDataType._zarr_v3_name, JsonDataType)


def _register_codecs_of_zarr(names: Iterable[str]) -> None:
    registries: Any = zarr.registry._codec_registries
    for name in names:
        registry = registries.get(name)
        if not registry and not getattr(registry, "lazy_load_list", None):
            zarr.registry.register_codec(name, codec_for_zarr(name))


def _register_codecs_of_numcodecs(names: Iterable[str]) -> None:
    known = {**numcodecs.registry.entries, **numcodecs.registry.codec_registry}
    for name in names:
        if name not in known:
            numcodecs.registry.register_codec(codec_for_numcodecs(name), codec_id=name)


def _register_data_types(names: Iterable[str]) -> None:
    # The entry points that zarr-python has not loaded yet usually have the names of their data types.
    taken = {entry.name for entry in data_type_registry._lazy_load_list} | set(data_type_registry.contents)
    for name in names:
        if name not in taken:
            data_type_registry.register(name, EngineDataType.named(name))
