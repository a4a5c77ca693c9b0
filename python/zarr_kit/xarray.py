"""The engine of ``zarr_kit`` for xarray.

Installing ``zarr_kit`` registers it under the name ``zarr-kit``::

    import xarray as xr

    dataset = xr.open_dataset("weather.zarr", engine="zarr-kit", chunks={})

Values, attributes and encodings of Zarr v2 and v3 are the same as with ``engine="zarr"``.

xarray's own engine does not read the v3 draft of 2022. The draft stores dimension names in the attribute
``_ARRAY_DIMENSIONS`` or in the extension ``dimension-names``.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Unpack

import xarray as xr
from xarray.backends import BackendEntrypoint, StoreBackendEntrypoint

from zarr_kit._api import Options, open_group
from zarr_kit._group import Group
from zarr_kit._hierarchy import ZarrFormat
from zarr_kit._location import Location, is_in_memory, store_location
from zarr_kit._xarray_store import GroupStore
from zarr_kit.errors import InvalidInputError, NotSupportedError, check_names

__all__ = ["ZarrKitBackend", "to_zarr"]


def to_zarr(dataset: xr.Dataset, location: Any, **options: Any) -> Any:
    """Write a dataset with the writer of xarray and the engine of this package.

    `location` and `options` are the arguments of ``Dataset.to_zarr``, and the result is its result. The arrays of a
    delayed write (`compute=False`) are written by the engine, too. During the call, other threads of the program also
    open arrays of zarr-python with the engine.
    """
    if "store" in options:
        raise InvalidInputError("to_zarr() does not accept store: give it as `location`")
    if options.get("zarr_format") not in (None, 2, 3):
        raise InvalidInputError(
            f"the writer of xarray does not support zarr_format={options['zarr_format']!r} (expected 2 or 3): write one of"
            " them, and convert it with zarr_kit.copy()"
        )
    _check_writable_by_xarray(location)
    # zarr-python is imported only here, because reading does not need it.
    import zarr

    with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
        return dataset.to_zarr(location, **options)


def _check_writable_by_xarray(location: Any) -> None:
    """Refuse locations that only the engine understands.

    zarr-python would take a dictionary for a store in memory, and a text for the name of a folder.
    """
    is_described = isinstance(location, Mapping) and isinstance(location.get("type"), str)
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else ""
    is_of_engine = isinstance(text, str) and _OF_ENGINE.match(text) is not None and not os.path.exists(text)
    if not is_described and not is_of_engine:
        return
    known = "give a path, a URL of fsspec, or a store of zarr-python"
    if is_in_memory(store_location(location, None)):
        raise InvalidInputError(
            f"{location!r} is a store in memory that is lost when to_zarr() returns: {known}, such as"
            " zarr.storage.MemoryStore()"
        )
    raise NotSupportedError(f"the writer of xarray does not open the location {location!r}: {known}")


# A description as JSON, a scheme of our stores before a path, or a pipeline of URLs.
_OF_ENGINE = re.compile(
    r"\s*\{|(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!//)|.*\|(zip|lmdb|redb|n5|reference|overlay|zarr[23]?|icechunk|[.][.])(:|$|\|)"
)

# The arguments that open the store; all others of `open_groups_as_dict` are for decoding variables.
_OPTIONS = ("storage_options", "zarr_format", "strict", "threads")
_DECODING = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "decode_coords",
    "use_cftime",
    "decode_timedelta",
)


class ZarrKitBackend(BackendEntrypoint):
    """Opens groups of Zarr hierarchies as xarray datasets.

    The methods take the arguments with which xarray decodes variables (`mask_and_scale`, `decode_times`,
    `concat_characters`, `decode_coords`, `use_cftime`, `decode_timedelta`) and these:

    - `drop_variables`: the names of arrays that are not opened.
    - `group`: the path of a group; the root by default.
    - `consolidated`: False ignores consolidated metadata. True and the default use it if the hierarchy has it.
    - `zarr_format`, `storage_options`, `strict` and `threads`: as in :func:`zarr_kit.open`.
    - `use_zarr_fill_value_as_mask`: whether elements that equal the fill value are missing. The default is True for v2.
      For v3 and the v3 draft, the attribute ``_FillValue`` marks missing elements by default.
    """

    description: ClassVar[str] = "Open Zarr v2, v3 and the v3 draft with the engine of zarr_kit"
    supports_groups: ClassVar[bool] = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: a program must select the engine by name."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool | Mapping[str, bool] = True,
        decode_times: Any = True,
        concat_characters: bool | Mapping[str, bool] = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | Mapping[str, bool] | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        consolidated: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
        zarr_format: ZarrFormat | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        strict: bool = False,
        threads: int | None = None,
    ) -> xr.Dataset:
        """Open the arrays of one group as variables, without reading their elements.

        Raises:
            FileNotFoundError: If there is no such hierarchy or group.
            KeyError: If the dimensions of an array have no names.
        """
        opened = _opened(
            filename_or_obj,
            group,
            use_consolidated=consolidated,
            storage_options=storage_options,
            zarr_format=zarr_format,
            strict=strict,
            threads=threads,
        )
        store = GroupStore(opened, _names(drop_variables), use_zarr_fill_value_as_mask)
        return StoreBackendEntrypoint().open_dataset(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        consolidated: bool | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        **arguments: Any,
    ) -> dict[str, xr.Dataset]:
        """Open a group and all groups below it. Keys are paths, relative to `group` if it is given."""
        check_names("open_groups_as_dict()", arguments, _OPTIONS + _DECODING)
        options: Any = {name: arguments.pop(name) for name in _OPTIONS if name in arguments}
        top = _opened(filename_or_obj, group, use_consolidated=consolidated, **options)
        dropped = _names(drop_variables)
        datasets = {}
        for node in [top, *_groups_below(top)]:
            store = GroupStore(node, dropped, use_zarr_fill_value_as_mask)
            name = _relative(node.path, top.path) if group else node.path
            datasets[name] = StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **arguments)
        return datasets

    def open_datatree(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **arguments: Any
    ) -> xr.DataTree:
        """Open a group and all groups below it as a tree."""
        datasets = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **arguments)
        return xr.DataTree.from_dict(datasets)


def _opened(filename_or_obj: Any, group: str | None, **options: Unpack[Options]) -> Group:
    return open_group(_location(filename_or_obj), mode="r", path=group, **options)


def _location(filename_or_obj: Any) -> Location:
    if isinstance(filename_or_obj, str):
        return os.path.expanduser(filename_or_obj)
    if isinstance(filename_or_obj, os.PathLike):
        return Path(os.path.expanduser(filename_or_obj))
    return filename_or_obj


def _names(variables: str | Iterable[str] | None) -> frozenset[str]:
    if variables is None:
        return frozenset()
    return frozenset([variables] if isinstance(variables, str) else variables)


def _groups_below(top: Group) -> list[Group]:
    nodes = top._hierarchy.engine.nodes(top.path, True)
    return [Group._open(top._hierarchy, path) for path, kind in nodes if kind == "group" and path != top.path]


def _relative(path: str, top: str) -> str:
    return path.removeprefix(top).lstrip("/") or "."
