"""Zarr v2, the v3 draft and v3, with one engine for all formats.

Open a hierarchy with :func:`open`, and index arrays like NumPy arrays::

    import numpy as np
    import zarr_kit

    array = zarr_kit.create_array("image.zarr", data=np.arange(24).reshape(4, 6), chunks=(2, 3))
    array[1, ::-2]
"""

from typing import TYPE_CHECKING, Any

from zarr_kit._api import consolidate, create_array, create_group, open, open_array, open_group
from zarr_kit._archive import diff, digest, repair, verify
from zarr_kit._array import Array, Indexer
from zarr_kit._attributes import Attributes
from zarr_kit._copy import copy
from zarr_kit._creation import DEFAULT_FILL_VALUE
from zarr_kit._display import Info
from zarr_kit._group import Group
from zarr_kit._numcodecs import use_numcodecs
from zarr_kit.errors import ZarrError, ZarrWarning

if TYPE_CHECKING:
    from zarr_kit._pipeline import CodecPipeline

    __version__: str

__all__ = [
    "DEFAULT_FILL_VALUE",
    "Array",
    "Attributes",
    "CodecPipeline",
    "Group",
    "Indexer",
    "Info",
    "ZarrError",
    "ZarrWarning",
    "consolidate",
    "copy",
    "create_array",
    "create_group",
    "diff",
    "digest",
    "open",
    "open_array",
    "open_group",
    "repair",
    "use_numcodecs",
    "verify",
]


def __getattr__(name: str) -> Any:
    # The codec pipeline needs zarr-python, which other parts of this package do not import.
    if name == "CodecPipeline":
        from zarr_kit._pipeline import CodecPipeline

        return CodecPipeline
    # `importlib.metadata` takes time to import.
    if name == "__version__":
        from importlib.metadata import version

        return version("zarr_kit")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
