"""An N5 container with documents of v3, which zarr-n5 adds to it."""

import asyncio

import numpy as np
import tensorstore as ts
from zarr_n5.convert import convert_hierarchy

ABOUT = "N5 blocks under documents of v3 with the codec `n5_default`, and groups without attributes."
PACKAGES = ["zarr-n5", "zarr", "tensorstore"]

COMPRESSIONS = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 3},
    "zstd": {"type": "zstd", "level": 3},
    "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
}


def write(index) -> None:
    store = "container.zarr"
    for name, compression in COMPRESSIONS.items():
        for dtype in ("uint16", "float64"):
            metadata = {"dimensions": [5, 7], "blockSize": [3, 4], "dataType": dtype, "compression": compression}
            kvstore = {"driver": "file", "path": index.path(f"{store}/{name}/{dtype}/")}
            array = ts.open({"driver": "n5", "kvstore": kvstore, "metadata": metadata}, create=True).result()
            array.write(np.arange(35).reshape(5, 7).astype(dtype)).result()
            index.expect(store, f"/{name}/{dtype}", array.read().result())
    converted = asyncio.run(convert_hierarchy(index.path(store)))
    assert converted == 1 + 3 * len(COMPRESSIONS), converted
