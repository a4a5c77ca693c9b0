"""Codecs and data types of zarr_kit for the pipelines of zarr-python, and for numcodecs.

zarr-python imports this module through an entry point of the group ``zarr.data_type``, before it reads the codecs of an
array. The module registers each name that no other package provides: the names of the engine, and those of installed
plugins. It imports neither ``zarr_kit`` nor a plugin; the first use of a codec or data type does.

The environment variable ``ZARR_KIT_REGISTRATION=off`` turns this off.
"""

import logging
import os
from typing import Any


def _entry() -> Any:
    """Register all names. Return a data type of zarr-python, because an entry point must have a value."""
    if os.environ.get("ZARR_KIT_REGISTRATION") != "off":
        try:
            from zarr_kit_plugins._registration import register

            register()
        except Exception:
            # Programs that do not need these names continue.
            logging.getLogger(__name__).warning(
                "the codecs and data types of zarr_kit are not registered with zarr-python", exc_info=True
            )
    from zarr.dtype import Bool

    return Bool


DataType = _entry()
