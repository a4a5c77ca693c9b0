"""Cubed computes with arrays that the engine reads and writes."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os
import sys
import cubed
import numpy as np
import zarr
import zarr_kit.cubed

def settings(block):
    # In the worker: the pipeline of an array that it opens, the setting, and the process.
    array = zarr.create_array({}, shape=1, dtype="u1")
    pipeline = array._async_array.codec_pipeline
    assert type(pipeline) is zarr_kit.CodecPipeline, type(pipeline)
    assert pipeline._strict is (sys.argv[3] == "True"), pipeline._strict
    assert zarr.config.get("codec_pipeline.conditional", "warn") == sys.argv[4]
    return block + os.getpid()

if __name__ == "__main__":
    folder, executor, strict, conditional = sys.argv[1:]
    zarr.config.set({"codec_pipeline.strict": strict == "True"})
    if conditional != "warn":
        zarr.config.set({"codec_pipeline.conditional": conditional})
    spec = zarr_kit.cubed.spec(work_dir=f"{folder}/work", allowed_mem="500MB", executor_name=executor)
    data = np.arange(60).reshape(6, 10)
    zarr.create_array(f"{folder}/in.zarr", data=data, chunks=(2, 5))
    source = cubed.from_zarr(f"{folder}/in.zarr", spec=spec)
    cubed.to_zarr(source + 1, f"{folder}/out.zarr")
    result = zarr.open_array(f"{folder}/out.zarr", mode="r")
    assert (result[...] == data + 1).all()
    workers = set(cubed.map_blocks(settings, source * 0, dtype="i8").compute().flat)
    assert (os.getpid() in workers) is (executor == "single-threaded")
    print(type(result._async_array.codec_pipeline))
"""


@pytest.mark.parametrize(
    ("executor", "strict", "conditional"),
    [("single-threaded", True, "warn"), ("processes", True, "warn"), ("processes", False, "require")],
)
def test_cubed_computes_with_the_pipeline(tmp_path: Path, executor: str, strict: bool, conditional: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path), executor, str(strict), conditional]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout == "<class 'zarr_kit.CodecPipeline'>\n", ended.stderr
