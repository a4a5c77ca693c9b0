//! Chunks that are stored as images.

use zarr_json::Value;
use zarr_spec::{ArrayRepresentation, CodecError};

/// The rows and columns of an image, and the samples of each pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageShape {
    /// The number of rows.
    pub height: u32,
    /// The number of columns.
    pub width: u32,
    /// The number of samples of a pixel: 1 for grey, 3 for red, green and blue.
    pub samples: u32,
}

impl ImageShape {
    /// Returns the shape of the image that imagecodecs writes for a chunk with the member `squeeze`.
    ///
    /// Without the member, dimensions of size 1 are left out, and one dimension is a row. With `false`, all dimensions
    /// remain. With a list, a dimension remains if its item is zero or false. Two dimensions are rows and columns of
    /// grey pixels. A third one has the samples.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another value of `squeeze`; [`CodecError::Unsupported`] if the chunk
    /// does not have such dimensions, or is empty.
    pub fn of(array: &ArrayRepresentation, squeeze: Option<&Value>) -> Result<Self, CodecError> {
        Self::of_shape(&array.shape, squeeze)
    }

    fn of_shape(shape: &[u64], squeeze: Option<&Value>) -> Result<Self, CodecError> {
        let not_an_image = || {
            CodecError::Unsupported(format!(
                "a chunk of shape {shape:?} is not an image; expected rows, columns and samples"
            ))
        };
        let sizes: Option<Vec<u32>> =
            remaining(shape, squeeze)?.iter().map(|&size| u32::try_from(size).ok()).collect();
        let (height, width, samples) = match sizes.ok_or_else(not_an_image)?[..] {
            [] if squeeze.is_none() => (1, 1, 1),
            [width] if squeeze.is_none() => (1, width, 1),
            [height, width] => (height, width, 1),
            [height, width, samples] => (height, width, samples),
            _ => return Err(not_an_image()),
        };
        if [height, width, samples].contains(&0) {
            return Err(not_an_image());
        }
        Ok(Self { height, width, samples })
    }

    /// Checks the shape of a stored image.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`] if it differs from this one.
    pub fn check(&self, height: usize, width: usize, samples: usize) -> Result<(), CodecError> {
        let expected = [self.height, self.width, self.samples];
        if [height, width, samples].map(u32::try_from) == expected.map(Ok) {
            return Ok(());
        }
        let [rows, columns, wanted] = expected;
        Err(CodecError::corrupt(format!(
            "the image has {height} rows and {width} columns with {samples} samples; expected {rows} rows and \
             {columns} columns with {wanted}"
        )))
    }
}

/// Returns the dimensions that `squeeze` does not remove.
fn remaining(shape: &[u64], squeeze: Option<&Value>) -> Result<Vec<u64>, CodecError> {
    let wrong = |squeeze: &Value| {
        CodecError::configuration(format!(
            "`squeeze` is {squeeze}; expected null, false, or a list with a Boolean for each of {} dimensions",
            shape.len()
        ))
    };
    let is_removed = match squeeze {
        None => return Ok(shape.iter().copied().filter(|&size| size != 1).collect()),
        Some(Value::Bool(false)) => return Ok(shape.to_vec()),
        Some(squeeze) => {
            let items = squeeze.as_array().filter(|items| items.len() == shape.len());
            let removed = items.and_then(|items| items.iter().map(is_true).collect::<Option<Vec<bool>>>());
            let removed = removed.ok_or_else(|| wrong(squeeze))?;
            if removed.iter().zip(shape).any(|(&is_removed, &size)| is_removed && size != 1) {
                return Err(wrong(squeeze));
            }
            removed
        }
    };
    let remaining = shape.iter().zip(is_removed).filter(|(_, is_removed)| !is_removed);
    Ok(remaining.map(|(&size, _)| size).collect())
}

/// Returns a Boolean, or whether an integer is not zero.
fn is_true(item: &Value) -> Option<bool> {
    item.as_bool().or_else(|| item.as_u64().map(|number| number != 0))
}

#[cfg(test)]
mod tests {
    use zarr_json::json;

    use super::*;

    fn of(shape: &[u64], squeeze: Option<Value>) -> Result<(u32, u32, u32), CodecError> {
        let image = ImageShape::of_shape(shape, squeeze.as_ref())?;
        Ok((image.height, image.width, image.samples))
    }

    #[test]
    fn dimensions_of_size_1_are_left_out_unless_squeeze_differs() {
        assert_eq!(of(&[1, 4, 6, 3], None).unwrap(), (4, 6, 3));
        assert_eq!(of(&[5], None).unwrap(), (1, 5, 1));
        assert_eq!(of(&[1, 1], None).unwrap(), (1, 1, 1));
        assert_eq!(of(&[1, 4, 3], Some(json!(false))).unwrap(), (1, 4, 3));
        assert_eq!(of(&[1, 1, 4, 3], Some(json!([true, 0, 0, false]))).unwrap(), (1, 4, 3));
    }

    #[test]
    fn other_shapes_and_values_are_refused() {
        for shape in [&[2, 3, 4, 5][..], &[0, 4], &[1 << 32]] {
            assert!(matches!(of(shape, None), Err(CodecError::Unsupported(_))), "{shape:?}");
        }
        for squeeze in [json!(true), json!([true]), json!([0, 1]), json!("x")] {
            assert!(matches!(of(&[4, 6], Some(squeeze)), Err(CodecError::InvalidConfiguration(_))));
        }
    }
}
