//! Calls of OpenJPEG.

#![expect(unsafe_code, reason = "OpenJPEG is written in C")]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use openjpeg_sys::{
    CODEC_FORMAT, opj_codec_t, opj_create_decompress, opj_decode, opj_decoder_set_strict_mode,
    opj_destroy_codec, opj_dparameters_t, opj_end_decompress, opj_image_destroy, opj_image_t,
    opj_read_header, opj_set_default_decoder_parameters, opj_set_error_handler, opj_setup_decoder,
    opj_stream_create, opj_stream_destroy, opj_stream_set_read_function, opj_stream_set_seek_function,
    opj_stream_set_skip_function, opj_stream_set_user_data, opj_stream_set_user_data_length, opj_stream_t,
};
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::Expected;

/// The smallest and the largest buffer of a stream, in bytes.
const SMALLEST_BUFFER: usize = 1 << 12;
const LARGEST_BUFFER: usize = 1 << 20;

/// The result of reading at the end of a stream.
const END: usize = usize::MAX;

/// The result of calls of OpenJPEG that succeed.
const TRUE: i32 = 1;

/// Decodes `codestream` to `chunk`, which has the expected size.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn decode(codestream: &[u8], expected: &Expected, chunk: &mut [u8]) -> CodecResult {
    let source = Source { bytes: codestream, at: Cell::new(0) };
    let errors = RefCell::new(String::new());
    let image = decoded(&source, &errors);
    let Some(image) = image else {
        let errors = errors.into_inner();
        return Err(CodecError::corrupt(match errors.trim() {
            "" => "the image cannot be decoded".to_owned(),
            errors => format!("the image cannot be decoded: {errors}"),
        }));
    };
    let components = image.components();
    expected.image.check(expected.image.height as usize, expected.image.width as usize, components.len())?;
    for (index, component) in components.iter().enumerate() {
        expected.image.check(component.height, component.width, components.len())?;
        expected.place(index, component.samples, chunk);
    }
    Ok(())
}

/// Decodes an image; `None` if that fails.
fn decoded(source: &Source<'_>, errors: &RefCell<String>) -> Option<Image> {
    // The stream and the decoder are destroyed before this function returns, and `source` and `errors` outlive them.
    let stream = Stream::new(source)?;
    let decoder = Decoder::new(errors)?;
    let image = decoder.header(&stream)?;
    // SAFETY: the decoder, the stream and the image exist, and this decoder read the header of the image from this
    // stream.
    let good = unsafe {
        opj_decode(decoder.0.as_ptr(), stream.0.as_ptr(), image.0.as_ptr()) == TRUE
            && opj_end_decompress(decoder.0.as_ptr(), stream.0.as_ptr()) == TRUE
    };
    good.then_some(image)
}

/// A codestream, and the position of the next byte to read.
struct Source<'s> {
    bytes: &'s [u8],
    at: Cell<usize>,
}

/// A stream of OpenJPEG that reads a [`Source`].
struct Stream(NonNull<opj_stream_t>);

impl Stream {
    fn new(source: &Source<'_>) -> Option<Self> {
        let size = source.bytes.len().clamp(SMALLEST_BUFFER, LARGEST_BUFFER);
        // SAFETY: the function has no requirements.
        let stream = Self(NonNull::new(unsafe { opj_stream_create(size, TRUE) })?);
        let data = ptr::from_ref(source).cast_mut().cast::<c_void>();
        // SAFETY: the stream exists. The functions get a pointer to the `Source`, which outlives the stream; they
        // change only its cell.
        unsafe {
            opj_stream_set_read_function(stream.0.as_ptr(), Some(read));
            opj_stream_set_skip_function(stream.0.as_ptr(), Some(skip));
            opj_stream_set_seek_function(stream.0.as_ptr(), Some(seek));
            opj_stream_set_user_data(stream.0.as_ptr(), data, None);
            opj_stream_set_user_data_length(stream.0.as_ptr(), source.bytes.len() as u64);
        }
        Some(stream)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream exists, and is not used after this.
        unsafe { opj_stream_destroy(self.0.as_ptr()) }
    }
}

