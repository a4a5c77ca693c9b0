"""Arrays of N5 by TensorStore, in the order of dimensions of N5."""

import numpy as np
import tensorstore as ts

ABOUT = "N5 arrays with each compression and type, blocks at the end, and a missing block."
PACKAGES = ["tensorstore"]

COMPRESSIONS = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 3},
    "zlib": {"type": "gzip", "useZlib": True},
    "bzip2": {"type": "bzip2", "blockSize": 5},
    "xz": {"type": "xz", "preset": 2},
    "zstd": {"type": "zstd", "level": 3},
    "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
}
TYPES = ["uint8", "int16", "uint32", "int64", "float32", "float64"]


def write(index) -> None:
    pairs = [(name, "uint16") for name in COMPRESSIONS] + [("gzip", dtype) for dtype in TYPES]
    for name, dtype in pairs:
        path = f"{name}/{dtype}"
        metadata = {
            "dimensions": [5, 7],
            "blockSize": [3, 4],
            "dataType": dtype,
            "compression": COMPRESSIONS[name],
            "axes": ["x", "y"],
        }
        kvstore = {"driver": "file", "path": index.path(f"container.n5/{path}/")}
        array = ts.open({"driver": "n5", "kvstore": kvstore, "metadata": metadata}, create=True).result()
        values = (np.indices((5, 7)) * [[[11]], [[1]]]).sum(axis=0).astype(dtype)
        array[:, :4].write(values[:, :4]).result()
        array[:3, 4:].write(values[:3, 4:]).result()
        index.expect("n5:container.n5", f"/{path}", array.read().result())
