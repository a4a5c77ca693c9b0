//! The colors in an image, and those of the array.

use zarr_spec::codec::CodecResult;
use zarr_spec::{CodecError, Value};
use zune_jpeg::zune_core::colorspace::ColorSpace;

/// A color space that the configuration can declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    Grey,
    Rgb,
    YCbCr,
}

/// The declared colors of the image and of the array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Colors {
    stored: Option<Color>,
    wanted: Color,
}

impl Colors {
    /// Reads `colorspace_jpeg` and `colorspace_data`.
    pub(crate) fn new(stored: Option<&Value>, wanted: Option<&Value>, samples: u32) -> CodecResult<Self> {
        let default = match samples {
            1 => Color::Grey,
            3 => Color::Rgb,
            _ => {
                return Err(CodecError::Unsupported(format!(
                    "pixels have {samples} samples; expected 1 or 3"
                )));
            }
        };
        let color = |member: &str, value: Option<&Value>| value.map(|value| color(member, value)).transpose();
        let stored = color("colorspace_jpeg", stored)?;
        let wanted = color("colorspace_data", wanted)?.unwrap_or(default);
        let of_one = [stored.unwrap_or(wanted), wanted].map(|color| color == Color::Grey);
        if of_one != [samples == 1; 2] {
            return Err(CodecError::Unsupported(format!(
                "`colorspace_jpeg` and `colorspace_data` do not have {samples} samples"
            )));
        }
        if (stored, wanted) == (Some(Color::Rgb), Color::YCbCr) {
            let what = "`colorspace_data` is YCBCR, but `colorspace_jpeg` is RGB; expected the same";
            return Err(CodecError::Unsupported(what.to_owned()));
        }
        Ok(Self { stored, wanted })
    }

    /// Returns the colors to request from a decoder that found `found` in the image.
    pub(crate) fn output(&self, found: ColorSpace) -> CodecResult<ColorSpace> {
        let of_image = match found {
            ColorSpace::Luma => Color::Grey,
            ColorSpace::RGB => Color::Rgb,
            ColorSpace::YCbCr => Color::YCbCr,
            found => return Err(CodecError::corrupt(format!("pixels are {found:?}; expected RGB or YCbCr"))),
        };
        match (self.stored.unwrap_or(of_image), self.wanted) {
            // The decoder does not convert the samples if these colors are requested, even if they are not the declared
            // ones.
            (stored, wanted) if stored == wanted => Ok(found),
            (Color::YCbCr, Color::Rgb) if of_image == Color::YCbCr => Ok(ColorSpace::RGB),
            (stored, wanted) => {
                Err(CodecError::corrupt(format!("pixels are {found:?}; expected {stored:?}, for {wanted:?}")))
            }
        }
    }
}

fn color(member: &str, value: &Value) -> CodecResult<Color> {
    let name = value.as_str().map(str::to_ascii_uppercase);
    match (name.as_deref(), value.as_u64()) {
        (Some("GRAYSCALE" | "GRAY" | "MINISBLACK"), _) | (_, Some(1)) => Ok(Color::Grey),
        (Some("RGB"), _) | (_, Some(2)) => Ok(Color::Rgb),
        (Some("YCBCR"), _) | (_, Some(3)) => Ok(Color::YCbCr),
        _ => Err(CodecError::Unsupported(format!(
            "`{member}` is {value}; expected GRAYSCALE, RGB or YCBCR, or 1, 2 or 3"
        ))),
    }
}