/// Copies up to `size` bytes to `buffer`.
unsafe extern "C" fn read(buffer: *mut c_void, size: usize, data: *mut c_void) -> usize {
    // SAFETY: `data` is the source of `Stream::new`, which outlives the stream.
    let source = unsafe { &*data.cast::<Source<'_>>() };
    let rest = source.bytes.get(source.at.get()..).unwrap_or_default();
    let size = size.min(rest.len());
    if size == 0 {
        return END;
    }
    // SAFETY: OpenJPEG passes memory of at least `size` bytes, which is not part of the source.
    unsafe { ptr::copy_nonoverlapping(rest.as_ptr(), buffer.cast::<u8>(), size) };
    source.at.set(source.at.get() + size);
    size
}

/// Moves forward by `size` bytes.
unsafe extern "C" fn skip(size: i64, data: *mut c_void) -> i64 {
    // SAFETY: `data` is the source of `Stream::new`, which outlives the stream.
    let source = unsafe { &*data.cast::<Source<'_>>() };
    let to = usize::try_from(size).ok().and_then(|size| source.at.get().checked_add(size));
    match to.filter(|to| *to <= source.bytes.len()) {
        Some(to) => {
            source.at.set(to);
            size
        }
        None => -1,
    }
}

/// Moves to a position.
unsafe extern "C" fn seek(position: i64, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the source of `Stream::new`, which outlives the stream.
    let source = unsafe { &*data.cast::<Source<'_>>() };
    match usize::try_from(position).ok().filter(|position| *position <= source.bytes.len()) {
        Some(position) => {
            source.at.set(position);
            TRUE
        }
        None => 0,
    }
}

/// A decoder of codestreams.
struct Decoder(NonNull<opj_codec_t>);

impl Decoder {
    /// Creates a decoder that reports damage, and appends its messages to `errors`.
    fn new(errors: &RefCell<String>) -> Option<Self> {
        // SAFETY: the function has no requirements.
        let decoder = Self(NonNull::new(unsafe { opj_create_decompress(CODEC_FORMAT::OPJ_CODEC_J2K) })?);
        let data = ptr::from_ref(errors).cast_mut().cast::<c_void>();
        let mut parameters = MaybeUninit::<opj_dparameters_t>::zeroed();
        // SAFETY: the decoder exists, the parameters are initialized by the first call, and `errors` outlives the decoder.
        let good = unsafe {
            opj_set_default_decoder_parameters(parameters.as_mut_ptr());
            opj_set_error_handler(decoder.0.as_ptr(), Some(note), data) == TRUE
                && opj_setup_decoder(decoder.0.as_ptr(), parameters.as_mut_ptr()) == TRUE
                && opj_decoder_set_strict_mode(decoder.0.as_ptr(), TRUE) == TRUE
        };
        good.then_some(decoder)
    }

    /// Reads the header of an image.
    fn header(&self, stream: &Stream) -> Option<Image> {
        let mut image = ptr::null_mut();
        // SAFETY: the stream and the decoder exist. `image` is set to an image or stays null.
        let good = unsafe { opj_read_header(stream.0.as_ptr(), self.0.as_ptr(), &raw mut image) } == TRUE;
        let image = NonNull::new(image).map(Image);
        image.filter(|_| good)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the decoder exists, and is not used after this.
        unsafe { opj_destroy_codec(self.0.as_ptr()) }
    }
}

/// Appends a message to the errors.
unsafe extern "C" fn note(message: *const c_char, data: *mut c_void) {
    // SAFETY: `data` is the cell of `Decoder::new`, which outlives the decoder, and the message is a string of C.
    let (errors, message) = unsafe { (&*data.cast::<RefCell<String>>(), CStr::from_ptr(message)) };
    if let Ok(mut errors) = errors.try_borrow_mut()
        && errors.is_empty()
    {
        errors.push_str(&message.to_string_lossy());
    }
}

/// An image of OpenJPEG.
struct Image(NonNull<opj_image_t>);

/// The samples of a component.
struct Component<'i> {
    height: usize,
    width: usize,
    samples: &'i [i32],
}

impl Image {
    /// Returns the components. Those without samples have the height and width 0.
    fn components(&self) -> Vec<Component<'_>> {
        // SAFETY: the image exists, and nothing changes it meanwhile.
        let image = unsafe { self.0.as_ref() };
        if image.comps.is_null() {
            return Vec::new();
        }
        // SAFETY: the image has `numcomps` components.
        let components = unsafe { slice::from_raw_parts(image.comps, image.numcomps as usize) };
        let of = |component: &openjpeg_sys::opj_image_comp_t| {
            if component.data.is_null() {
                return Component { height: 0, width: 0, samples: &[] };
            }
            let height = component.h as usize;
            let width = component.w as usize;
            // SAFETY: a component that is decoded has a sample for each row and column.
            let samples = unsafe { slice::from_raw_parts(component.data, height * width) };
            Component { height, width, samples }
        };
        components.iter().map(of).collect()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the image exists, and is not used after this.
        unsafe { opj_image_destroy(self.0.as_ptr()) }
    }
}
