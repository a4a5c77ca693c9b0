"""Prints small floats as converted by ml_dtypes, which comes with TensorStore.

Each line is a JSON object:

  name     the data type
  values   the element of each code, as Python prints floats
  rounded  numbers between elements, exact to the last digit, and the code of each; none beyond the largest element
"""

import json
from decimal import Decimal

import ml_dtypes
import numpy as np

NAMES = {
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
}

for name, bits in NAMES.items():
    dtype = np.dtype(getattr(ml_dtypes, name))
    values = np.arange(2**bits, dtype=np.uint8).view(dtype).astype(np.float64)
    finite = np.unique(values[np.isfinite(values)])
    parts = np.concatenate([finite[:-1] + (finite[1:] - finite[:-1]) * part for part in (0.25, 0.5, 0.75)])
    # ml_dtypes converts through float32, so only numbers that float32 represents exactly are rounded once. It
    # also treats the mantissa bits of a subnormal number as the bits of a normal number (1.25 * 2**-127 becomes
    # 2**-126).
    is_exact = parts.astype(np.float32).astype(np.float64) == parts
    parts = parts[is_exact & (np.abs(parts) >= np.finfo(np.float32).tiny)]
    codes = parts.astype(dtype).view(np.uint8)
    rounded = [[str(Decimal(float(part))), int(code)] for part, code in zip(parts, codes, strict=True)]
    print(json.dumps({"name": name, "values": [repr(float(value)) for value in values], "rounded": rounded}))
