"""Codecs and data types of zarr_kit for the pipelines of zarr-python, and for numcodecs.

zarr-python imports this module through an entry point of the group ``zarr.data_type``, before it reads the codecs of an
array. The module registers each name that no other package provides: the names of the engine, and those of installed
plugins. It imports neither ``zarr_kit`` nor a plugin; the first use of a codec or data type does.
"""

import logging
from typing import Any


def _entry() -> Any:
    """Register all names, and return the data type that the entry point stands for."""
    try:
        from zarr_kit_plugins._registration import register

        return register()
    except Exception:
        # Programs that do not need these names continue.
        logging.getLogger(__name__).warning(
            "the codecs and data types of zarr_kit are not registered with zarr-python", exc_info=True
        )
        return _NoDataType


class _NoDataType:
    """Stands for the data types if they could not be registered. It matches nothing."""

    _zarr_v3_name = "zarr_kit_plugins"

    @classmethod
    def _refuse(cls, *_arguments: Any, **_options: Any) -> Any:
        from zarr.errors import DataTypeValidationError

        raise DataTypeValidationError("the data types of zarr_kit are not registered")

    from_native_dtype = from_json = _from_json_resolved = _refuse


DataType = _entry()
