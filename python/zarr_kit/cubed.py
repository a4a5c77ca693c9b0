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

PIPELINE_VARIABLE = "ZARR_CODEC_PIPELINE__PATH"
STRICT_VARIABLE = "ZARR_CODEC_PIPELINE__STRICT"


def spec(*arguments: Any, **options: Any) -> cubed.Spec:
    """Return ``cubed.Spec(*arguments, **options)``, and select the codec pipeline of this package.

    The choice applies to arrays that are opened later, in this process and in processes that it starts, such as those of
    Cubed's local executors. The same holds for the present value of ``codec_pipeline.strict``. On the workers of a
    cluster, set the environment variable ``ZARR_CODEC_PIPELINE__PATH`` to ``zarr_kit.CodecPipeline``.
    """
    # A wrong argument raises an error before anything is set.
    spec = cubed.Spec(*arguments, **options)
    path = "zarr_kit.CodecPipeline"
    os.environ[PIPELINE_VARIABLE] = path
    os.environ[STRICT_VARIABLE] = str(zarr.config.get("codec_pipeline.strict", True))
    zarr.config.set({"codec_pipeline.path": path})
    return spec
