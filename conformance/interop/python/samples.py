"""Elements, shapes and names that the writers share, identical in every run."""

import itertools
import math

import numpy as np

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
NUMBERS = ("b1", *INTEGERS, *FLOATS, *COMPLEX)
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
FIXED = ("S1", "S5", "U1", "U4", "V1", "V3", "V16")

# (shape, chunk shape): rank 0 to 4, empty, smaller than a chunk, whole chunks, partial chunks at the edges.
GEOMETRIES = (
    ((), ()),
    ((0,), (2,)),
    ((0, 5), (1, 2)),
    ((5, 0), (2, 3)),
    ((1,), (1,)),
    ((3,), (10,)),
    ((8,), (4,)),
    ((10,), (3,)),
    ((4, 6), (4, 6)),
    ((5, 7), (2, 3)),
    ((2, 2), (5, 3)),
    ((3, 4, 5), (2, 2, 2)),
    ((4, 1, 3), (2, 1, 3)),
    ((2, 3, 4, 3), (1, 2, 3, 2)),
    ((3, 2, 2, 5), (2, 2, 1, 4)),
)

# Node names and attributes in several scripts, one of them with a decomposed accent.
NAMES = ("plain", "Été", "日本語", "emoji 😀", "Ελληνικά", "עברית", "e\u0301", "a.b-c_d")
ATTRIBUTES = {
    "text": 'é 日本 😀 \u202b\n\t"\\',
    "ключ": {"nested": [1, None, True, {"深い": []}]},
    "": "empty name",
    "numbers": [0, -1, 9007199254740993, 0.1, 1e300, -0.0],
    "empty": {},
}

# NaN patterns other than the canonical one, as unsigned integers of the float's width.
NAN_BITS = {
    "f2": (0x7E01, 0xFE00, 0x7C01),
    "f4": (0x7FC00001, 0xFFC00000, 0x7F800001),
    "f8": (0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001),
}

TEXTS = ("", "a", "é", "日本", "😀", "word " * 5, "nul\0inside", "e\u0301")


def sample(dtype: np.dtype | str, shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """Returns elements of a fixed-size type: special values first, then random bits."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype.names is not None:
        values = np.empty(count, dtype)
        for position, name in enumerate(dtype.names):
            field = dtype[name]
            values[name] = sample(field.base, (count, *field.shape), seed + position)
        return values.reshape(shape)
    random = np.random.default_rng([seed, dtype.itemsize, count])
    match dtype.kind:
        case "b":
            values = random.integers(0, 2, count).astype(dtype)
        case "S":
            items = [bytes(random.integers(1, 256, k % (dtype.itemsize + 1), "u1")) for k in range(count)]
            values = np.array(items, dtype)
        case "U":
            letters = "aé日😀\u0301ж"
            longest = dtype.itemsize // 4
            words = ["".join(random.choice(list(letters), k % (longest + 1))) for k in range(count)]
            values = np.array(words, dtype)
        case _:
            values = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).copy()
            special = special_values(dtype)[:count]
            values[: len(special)] = special
    return values.reshape(shape)


def special_values(dtype: np.dtype) -> np.ndarray:
    """Returns values that readers often get wrong: extremes, signed zero, infinities, NaN, not-a-time."""
    match dtype.kind:
        case "i" | "u":
            bounds = np.iinfo(dtype)
            return np.array([0, 1, bounds.max, bounds.min], dtype)
        case "f":
            bounds = np.finfo(dtype)
            values = [-0.0, np.inf, -np.inf, np.nan, float(bounds.max), float(bounds.smallest_subnormal), 1.5]
            return np.array(values, dtype)
        case "c":
            return np.array([complex(-0.0, 1), complex(np.inf, np.nan), complex(np.nan, -np.inf)], dtype)
        case "M" | "m":
            return np.array([np.iinfo("i8").min, 0, -1, 11323], f"{dtype.byteorder}i8").view(dtype)
        case _:
            return np.zeros(0, dtype)


def smooth(dtype: np.dtype | str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns slowly changing numbers, for codecs that compress or take differences."""
    return (np.arange(math.prod(shape)) // 3 % 50).astype(dtype).reshape(shape)


def texts(shape: tuple[int, ...]) -> np.ndarray:
    """Returns text of variable length, as Python objects."""
    return objects(itertools.cycle(TEXTS), shape)


def blobs(shape: tuple[int, ...]) -> np.ndarray:
    """Returns byte strings of variable length, as Python objects; most are not UTF-8."""
    return objects(
        (text.encode() + bytes([n % 7, 255])[: n % 3] for n, text in enumerate(itertools.cycle(TEXTS))), shape
    )


def objects(items: object, shape: tuple[int, ...]) -> np.ndarray:
    """Returns an array of Python objects from an endless iterable."""
    values = np.empty(math.prod(shape), object)
    values[:] = list(itertools.islice(items, values.size))
    return values.reshape(shape)


def from_bits(kind: str, bits: int) -> np.ndarray:
    """Returns one float of type `kind` (`f2`, `f4`, `f8`) with exactly these bits, as a rank 0 array."""
    return np.array(bits, f"u{kind[1]}").view(kind)
