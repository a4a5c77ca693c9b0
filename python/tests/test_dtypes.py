"""Every data type has a data type of NumPy."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numcodecs
import numpy as np
import pytest

import zarr_kit
from zarr_kit.errors import ElementsError

ML_DTYPES = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3",
    "float8_e5m2",
    "float6_e2m3fn",
    "float4_e2m1fn",
    "int4",
    "uint2",
]


@pytest.mark.parametrize("name", ML_DTYPES)
def test_small_numbers_are_those_of_ml_dtypes(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    data = np.array([0, 1, 2, 3]).astype(dtype)
    for array in [
        zarr_kit.create_array("memory:", data=data, chunks=(2,)),
        zarr_kit.create_array("memory:", shape=(4,), dtype=name, chunks=(2,), fill_value=1),
    ]:
        assert array.dtype == dtype
        array[...] = data
        np.testing.assert_array_equal(array[...], data)
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
    configuration = {"dtype": "float32", "inner_shape": [2]}
    array = zarr_kit.create_array(
        "memory:",
        shape=(3,),
        dtype={"name": "vlen-ndarray", "configuration": configuration},
        serializer={"name": "vlen-ndarray"},
        fill_value=[],
    )
    array[:2] = [np.array([[1, 2], [3, 4]]), np.array([[5, 6]])]
    assert [element.shape for element in array[...]] == [(2, 2), (1, 2), (0, 2)]
    assert array[0].tolist() == [[1, 2], [3, 4]]
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
