"""Classes that zarr-python and numcodecs find by name. They import the engine when a codec is created or used."""

import sys
from collections.abc import Mapping
from typing import Any

import numcodecs.abc


def codec_for_zarr(name: str) -> Any:
    """Return the class for a codec of zarr-python. It creates instances of the class for the kind of the codec."""

    def from_dict(data: Any) -> Any:
        from zarr_kit._zarr_codecs import codec_from_json

        return codec_from_json(name, data)

    return type(f"EngineCodec_{name}", (), {"from_dict": staticmethod(from_dict), "__module__": __name__})


def codec_for_numcodecs(name: str) -> Any:
    """Return the class for a codec of numcodecs."""
    return type(f"EngineCodec_{name}", (EngineCodec,), {"codec_id": name, "__module__": __name__})


# Codecs of images whose headers describe their elements. numcodecs passes encoded chunks without their data types and
# shapes.
IMAGES = frozenset(f"imagecodecs_{name}" for name in ("htj2k", "jpeg", "jpeg2k", "jpegls", "png", "spng", "webp"))


class EngineCodec(numcodecs.abc.Codec):  # type: ignore[misc]
    """A codec of v2 that converts bytes to bytes, or images. Other codecs need the data type and shape of the chunk."""

    def __init__(self, **configuration: Any) -> None:
        self.configuration = configuration

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        configuration = {name: value for name, value in config.items() if name != "id"}
        of_imagecodecs = _class_of_imagecodecs(cls.codec_id)
        return cls(**configuration) if of_imagecodecs is None else of_imagecodecs.from_config(configuration)

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.configuration}

    def encode(self, buf: Any) -> Any:
        if self.codec_id in IMAGES:
            from zarr_kit._zarr_codecs import encode_image

            return encode_image(self.codec_id, self.configuration, buf)
        return self._engine(buf).encode(_bytes(buf))

    def decode(self, buf: Any, out: Any = None) -> Any:
        from numcodecs.compat import ndarray_copy

        if self.codec_id in IMAGES:
            from zarr_kit._zarr_codecs import decode_image

            return ndarray_copy(decode_image(self.codec_id, self.configuration, _bytes(buf)), out)
        return ndarray_copy(self._engine(out).decode(_bytes(buf), None), out)

    def _engine(self, chunk: Any) -> Any:
        """Return the codec for a decoded chunk. It is None if only the encoded bytes are known."""
        from zarr_kit._zarr_codecs import codec_of_v2

        return codec_of_v2(self.codec_id, self.configuration, chunk)

    def __reduce__(self) -> Any:
        return _unpickled, (self.codec_id, self.configuration)


def _class_of_imagecodecs(name: str) -> Any:
    """Return the class of imagecodecs for a name, or None if there is none or the program has not imported imagecodecs.

    ``imagecodecs.numcodecs.register_codecs`` leaves out names that are taken, so it does not replace our classes.
    """
    module = sys.modules.get("imagecodecs.numcodecs")
    if module is None:
        return None
    classes = (found for found in vars(module).values() if isinstance(found, type))
    return next((found for found in classes if getattr(found, "codec_id", None) == name), None)


def _unpickled(name: str, configuration: dict[str, Any]) -> EngineCodec:
    codec: EngineCodec = codec_for_numcodecs(name)(**configuration)
    return codec


def _bytes(buf: Any) -> Any:
    from numcodecs.compat import ensure_contiguous_ndarray

    return ensure_contiguous_ndarray(buf).view("u1")
