//! Steps that must stay in their data type.

use zarr_spec::codec::numbers::f16;

/// What can be shifted and scaled. An error says what the type cannot hold.
pub(crate) trait Arithmetic: Copy {
    /// `(self - offset) * scale`.
    fn scaled(self, offset: Self, scale: Self) -> Result<Self, String>;

    /// `self / scale + offset`.
    fn unscaled(self, offset: Self, scale: Self) -> Result<Self, String>;
}

macro_rules! integers {
    ($($type:ty: $name:literal;)*) => {$(
        impl Arithmetic for $type {
            fn scaled(self, offset: Self, scale: Self) -> Result<Self, String> {
                let scaled = self.checked_sub(offset).and_then(|shifted| shifted.checked_mul(scale));
                scaled.ok_or_else(|| format!("({self} - {offset}) * {scale} leaves {}", $name))
            }

            fn unscaled(self, offset: Self, scale: Self) -> Result<Self, String> {
                if self.checked_rem(scale).is_some_and(|rest| rest != 0) {
                    return Err(format!("{self} is no multiple of {scale}"));
                }
                let unscaled = self.checked_div(scale).and_then(|shifted| shifted.checked_add(offset));
                unscaled.ok_or_else(|| format!("{self} / {scale} + {offset} leaves {}", $name))
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty: $name:literal;)*) => {$(
        impl Arithmetic for $type {
            fn scaled(self, offset: Self, scale: Self) -> Result<Self, String> {
                let scaled = (self - offset) * scale;
                if self.is_finite() && !scaled.is_finite() {
                    return Err(format!("({self} - {offset}) * {scale} leaves {}", $name));
                }
                Ok(scaled)
            }

            fn unscaled(self, offset: Self, scale: Self) -> Result<Self, String> {
                let unscaled = self / scale + offset;
                if self.is_finite() && !unscaled.is_finite() {
                    return Err(format!("{self} / {scale} + {offset} leaves {}", $name));
                }
                Ok(unscaled)
            }
        }
    )*};
}

integers! {
    i8: "int8";
    i16: "int16";
    i32: "int32";
    i64: "int64";
    u8: "uint8";
    u16: "uint16";
    u32: "uint32";
    u64: "uint64";
}
floats! {
    f16: "float16";
    f32: "float32";
    f64: "float64";
}
