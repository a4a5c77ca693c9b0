"""References of kerchunk and virtualizarr to an HDF5 file whose datasets have registered filters."""

import json
from pathlib import Path

import h5py
import hdf5plugin
import imagecodecs.numcodecs
import numpy as np
from kerchunk.hdf import SingleHdf5ToZarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser
from zarr.codecs.numcodecs._codecs import _NumcodecsBytesBytesCodec
from zarr.registry import register_codec

ABOUT = "References to an HDF5 file whose datasets have filters of hdf5plugin, by kerchunk and virtualizarr, as JSON."
PACKAGES = ["hdf5plugin", "h5py", "kerchunk", "virtualizarr", "imagecodecs"]

# virtualizarr names codecs of imagecodecs, which programs must register: in numcodecs, and in zarr-python under the names
# that its wrappers of numcodecs have.
imagecodecs.numcodecs.register_codecs(verbose=False)
for name in ("imagecodecs_lz4h5", "imagecodecs_bz2", "imagecodecs_lzf"):
    wrapper = type(name, (_NumcodecsBytesBytesCodec,), {}, codec_name=name)
    register_codec(f"numcodecs.{name}", wrapper)

# Filters that both programs refer to.
BOTH = {
    "blosc-lz4": hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.SHUFFLE),
    "blosc-zstd": hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.BITSHUFFLE),
    "blosc-zlib": hdf5plugin.Blosc(cname="zlib", shuffle=hdf5plugin.Blosc.NOSHUFFLE),
    "zstd": hdf5plugin.Zstd(clevel=5),
    "gzip": "gzip",
}
# Filters that only virtualizarr refers to. kerchunk stores elements behind filters that it does not support inline.
VIRTUALIZARR = {"lz4": hdf5plugin.LZ4(), "lz4-blocks": hdf5plugin.LZ4(nbytes=96), "bzip2": hdf5plugin.BZip2(), "lzf": "lzf"}
# Filters that neither program refers to.
INLINE = {
    "bitshuffle": hdf5plugin.Bitshuffle(cname="lz4"),
    "blosc2": hdf5plugin.Blosc2(cname="zstd"),
    "zfp": hdf5plugin.Zfp(reversible=True),
}


def write_file(file: str, group: str, filters: dict) -> None:
    with h5py.File(file, "a", libver="latest") as opened:
        for name, options in filters.items():
            dtype = "<f4" if name == "zfp" else "<i4"
            data = (np.arange(120) // 7).reshape(12, 10).astype(dtype)
            shuffle = name in ("gzip", "lzf")
            opened.create_dataset(f"{group}/{name}", data=data, chunks=(6, 10), shuffle=shuffle, compression=options)
        checked = {"chunks": (6, 10), "fletcher32": True, "compression": hdf5plugin.Zstd()}
        opened.create_dataset(f"{group}/checked", data=np.arange(120, dtype="<i4").reshape(12, 10), **checked)


def with_kerchunk(index, file: str) -> None:
    with open(file, "rb") as opened:
        writer = SingleHdf5ToZarr(opened, "data.h5", inline_threshold=0, unsupported_inline_threshold=10_000)
        references = writer.translate()
    Path(index.path("kerchunk.json")).write_text(json.dumps(references))
    expect(index, "kerchunk.json", file, references, "")


def with_virtualizarr(index, file: str) -> None:
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    dataset = open_virtual_dataset(f"file://{file}", registry=registry, parser=HDFParser(group="g"))
    references = dataset.vz.to_kerchunk(format="dict")
    # virtualizarr writes absolute targets; stored targets must not depend on a machine.
    for value in references["refs"].values():
        if isinstance(value, list):
            value[0] = "data.h5"
    Path(index.path("virtualizarr.json")).write_text(json.dumps(references))
    expect(index, "virtualizarr.json", file, references, "g/")


def expect(index, store: str, file: str, references: dict, prefix: str) -> None:
    """Records the datasets that the references contain, as h5py reads them."""
    with h5py.File(file) as opened:
        for key in references["refs"]:
            if key.endswith("/.zarray"):
                array = key.removesuffix("/.zarray")
                index.expect(f"reference:{store}", f"/{array}", opened[f"{prefix}{array}"][...])


def write(index) -> None:
    file = index.path("data.h5")
    write_file(file, "g", BOTH | VIRTUALIZARR)
    write_file(file, "inline", INLINE)
    with_kerchunk(index, file)
    with_virtualizarr(index, file)
