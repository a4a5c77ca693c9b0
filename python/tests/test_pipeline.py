"""The codec pipeline for zarr-python, compared with the pipeline of zarr-python itself."""

import asyncio
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import obstore.store
import pytest
import zarr
import zarr.codecs
import zarr.storage
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from strategies import examples

import zarr_kit

OURS = {"codec_pipeline.path": "zarr_kit.CodecPipeline"}
DEFAULT = {"codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline"}
SHAPE = (7, 10)
DTYPES = [
    "bool",
    "int8",
    "uint16",
    "<i4",
    ">i4",
    "uint64",
    "float16",
    "float64",
    "complex64",
    "datetime64[s]",
    "timedelta64[10us]",
    "S3",
    "U4",
]
CODECS: dict[str, dict[str, Any]] = {
    "default": {},
    "none": {"compressors": None},
    "gzip": {"compressors": zarr.codecs.GzipCodec(level=1)},
    "blosc": {"compressors": zarr.codecs.BloscCodec(cname="lz4", clevel=1)},
    "zstd and crc32c": {"compressors": [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]},
    "big endian": {"serializer": zarr.codecs.BytesCodec(endian="big"), "compressors": None},
    "transpose": {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    "shards": {"shards": (6, 8)},
    "compressed shards": {"shards": (6, 8), "compressors": zarr.codecs.ZstdCodec()},
}
STORES = ["memory", "local", "fsspec", "zip", "object", "object in files", "logging", "wrapper"]
SELECTIONS: list[Any] = [
    ...,
    (slice(1, 6), slice(3, 9)),
    (slice(None), slice(1, None, 3)),
    4,
    (2, 5),
    (slice(2, 3), 9),
    (slice(0), slice(None)),
]


@pytest.fixture(autouse=True)
def _ours() -> Iterator[None]:
    with zarr.config.set(OURS):
        yield


def data_of(dtype: str) -> NDArray[Any]:
    numbers = np.arange(70).reshape(SHAPE)
    return (numbers % 2 == 0) if dtype == "bool" else numbers.astype(dtype)


def store_of(kind: str, folder: Path) -> Any:
    if kind == "memory":
        return zarr.storage.MemoryStore()
    if kind == "fsspec":
        return zarr.storage.FsspecStore.from_url(f"memory://{folder}/remote.zarr")
    if kind == "zip":
        return zarr.storage.ZipStore(folder / "archive.zip", mode="w")
    if kind == "object":
        return zarr.storage.ObjectStore(obstore.store.MemoryStore())
    if kind == "object in files":
        return zarr.storage.ObjectStore(obstore.store.LocalStore(str(folder / "object.zarr"), mkdir=True))
    if kind == "logging":
        return zarr.storage.LoggingStore(zarr.storage.LocalStore(folder / "logged.zarr"), log_level="CRITICAL")
    if kind == "wrapper":
        return zarr.storage.WrapperStore(zarr.storage.MemoryStore())
    return zarr.storage.LocalStore(folder / "local.zarr")


def default_view(array: Any) -> Any:
    """Return the same array with the pipeline of zarr-python."""
    with zarr.config.set(DEFAULT):
        return zarr.open_array(array.store, path=array.path, mode="r+", zarr_format=array.metadata.zarr_format)


def create_array(*arguments: Any, **options: Any) -> Any:
    """Create an array of zarr-python, whose annotations do not tell arrays and scalars apart."""
    return zarr.create_array(*arguments, **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("codecs", CODECS)
@pytest.mark.parametrize("dtype", ["uint16", "float64"])
def test_parts_are_read_and_written(tmp_path: Path, dtype: str, codecs: str, kind: str) -> None:
    data = data_of(dtype)
    array = create_array(
        store_of(kind, tmp_path), shape=SHAPE, dtype=dtype, chunks=(3, 4), fill_value=3, **CODECS[codecs]
    )
    assert type(array._async_array.codec_pipeline) is zarr_kit.CodecPipeline
    expected = np.full(SHAPE, 3, dtype=dtype)
    written: list[Any] = [(slice(1, 6), slice(3, 9)), (4, 5), ..., (slice(None), slice(0, 3))]
    for selection in written:
        array[selection] = data[selection]
        expected[selection] = data[selection]
        np.testing.assert_array_equal(default_view(array)[...], expected)
    for selection in SELECTIONS:
        np.testing.assert_array_equal(np.asarray(array[selection]), data[selection])


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", [">M8[generic]", "<m8[generic]", ">m8[5generic]"])
@pytest.mark.filterwarnings("ignore")
def test_times_without_a_unit_keep_their_counts(dtype: str, zarr_format: Any) -> None:
    counts = np.array([1, -2, 100], dtype=dtype[0] + "i8")
    store: dict[str, Any] = {}
    array = zarr.create_array(store, data=counts.view(dtype), zarr_format=zarr_format)
    for pipeline in (OURS, DEFAULT):
        with zarr.config.set(pipeline):
            elements = np.asarray(zarr.open_array(store, mode="r")[:])
        assert elements.view(elements.dtype.byteorder + "i8").tolist() == [1, -2, 100]
    array[:] = counts[::-1].view(dtype)
    elements = np.asarray(array[1:])
    assert elements.view(elements.dtype.byteorder + "i8").tolist() == [-2, 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_data_types_are_exchanged(dtype: str, zarr_format: Any) -> None:
    data = data_of(dtype)
    array = create_array({}, data=data, chunks=(3, 4), zarr_format=zarr_format)
    with zarr.config.set(DEFAULT):
        other = create_array({}, data=data, chunks=(3, 4), zarr_format=zarr_format)
    theirs = np.asarray(default_view(array)[...])
    ours = np.asarray(array[...])
    assert ours.dtype == np.asarray(other[...]).dtype
    np.testing.assert_array_equal(theirs, data)
    np.testing.assert_array_equal(ours, data)
    with zarr.config.set(OURS):
        reopened = zarr.open_array(other.store, mode="r")
    np.testing.assert_array_equal(np.asarray(reopened[...]), data)
    np.testing.assert_array_equal(np.asarray(reopened[2:6, 3]), data[2:6, 3])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_text_and_structures_are_exchanged(zarr_format: Any) -> None:
    text = np.array([["", "é"], ["a longer text", "x"]], dtype=np.dtypes.StringDType())
    structure = np.array([(1, 2.5), (3, 4)], dtype=[("n", "<i2"), ("x", "<f8")])
    for data in (text, structure):
        array = create_array({}, data=data, chunks=(1,) * data.ndim, zarr_format=zarr_format)
        assert np.asarray(default_view(array)[...]).tolist() == data.tolist()
        assert np.asarray(array[...]).tolist() == data.tolist()
        array[0] = data[1]
        assert np.asarray(default_view(array)[0]).tolist() == data[1].tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("filters", [None, "delta"])
def test_codecs_of_v2_are_used(order: Any, filters: str | None) -> None:
    import numcodecs

    data = data_of("<i4")
    delta = None if filters is None else [numcodecs.Delta(dtype="<i4")]
    arguments = {"filters": delta, "compressors": numcodecs.Zlib(1), "order": order, "zarr_format": 2}
    array = create_array({}, data=data, chunks=(3, 4), **arguments)
    np.testing.assert_array_equal(default_view(array)[...], data)
    array[2:5, 1:9] = 0
    data[2:5, 1:9] = 0
    np.testing.assert_array_equal(default_view(array)[...], data)
    np.testing.assert_array_equal(array[1:6, ::2], data[1:6, ::2])


@pytest.mark.parametrize("write_empty_chunks", [False, True])
@pytest.mark.parametrize("fill_value", [0.0, -0.0, np.nan, 5.0])
def test_the_same_chunks_are_stored(write_empty_chunks: bool, fill_value: float) -> None:
    stored = []
    for pipeline in (OURS, DEFAULT):
        with zarr.config.set(pipeline):
            store: dict[str, Any] = {}
            config: Any = {"write_empty_chunks": write_empty_chunks}
            array = create_array(store, shape=(8,), dtype="f8", chunks=(2,), fill_value=fill_value, config=config)
            array[...] = [0.0, 0.0, -0.0, -0.0, np.nan, np.nan, 5.0, 5.0]
            array[1] = fill_value
            array[0] = fill_value
            stored.append(set(store))
    assert stored[0] == stored[1]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays_without_dimensions_are_read_and_written(tmp_path: Path, zarr_format: Any) -> None:
    stores: list[Any] = [{}, tmp_path]
    for store in stores:
        array = create_array(store, shape=(), dtype="f4", fill_value=2, zarr_format=zarr_format)
        assert array[()] == 2
        array[()] = 7.5
        assert array[()] == default_view(array)[()] == 7.5


def test_shards_keep_elements_outside_of_the_array() -> None:
    array = create_array({}, data=np.array([1, 2, 3, 4]), chunks=(2,), shards=(4,))
    array.resize((2,))
    array[...] = 9
    array.resize((4,))
    assert array[...].tolist() == [9, 9, 3, 4]


def test_missing_chunks_are_reported(tmp_path: Path) -> None:
    config: Any = {"read_missing_chunks": False}
    stores: list[Any] = [{}, tmp_path]
    for store in stores:
        array = create_array(store, shape=(4,), dtype="i4", chunks=(2,), config=config)
        array[:2] = 1
        assert array[:2].tolist() == [1, 1]
        with pytest.raises(zarr.errors.ChunkNotFoundError):
            array[...]


@pytest.mark.parametrize("codecs", ["default", "compressed shards"])
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_selections_agree_with_numpy(codecs: str, data: Any) -> None:
    values = data_of("uint16")
    array = create_array({}, data=values, chunks=(3, 4), **CODECS[codecs])
    basic = data.draw(npst.basic_indices(SHAPE, allow_newaxis=False))
    try:
        theirs = default_view(array)[basic]
    except (IndexError, zarr.errors.NegativeStepError):
        return
    np.testing.assert_array_equal(array[basic], theirs)
    rows = data.draw(st.lists(st.integers(-7, 6), min_size=1, max_size=5, unique_by=lambda row: row % 7))
    columns = data.draw(st.one_of(st.integers(0, 9), st.just(slice(2, 8)), st.lists(st.integers(0, 9), min_size=1)))
    expected = default_view(array).oindex[rows, columns]
    np.testing.assert_array_equal(array.oindex[rows, columns], expected)
    mask = data.draw(npst.arrays(bool, SHAPE))
    np.testing.assert_array_equal(array.get_mask_selection(mask), values[mask])
    array.set_mask_selection(mask, 9)
    values[mask] = 9
    array.oindex[rows, 4] = 1
    values[rows, 4] = 1
    np.testing.assert_array_equal(default_view(array)[...], values)


def test_the_memory_of_the_caller_is_filled_in_any_layout() -> None:
    values = data_of("float64")
    for order in ("C", "F"):
        config: Any = {"order": order}
        array = create_array({}, data=values, chunks=(3, 4), config=config)
        read = array[1:, 2:]
        assert isinstance(read, np.ndarray)
        assert read.flags.c_contiguous is (order == "C")
        np.testing.assert_array_equal(read, values[1:, 2:])
        array[...] = np.asfortranarray(values)[::-1]
        np.testing.assert_array_equal(default_view(array)[...], values[::-1])


def test_an_unsupported_array_opens_and_names_its_problem(tmp_path: Path) -> None:
    codec = UnknownCodec()
    array = create_array(tmp_path, shape=(4,), dtype="u1", chunks=(2,), filters=[codec], compressors=None)
    uses: list[Callable[[], Any]] = [lambda: array[...], lambda: array.__setitem__(slice(2), 1)]
    for use in uses:
        with pytest.raises(zarr_kit.ZarrError) as raised:
            use()
        text = str(raised.value)
        for part in (tmp_path.as_posix(), "c/0", "UnknownCodec", "test.unknown", "codec_pipeline.strict"):
            assert part in text


def test_an_unsupported_array_uses_zarr_python_if_not_strict(tmp_path: Path) -> None:
    with zarr.config.set({"codec_pipeline.strict": False}):
        array = create_array(tmp_path, shape=(4,), dtype="u1", chunks=(2,), filters=[UnknownCodec()], compressors=None)
        with pytest.warns(zarr_kit.ZarrWarning, match="test.unknown"):
            array[...] = 5
        # There is one warning: another one would be an error.
        assert array[...].tolist() == [5, 5, 5, 5]


@pytest.mark.filterwarnings("ignore:.*async")
@pytest.mark.parametrize("kind", ["memory", "local", "fsspec"])
@pytest.mark.parametrize("is_strict", [True, False])
def test_the_setting_holds_for_inner_chunks(tmp_path: Path, is_strict: bool, kind: str) -> None:
    inner: list[Any] = [UnknownCodec(), zarr.codecs.BytesCodec()]
    serializer = zarr.codecs.ShardingCodec(chunk_shape=(2,), codecs=inner)
    with zarr.config.set({"codec_pipeline.strict": is_strict}):
        array = create_array(
            store_of(kind, tmp_path), shape=(8,), dtype="u1", chunks=(4,), serializer=serializer, compressors=None
        )
        if is_strict:
            uses: list[Callable[[], Any]] = [lambda: array[1], lambda: array.__setitem__(..., 5)]
            for use in uses:
                with pytest.raises(zarr_kit.ZarrError, match="test.unknown"):
                    use()
        else:
            with warnings.catch_warnings(record=True) as issued:
                warnings.simplefilter("always", zarr_kit.ZarrWarning)
                array[...] = 5
                array[1] = 6
                assert array[1:3].tolist() == [6, 5]
                assert array[...].tolist() == [5, 6, 5, 5, 5, 5, 5, 5]
            # Another warning may be about conditional writes of the store.
            warned = [str(one.message) for one in issued if "is used instead" in str(one.message)]
            assert len(warned) == 1
            assert "test.unknown" in warned[0]


@pytest.mark.parametrize(("text", "is_strict"), [("False", False), ("false", False), ("true", True)])
def test_the_environment_sets_strict(tmp_path: Path, text: str, is_strict: bool) -> None:
    code = "import zarr, zarr_kit; print(zarr_kit.CodecPipeline.from_codecs([zarr.codecs.BytesCodec()])._strict)"
    environment = {**os.environ, "ZARR_CODEC_PIPELINE__STRICT": text}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert ended.stdout == f"{is_strict}\n", ended.stderr


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_a_damaged_chunk_is_named(tmp_path: Path, kind: str) -> None:
    store = store_of(kind, tmp_path)
    array = create_array(store, data=np.arange(10), chunks=(5,), name="a", compressors=zarr.codecs.GzipCodec())
    value = zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(b"damaged")
    zarr.core.sync.sync(store.set("a/c/1", value))
    with pytest.raises(zarr_kit.ZarrError, match=r"a/c/1.*gzip"):
        array[...]
    assert array[:5].tolist() == [0, 1, 2, 3, 4]


def test_a_chunk_that_is_passed_without_its_key_is_described(tmp_path: Path) -> None:
    """zarr-python decodes and encodes the indices of shards in this way."""
    array = create_array(tmp_path / "a", data=np.arange(10), chunks=(5,), compressors=zarr.codecs.GzipCodec())
    prototype = zarr.core.buffer.default_buffer_prototype()
    config = zarr.core.array_spec.ArrayConfig.from_dict({})
    spec = zarr.core.array_spec.ArraySpec((5,), array.metadata.data_type, 0, config, prototype)
    damaged = prototype.buffer.from_bytes(b"damaged")
    described = r"^a chunk of shape \(5,\) and data type int64: .*"
    pipeline = array._async_array.codec_pipeline
    with pytest.raises(zarr_kit.ZarrError, match=f"{described}gzip"):
        asyncio.run(pipeline.decode([(damaged, spec)]))
    options: dict[str, Any] = {"shape": 10, "dtype": "i8", "chunks": (5,), "filters": [UnknownCodec()]}
    unsupported = create_array(tmp_path / "b", **options)._async_array.codec_pipeline
    elements = prototype.nd_buffer.from_numpy_array(np.arange(5))
    with pytest.raises(zarr_kit.ZarrError, match=f"{described}test.unknown"):
        asyncio.run(unsupported.decode([(damaged, spec)]))
    with pytest.raises(zarr_kit.ZarrError, match=f"{described}test.unknown"):
        asyncio.run(unsupported.encode([(elements, spec)]))


def test_the_pipeline_is_pickled(tmp_path: Path) -> None:
    array = create_array(tmp_path, data=np.arange(10), chunks=(5,))
    restored = pickle.loads(pickle.dumps(array))
    assert type(restored._async_array.codec_pipeline) is zarr_kit.CodecPipeline
    assert restored[3:7].tolist() == [3, 4, 5, 6]
    pipeline = pickle.loads(pickle.dumps(array._async_array.codec_pipeline))
    assert pipeline == array._async_array.codec_pipeline


def test_zarr_kit_does_not_import_zarr_python() -> None:
    code = "import sys, zarr_kit; assert 'zarr' not in sys.modules; print(zarr_kit.CodecPipeline.__name__)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "CodecPipeline\n", ended.stderr


def test_the_environment_selects_the_pipeline(tmp_path: Path) -> None:
    code = f"""
import numpy, zarr
array = zarr.create_array({str(tmp_path)!r}, data=numpy.array([1, 2, 3]))
print(array[1:].tolist(), type(array._async_array.codec_pipeline))
"""
    environment = {**os.environ, "ZARR_CODEC_PIPELINE__PATH": "zarr_kit.CodecPipeline"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert ended.stdout == "[2, 3] <class 'zarr_kit.CodecPipeline'>\n", ended.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_xarray_reads_and_writes_through_the_pipeline(tmp_path: Path, zarr_format: Any) -> None:
    xr = pytest.importorskip("xarray")
    dataset = xr.Dataset(
        {"t": (("y", "x"), data_of("float64")), "name": ("y", np.array(list("abcdefg")))},
        coords={"time": ("y", np.arange(7).astype("datetime64[D]").astype("datetime64[ns]"))},
    )
    dataset.to_zarr(tmp_path, zarr_format=zarr_format, consolidated=False)
    ours = xr.open_dataset(tmp_path, engine="zarr", consolidated=False).load()
    with zarr.config.set(DEFAULT):
        theirs = xr.open_dataset(tmp_path, engine="zarr", consolidated=False).load()
    xr.testing.assert_identical(ours, theirs)


class UnknownCodec(zarr.abc.codec.ArrayArrayCodec):
    """A codec that only zarr-python has. It does not change the elements."""

    is_fixed_size = True

    def to_dict(self) -> Any:
        return {"name": "test.unknown"}

    @classmethod
    def from_dict(cls, data: Any) -> "UnknownCodec":
        return cls()

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_data

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_data
