"""Arrays that this package and zarr-python write and read in turn, for any data type, codecs, grid and format."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from strategies import elements, examples, fill_values, v2_arrays, v3_arrays

import zarr_kit

PIPELINES = ["zarr.core.codec_pipeline.BatchedCodecPipeline", "zarr_kit.CodecPipeline"]

pytestmark = pytest.mark.filterwarnings("ignore")


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, Any]:
    arguments: dict[str, Any] = draw(st.one_of(v3_arrays(), v2_arrays()))
    arguments["fill_value"] = draw(fill_values(arguments["dtype"]))
    return arguments


def parts(
    draw: Callable[[st.SearchStrategy[Any]], Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield selections and elements to write, often of the whole array."""
    for _ in range(draw(st.integers(1, 3))):
        boxes = npst.basic_indices(shape, allow_newaxis=False, allow_ellipsis=False)
        key = draw(st.one_of(st.just(...), boxes.filter(has_no_negative_step)))
        selected = np.empty(shape, dtype=np.int8)[key].shape
        yield key, draw(elements(dtype, selected))


def has_no_negative_step(key: Any) -> bool:
    """Return whether zarr-python accepts a key."""
    entries = key if isinstance(key, tuple) else (key,)
    return all(entry.step is None or entry.step > 0 for entry in entries if isinstance(entry, slice))


def filled(arguments: dict[str, Any]) -> NDArray[Any]:
    return np.full(arguments["shape"], arguments["fill_value"], dtype=arguments["dtype"])


def keys_below(folder: Path) -> set[str]:
    """Return the keys of chunks."""
    files = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {name for name in files if name not in ("zarr.json", ".zarray", ".zattrs")}


def metadata_of(folder: str, zarr_format: Any) -> dict[str, Any]:
    """Return the metadata of an array, as zarr-python reads them."""
    metadata: dict[str, Any] = zarr.open_array(folder, mode="r", zarr_format=zarr_format).metadata.to_dict()
    if len(metadata["shape"]) < 2:
        # The order has no effect, and the engine does not store it.
        metadata.pop("order", None)
    return metadata


@pytest.mark.parametrize("pipeline", PIPELINES)
@examples(150)
@given(data=st.data())
def test_each_reads_and_continues_what_the_other_has_written(pipeline: str, data: st.DataObject) -> None:
    arguments = data.draw(arrays())
    dtype = arguments["dtype"]
    with tempfile.TemporaryDirectory() as name, zarr.config.set({"codec_pipeline.path": pipeline}):
        folder = Path(name)
        is_ours = data.draw(st.booleans())
        create: Any = zarr_kit.create_array if is_ours else zarr.create_array
        create(folder, **arguments)
        ours = zarr_kit.open_array(folder, mode="r+")
        theirs: Any = zarr.open_array(folder, mode="r+", zarr_format=arguments["zarr_format"])
        expected = filled(arguments)
        for key, values in parts(data.draw, arguments["shape"], dtype):
            expected[key] = values
            writer = ours if data.draw(st.booleans()) else theirs
            writer[key] = values
            np.testing.assert_array_equal(np.asarray(theirs[...]), expected)
            np.testing.assert_array_equal(ours[...], expected)
            np.testing.assert_array_equal(ours[key], expected[key])
            np.testing.assert_array_equal(np.asarray(theirs[key]), expected[key])


@examples(150)
@given(data=st.data())
def test_both_store_the_same_chunks_and_metadata(data: st.DataObject) -> None:
    arguments = data.draw(arrays())
    with tempfile.TemporaryDirectory() as name:
        ours = zarr_kit.create_array(f"{name}/ours", **arguments)
        theirs: Any = zarr.create_array(f"{name}/theirs", **arguments)
        with zarr.config.set({"codec_pipeline.path": PIPELINES[1]}):
            pipeline: Any = zarr.create_array(f"{name}/pipeline", **arguments)
        for key, values in parts(data.draw, arguments["shape"], arguments["dtype"]):
            for array in (ours, theirs, pipeline):
                array[key] = values
        expected = keys_below(Path(name) / "theirs")
        assert keys_below(Path(name) / "pipeline") == expected
        assert keys_below(Path(name) / "ours") == expected
        found, wanted = (metadata_of(f"{name}/{who}", arguments["zarr_format"]) for who in ("ours", "theirs"))
        assert found == wanted


ITEMS = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda items: st.one_of(st.lists(items, max_size=3), st.dictionaries(st.text(), items, max_size=3)),
    max_leaves=8,
)


@examples(100)
@given(attributes=st.dictionaries(st.text(), ITEMS, max_size=4), zarr_format=st.sampled_from([2, 3]))
def test_attributes_are_exchanged(attributes: dict[str, Any], zarr_format: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        zarr_kit.create_group(f"{name}/ours", attributes=attributes, zarr_format=zarr_format)
        assert dict(zarr.open_group(f"{name}/ours", mode="r").attrs) == attributes
        zarr.create_group(f"{name}/theirs", attributes=attributes, zarr_format=zarr_format)
        assert dict(zarr_kit.open_group(f"{name}/theirs", mode="r").attrs) == attributes
