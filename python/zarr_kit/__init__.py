"""Zarr v2, the v3 draft and v3, with one engine for all formats.

Open a hierarchy with :func:`open`, and index arrays like NumPy arrays::

    import numpy as np
    import zarr_kit

    array = zarr_kit.create_array("image.zarr", data=np.arange(24).reshape(4, 6), chunks=(2, 3))
    array[1, ::-2]
"""

from zarr_kit._api import consolidate, create_array, create_group, open, open_array, open_group
from zarr_kit._array import Array, Indexer
from zarr_kit._attributes import Attributes
from zarr_kit._creation import DEFAULT_FILL_VALUE
from zarr_kit._display import Info
from zarr_kit._group import Group
from zarr_kit.errors import ZarrError, ZarrWarning

__all__ = [
    "DEFAULT_FILL_VALUE",
    "Array",
    "Attributes",
    "Group",
    "Indexer",
    "Info",
    "ZarrError",
    "ZarrWarning",
    "consolidate",
    "create_array",
    "create_group",
    "open",
    "open_array",
    "open_group",
]
