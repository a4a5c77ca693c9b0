"""Writes and reads blocks of N5 with TensorStore.

    n5_blocks.py write FOLDER NAME COMPRESSION   writes an array of uint16, element (i, j) is 100 i + j
    n5_blocks.py read FOLDER NAME                prints its elements as JSON

Arrays are 5 by 7 in blocks of 3 by 4.
"""

import json
import sys

import numpy as np
import tensorstore as ts

SHAPE = (5, 7)


def spec(folder: str, name: str) -> dict:
    return {"driver": "n5", "kvstore": {"driver": "file", "path": f"{folder}/{name}/"}}


def main(verb: str, folder: str, name: str, *compression: str) -> None:
    if verb == "read":
        array = ts.open(spec(folder, name)).result()
        print(json.dumps(array.read().result().tolist()))
        return
    metadata = {
        "dimensions": list(SHAPE),
        "blockSize": [3, 4],
        "dataType": "uint16",
        "compression": {"type": compression[0]},
    }
    array = ts.open({**spec(folder, name), "metadata": metadata, "create": True}).result()
    rows, columns = np.indices(SHAPE)
    array.write((100 * rows + columns).astype(np.uint16)).result()


main(*sys.argv[1:])
