"""Every data type has a data type of NumPy."""

import json
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numcodecs
import numpy as np
import pytest

import zarr_kit
from zarr_kit import _engine
from zarr_kit.errors import ElementsError

FLOATS = [
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]
ML_DTYPES = ["bfloat16", *FLOATS, "int2", "int4", "uint2", "uint4"]
CORE = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("name", ML_DTYPES)
def test_small_numbers_are_those_of_ml_dtypes(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    # `float8_e8m0fnu` does not have zero.
    data = np.array([1, 0, 1, 1]).astype(dtype)
    for array in [
        zarr_kit.create_array("memory:", data=data, chunks=(2,)),
        zarr_kit.create_array("memory:", shape=(4,), dtype=name, chunks=(2,), fill_value=1),
    ]:
        assert array.dtype == dtype
        array[...] = data
        assert array[...].tobytes() == data.tobytes()
    assert zarr_kit.create_array("memory:", shape=(1,), dtype=name, fill_value=1).fill_value == 1


@pytest.mark.parametrize(
    ("data_type", "dtype"),
    [
        ("r24", np.dtype("V3")),
        ({"name": "raw_bytes", "configuration": {"length_bytes": 5}}, np.dtype("V5")),
        ("complex_bfloat16", np.dtype([("real", ml_dtypes.bfloat16), ("imag", ml_dtypes.bfloat16)])),
        ("complex_float16", np.dtype([("real", "f2"), ("imag", "f2")])),
        ({"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}, np.dtype("M8[10us]")),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, np.dtype("U2")),
    ],
)
def test_types_of_documents_have_a_type_of_numpy(data_type: Any, dtype: np.dtype[Any]) -> None:
    array = zarr_kit.create_array("memory:", shape=(3,), dtype=data_type)
    assert array.dtype == dtype
    values = np.frombuffer(bytes(range(1, 1 + dtype.itemsize)), "u1").repeat(3) % 100
    data = np.zeros(3, dtype) if dtype.kind == "U" else np.frombuffer(values.tobytes(), dtype)
    array[...] = data
    assert array[...].tobytes() == data.tobytes()


def test_structures_have_fields_and_subarrays() -> None:
    dtype = np.dtype([("a", "<i2"), ("b", "<f4", (2, 3)), ("c", [("d", "u1"), ("e", "S2")])])
    data = np.zeros(3, dtype)
    data["a"] = [1, 2, 3]
    data["b"][1] = 7
    data["c"]["e"] = b"xy"
    array = zarr_kit.create_array("memory:", data=data, zarr_format=2, chunks=(2,))
    assert array.dtype == dtype
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(array["b"], data["b"])
    np.testing.assert_array_equal(array[["a", "c"]], data[["a", "c"]])
    assert array[1]["a"] == 2


def test_text_of_any_length_is_a_string_type() -> None:
    array = zarr_kit.create_array("memory:", shape=(2, 3), dtype=str, chunks=(1, 2), fill_value="-")
    assert array.dtype == np.dtypes.StringDType()
    array[0] = ["", "é", "a longer text"]
    array[1, ::-2] = np.array(["x", "y"], dtype=object)
    assert array[...].tolist() == [["", "é", "a longer text"], ["y", "-", "x"]]
    assert array[0, 2] == "a longer text"
    assert array.fill_value == "-"
    assert array.append(np.array([["p", "q", "r"]])) == (3, 3)
    assert array[2].tolist() == ["p", "q", "r"]


def test_bytes_of_any_length_are_objects() -> None:
    array = zarr_kit.create_array("memory:", shape=(3,), dtype="bytes", fill_value=b"f")
    array[:2] = [b"", b"\0\1"]
    assert array[...].tolist() == [b"", b"\0\1", b"f"]
    with pytest.raises(TypeError):
        array[0] = 5


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_items_of_json_are_objects(zarr_format: Any) -> None:
    filters = ["json2"] if zarr_format == 2 else "auto"
    dtype = "|O" if zarr_format == 2 else "zarr-kit.json"
    if zarr_format == 2:
        with pytest.raises(TypeError, match="object"):
            zarr_kit.create_array("memory:", shape=(3,), dtype=dtype, filters=filters, zarr_format=2)
        dtype = "zarr-kit.json"
    array = zarr_kit.create_array("memory:", shape=(3,), dtype=dtype, filters=filters, zarr_format=zarr_format)
    items = np.empty(3, dtype=object)
    items[:] = [{"a": [1, None]}, "text", 2.5]
    array[...] = items
    assert array[...].tolist() == items.tolist()
    assert array[0] == {"a": [1, None]}


@pytest.mark.parametrize(
    ("inner", "codec", "values"), [("int32", "bytes", [1, 2, 3]), ("string", "vlen-utf8", ["a", "", "c"])]
)
def test_optional_elements_are_masked(inner: str, codec: str, values: list[Any]) -> None:
    data_type = {"name": "zarrs.optional", "configuration": {"name": inner, "configuration": {}}}
    endian = {"endian": "little"} if codec == "bytes" else {}
    codecs = {"mask_codecs": [{"name": "packbits"}], "data_codecs": [{"name": codec, "configuration": endian}]}
    serializer = {"name": "zarrs.optional", "configuration": codecs}
    array = zarr_kit.create_array("memory:", shape=(4,), dtype=data_type, serializer=serializer)
    array[:3] = np.ma.MaskedArray(np.array(values, dtype=array.dtype), mask=[False, True, False])
    result = array[...]
    assert result.mask.tolist() == [False, True, False, True]
    assert result.compressed().tolist() == [values[0], values[2]]
    array[1:3] = np.array([None, values[1]], dtype=object)
    assert array[...].tolist() == [values[0], None, values[1], None]


def test_arrays_of_variable_length_are_read_as_numcodecs_wrote_them(tmp_path: Path) -> None:
    codec = numcodecs.VLenArray(dtype=">i4")
    chunk = np.empty(3, dtype=object)
    for position, numbers in enumerate([[1, 2, 3], [], [-4]]):
        chunk[position] = np.array(numbers, dtype=">i4")
    metadata = {"zarr_format": 2, "shape": [5], "chunks": [3], "dtype": "|O", "order": "C", "fill_value": 0}
    document = metadata | {"filters": [codec.get_config()], "compressor": None}
    (tmp_path / ".zarray").write_text(json.dumps(document))
    (tmp_path / "0").write_bytes(codec.encode(chunk))
    array = zarr_kit.open_array(tmp_path, mode="r+")
    assert array.dtype == np.dtype(object)
    assert [element.tolist() for element in array[...]] == [[1, 2, 3], [], [-4], [], []]
    assert array[0].dtype == np.dtype("i4")
    array[3] = np.array([7, 8])
    array[1:3] = [np.array([5]), np.array([6, 7])]
    encoded = [codec.decode((tmp_path / name).read_bytes()) for name in ("0", "1")]
    assert [element.tolist() for element in encoded[0]] == [[1, 2, 3], [5], [6, 7]]
    assert encoded[1][0].tolist() == [7, 8]
    with pytest.raises(ElementsError, match="expected items of shape"):
        array[0] = np.zeros((2, 2))


def test_arrays_of_variable_length_have_items_of_fixed_shape() -> None:
    configuration = {"dtype": "float32", "shape": [None, 2]}
    array = zarr_kit.create_array(
        "memory:",
        shape=(3,),
        dtype={"name": "ndarray", "configuration": configuration},
        serializer={"name": "vlen-ndarray"},
        fill_value="AACAPwAAAEA=",
    )
    array[:2] = [np.array([[1, 2], [3, 4]]), np.array([[5, 6]])]
    assert [element.shape for element in array[...]] == [(2, 2), (1, 2), (1, 2)]
    assert array[0].tolist() == [[1, 2], [3, 4]]
    assert array[2].tolist() == array.fill_value.tolist() == [[1, 2]]
    with pytest.raises(ElementsError, match="shape"):
        array[2] = np.zeros((1, 3))


def test_big_endian_arrays_are_native_in_memory() -> None:
    data = np.arange(5, dtype=">i4")
    for zarr_format in [2, 3]:
        array = zarr_kit.create_array("memory:", data=data, zarr_format=zarr_format, fill_value=258)  # type: ignore[arg-type]
        assert array.dtype == np.dtype("i4")
        np.testing.assert_array_equal(array[...], data)
        assert array.fill_value == 258


def test_an_undefined_fill_value_is_none() -> None:
    assert zarr_kit.create_array("memory:", shape=(2,), dtype="i4", fill_value=None, zarr_format=2).fill_value is None


def test_dtype_object_is_rejected() -> None:
    with pytest.raises(TypeError, match="object"):
        zarr_kit.create_array("memory:", data=np.array(["a", None], dtype=object))


def as_text(values: list[str]) -> Any:
    return np.array(values, dtype="T")


def arrays(*values: Any) -> Any:
    """Return an array of objects, each of which may be a list or a dictionary."""
    result = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        result[position] = value
    return result


RECORD = np.dtype([("n", "<i2"), ("x", "<f8")])
OPTIONAL = {"configuration": {"name": "int32", "configuration": {}}}
RAGGED = {
    "ndarray": {"name": "ndarray", "configuration": {"dtype": "float32", "shape": [None]}},
    "vlen-ndarray": {"name": "vlen-ndarray", "configuration": {"dtype": "float32", "inner_shape": []}},
}
FIELDS = [{"name": "n", "data_type": "int16"}, {"name": "x", "data_type": "float64"}]
TEXT_32 = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}

# For each name of the catalogue: its form in a document, three elements, and their type in NumPy.
CATALOGUE: dict[str, tuple[Any, Any, Any]] = {
    **{name: (name, np.array([0, 1, 1], name), name) for name in CORE},
    **{
        name: (name, np.array([0, 1 + 2j, -3j], dtype), dtype)
        for name, dtype in [
            ("complex64", "c8"),
            ("complex128", "c16"),
            ("complex_float32", "c8"),
            ("complex_float64", "c16"),
        ]
    },
    **{
        name: (name, np.array([0, 1, 1]).astype(getattr(ml_dtypes, name)), getattr(ml_dtypes, name))
        for name in ML_DTYPES
    },
    **{
        f"complex_{name}": (f"complex_{name}", np.zeros(3, [("real", dtype), ("imag", dtype)]), None)
        for name, dtype in [
            ("float16", "f2"),
            *((name, getattr(ml_dtypes, name)) for name in ["bfloat16", *FLOATS]),
        ]
    },
    **{
        f"numpy.{kind}64": (
            {"name": f"numpy.{kind}64", "configuration": {"unit": "s", "scale_factor": 5}},
            np.array([1, "NaT", -7], f"{kind}64[5s]"),
            None,
        )
        for kind in ("datetime", "timedelta")
    },
    "fixed_length_utf32": (TEXT_32, np.array(["", "é", "ab"]), None),
    "null_terminated_bytes": (
        {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}},
        np.array([b"", b"a", b"abc"]),
        None,
    ),
    "raw_bytes": (
        {"name": "raw_bytes", "configuration": {"length_bytes": 3}},
        np.array([b"abc", b"\0\0\1", b"\0\0\0"], "V3"),
        None,
    ),
    **{name: (name, as_text(["", "é", "a longer text"]), None) for name in ["string"]},
    **{name: (name, arrays(b"", b"\0\1", b"abc"), None) for name in ["bytes", "variable_length_bytes", "binary"]},
    "zarr-kit.json": ("zarr-kit.json", arrays({"a": [1, None]}, "text", 2.5), None),
    **{
        name: (
            {"name": name, "configuration": {"fields": fields}},
            np.array([(1, 2.5), (0, 0), (-3, 4)], RECORD),
            None,
        )
        for name, fields in [("struct", FIELDS), ("structured", [["n", "int16"], ["x", "float64"]])]
    },
    **{
        name: ({"name": name, **OPTIONAL}, np.ma.MaskedArray(np.array([1, 0, 3], "i4"), [False, True, False]), None)
        for name in ["optional", "zarrs.optional"]
    },
    **{
        name: (document, arrays(np.array([1, 2], "f4"), np.array([], "f4"), np.array([5], "f4")), None)
        for name, document in RAGGED.items()
    },
}
SERIALIZERS = {
    **{name: {"name": "vlen-ndarray"} for name in RAGGED},
    **{
        name: {
            "name": name,
            "configuration": {
                "mask_codecs": [{"name": "packbits"}],
                "data_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            },
        }
        for name in ["optional", "zarrs.optional"]
    },
}


def test_the_table_has_the_data_types_of_the_catalogue() -> None:
    # The data types of raw bits, such as `r24`, have no single name. Others are the names of v2.
    assert set(CATALOGUE) == set(_engine.data_type_names("v3")) - {"r*"}


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("in_shards", [False, True])
def test_data_types_of_the_catalogue_are_read_as_they_were_written(tmp_path: Path, name: str, in_shards: bool) -> None:
    document, data, dtype = CATALOGUE[name]
    options: dict[str, Any] = {"shards": 2} if in_shards else {}
    array = zarr_kit.create_array(
        tmp_path, shape=3, dtype=document, chunks=1, serializer=SERIALIZERS.get(name, "auto"), **options
    )
    assert array.dtype == (data.dtype if dtype is None else np.dtype(dtype))
    array[...] = data
    again = zarr_kit.open_array(tmp_path, mode="r")
    for read in (again[...], again[::-1][::-1], again.read_many([...])[0]):
        if name in RAGGED:
            assert [element.tolist() for element in read] == [element.tolist() for element in data]
        else:
            # Missing elements and NaN are equal, too.
            assert repr(read.tolist()) == repr(data.tolist())
            assert read.dtype == array.dtype
    stored = json.loads((tmp_path / "zarr.json").read_text())["data_type"]
    assert (stored if isinstance(stored, str) else stored["name"]) in _synonyms(name)


def _synonyms(name: str) -> set[str]:
    """Return the names that a document may have for a data type."""
    groups = [
        {"complex64", "complex_float32"},
        {"complex128", "complex_float64"},
        {"bytes", "variable_length_bytes", "binary"},
        {"struct", "structured"},
        {"optional", "zarrs.optional"},
    ]
    return {name}.union(*(group for group in groups if name in group))


def test_the_table_of_the_readme_has_the_data_types() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    table = readme.partition("## Data types")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ") and "---" not in line]
    patterns = [text.replace("…", ".*") for row in rows for text in re.findall("`([^`]+)`", row)]
    patterns += ["u?int(8|16|32|64)", "float(16|32|64)"]
    for name in CATALOGUE:
        assert any(re.fullmatch(pattern, other) for pattern in patterns for other in _synonyms(name)), name


def test_every_type_of_ml_dtypes_is_known_or_has_no_name_in_zarr() -> None:
    names = {name for name in dir(ml_dtypes) if _is_dtype(getattr(ml_dtypes, name))}
    # Zarr has no names for these.
    assert names - set(ML_DTYPES) == {"int1", "uint1", "complex32", "bcomplex32"}


def _is_dtype(value: Any) -> bool:
    if not isinstance(value, type) or not issubclass(value, np.generic):
        return False
    return value.__module__.startswith("ml_dtypes") or value.__name__ in dir(ml_dtypes)


@pytest.mark.parametrize(
    "dtype", [np.longdouble, np.clongdouble, ml_dtypes.int1, ml_dtypes.uint1, ml_dtypes.complex32, "O"]
)
def test_types_without_a_name_in_zarr_are_refused(dtype: Any) -> None:
    with pytest.raises(zarr_kit.ZarrError, match="data type|dtype"):
        zarr_kit.create_array("memory:", shape=1, dtype=np.dtype(dtype))
