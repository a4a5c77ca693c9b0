//! The errors of the decoder in plain words.

use zarr_spec::CodecError;
use zune_jpeg::errors::DecodeErrors;

/// Describes what is wrong with an image.
pub(crate) fn failed(error: DecodeErrors) -> CodecError {
    let what = match error {
        DecodeErrors::IllegalMagicBytes(_) => "the bytes are not a JPEG image",
        DecodeErrors::HuffmanDecode(_) => "a Huffman code of the image is wrong",
        DecodeErrors::ZeroError => "the image has no rows or no columns",
        DecodeErrors::DqtError(_) => "a quantization table of the image is wrong",
        DecodeErrors::SosError(_) => "the header of a scan is wrong",
        DecodeErrors::SofError(_) => "the header of the image is wrong",
        DecodeErrors::Unsupported(_) => {
            "the image is neither baseline nor progressive, and other processes are not supported"
        }
        DecodeErrors::MCUError(_) => "a block of the image is wrong",
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => "the image ends early",
        DecodeErrors::LargeDimensions(_) => "the image has more rows or columns than the chunk",
        DecodeErrors::TooSmallOutput(..) => "the pixels of the image do not have the size of the chunk",
        DecodeErrors::Format(reason) => return CodecError::corrupt(format!("the image is wrong: {reason}")),
        DecodeErrors::FormatStatic(reason) => {
            return CodecError::corrupt(format!("the image is wrong: {reason}"));
        }
    };
    CodecError::corrupt(what)
}
