"""Computes the results that the plugins in this folder must have, or lets other programs compute them.

  expected.py hilbert EDGE EDGE [EDGE]    the elements of a chunk along the curve, as positions in C order
  expected.py months YEAR MONTH DAYS      the lengths of months that cover DAYS days
  expected.py sqlite write FILE           writes a v2 hierarchy with one array, with Python's sqlite3
  expected.py sqlite rows FILE            all keys, sorted, and their values in hexadecimal digits
  expected.py sqlite zarr FILE PATH       the elements of an array, as zarr-python 2 reads them

Prints JSON.
"""

import calendar
import json
import sqlite3
import struct
import sys
from contextlib import closing


def square(bits: int) -> list[tuple[int, ...]]:
    """Returns the positions along the curve in a square: turns each quarter, from the finest square to the coarsest."""
    steps = []
    for number in range(4**bits):
        row = column = 0
        for level in range(bits):
            quarter = number >> 2 * level & 3
            right = quarter >> 1
            up = (quarter ^ right) & 1
            if not up:
                if right:
                    row, column = (1 << level) - 1 - row, (1 << level) - 1 - column
                row, column = column, row
            row += right << level
            column += up << level
        steps.append((row, column))
    return steps


def cube(bits: int) -> list[tuple[int, ...]]:
    """Returns the positions along the curve in a cube, with Skilling's conversion from the number of a step to the axes."""
    steps = []
    for number in range(8**bits):
        axes = [0, 0, 0]
        for bit in reversed(range(3 * bits)):
            axes[(3 * bits - 1 - bit) % 3] = axes[(3 * bits - 1 - bit) % 3] << 1 | number >> bit & 1
        gray = axes[2] >> 1
        axes[2] ^= axes[1]
        axes[1] ^= axes[0]
        axes[0] ^= gray
        for level in range(1, bits):
            low = (1 << level) - 1
            for axis in (2, 1, 0):
                if axes[axis] >> level & 1:
                    axes[0] ^= low
                else:
                    swapped = (axes[0] ^ axes[axis]) & low
                    axes[0] ^= swapped
                    axes[axis] ^= swapped
        steps.append(tuple(axes))
    return steps


def hilbert(shape: list[int]) -> list[int]:
    bits = (max(shape) - 1).bit_length()
    places = []
    for position in square(bits) if len(shape) == 2 else cube(bits):
        if all(index < edge for index, edge in zip(position, shape)):
            place = 0
            for index, edge in zip(position, shape):
                place = place * edge + index
            places.append(place)
    return places


def months(year: int, month: int, days: int) -> list[int]:
    lengths = []
    while sum(lengths) < days:
        lengths.append(calendar.monthrange(year, month)[1])
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return lengths


def write(file: str) -> None:
    """Writes an array of shape (4, 6) with chunks of (2, 3) and elements 0 to 23."""
    array = {
        "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i2", "compressor": None, "fill_value": 0,
        "order": "C", "filters": None,
    }
    rows = {".zgroup": b'{"zarr_format": 2}', "a/.zarray": json.dumps(array).encode()}
    for row in range(2):
        for column in range(2):
            elements = [6 * (2 * row + i) + 3 * column + j for i in range(2) for j in range(3)]
            rows[f"a/{row}.{column}"] = struct.pack("<6h", *elements)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)")
        connection.executemany("INSERT INTO zarr VALUES (?, ?)", rows.items())


def rows(file: str) -> dict[str, str]:
    with closing(sqlite3.connect(file)) as connection:
        return {key: bytes(value).hex() for key, value in connection.execute("SELECT k, v FROM zarr ORDER BY k")}


def elements(file: str, path: str) -> list:
    import zarr

    with closing(zarr.SQLiteStore(file)) as store:
        return zarr.open_group(store, mode="r")[path][...].tolist()


match sys.argv[1:]:
    case ["hilbert", *shape]:
        result = hilbert([int(edge) for edge in shape])
    case ["months", *numbers]:
        result = months(*map(int, numbers))
    case ["sqlite", "write", file]:
        result = write(file)
    case ["sqlite", "rows", file]:
        result = rows(file)
    case ["sqlite", "zarr", file, path]:
        result = elements(file, path)
    case _:
        sys.exit(__doc__)
print(json.dumps(result))
