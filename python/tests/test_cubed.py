"""Cubed computes with arrays that the engine reads and writes."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import cubed
import numpy as np
import zarr
import zarr_kit.cubed

if __name__ == "__main__":
    folder, executor = sys.argv[1:]
    spec = zarr_kit.cubed.spec(work_dir=f"{folder}/work", allowed_mem="500MB", executor_name=executor)
    data = np.arange(60).reshape(6, 10)
    zarr.create_array(f"{folder}/in.zarr", data=data, chunks=(2, 5))
    source = cubed.from_zarr(f"{folder}/in.zarr", spec=spec)
    cubed.to_zarr(source + 1, f"{folder}/out.zarr")
    result = zarr.open_array(f"{folder}/out.zarr", mode="r")
    assert (result[...] == data + 1).all()
    print(type(result._async_array.codec_pipeline))
"""


@pytest.mark.parametrize("executor", ["single-threaded", "processes"])
def test_cubed_computes_with_the_pipeline(tmp_path: Path, executor: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path), executor]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout == "<class 'zarr_kit.CodecPipeline'>\n", ended.stderr
