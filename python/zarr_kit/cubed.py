"""The engine of ``zarr_kit`` for Cubed, which reads and writes arrays of zarr-python.

::

    import cubed
    import zarr_kit.cubed

    spec = zarr_kit.cubed.spec(work_dir="tmp", allowed_mem="2GB")
    array = cubed.from_zarr("image.zarr", spec=spec)
"""

import os
from typing import Any

import cubed
import zarr

__all__ = ["spec"]

# The other settings of the pipeline, with their defaults.
_SETTINGS = {"strict": True, "conditional": "warn"}


def spec(*arguments: Any, **options: Any) -> cubed.Spec:
    """Return ``cubed.Spec(*arguments, **options)``, and select the codec pipeline of this package.

    The choice applies to arrays that are opened later, in this process and in processes that it starts, such as those of
    Cubed's local executors. The same holds for the present values of ``codec_pipeline.strict`` and
    ``codec_pipeline.conditional``. On the workers of a cluster, set the environment variable
    ``ZARR_CODEC_PIPELINE__PATH`` to ``zarr_kit.CodecPipeline``.
    """
    # A wrong argument raises an error before anything is set.
    spec = cubed.Spec(*arguments, **options)
    path = "zarr_kit.CodecPipeline"
    os.environ["ZARR_CODEC_PIPELINE__PATH"] = path
    for name, default in _SETTINGS.items():
        os.environ[f"ZARR_CODEC_PIPELINE__{name.upper()}"] = str(zarr.config.get(f"codec_pipeline.{name}", default))
    zarr.config.set({"codec_pipeline.path": path})
    return spec
