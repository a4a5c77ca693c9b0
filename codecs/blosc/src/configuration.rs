//! The two forms of the configuration: one for final v3, and one for all other formats.

use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer};
use zarr_spec::{CodecResult, Creation, Format, Invalid, Object, Representation, Value};

use crate::{Blosc, Compressor, Settings, Shuffle};

/// A configuration of any format, with all defaults applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Configuration {
    cname: Compressor,
    clevel: u8,
    shuffle: Shuffle,
    /// Whether `shuffle` is derived from `typesize`.
    automatic: bool,
    typesize: usize,
    blocksize: usize,
}

impl Configuration {
    /// Parses the configuration of `creation`, for chunks like `decoded`.
    pub(crate) fn parse(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Self> {
        match (creation.format, creation.identifier) {
            (Format::V2 | Format::V3Draft, _) | (Format::V3, "numcodecs.blosc") => {
                from_v2(creation, element_size(decoded))
            }
            (Format::V3, _) => from_v3(creation, element_size(decoded)),
        }
    }

    /// Returns the configuration of a codec.
    pub(crate) fn of(codec: &Blosc) -> Self {
        let Settings { compressor, level, shuffle, typesize, blocksize } = codec.settings;
        Self { cname: compressor, clevel: level, shuffle, automatic: false, typesize, blocksize }
    }

    pub(crate) fn codec(self) -> CodecResult<Blosc> {
        Blosc::new(self.cname, self.clevel, self.shuffle, self.typesize, self.blocksize)
    }

    /// Returns the configuration of final v3, which does not have an automatic shuffle (DX-MAP-06).
    pub(crate) fn v3(self) -> Object {
        let shuffle = match self.shuffle {
            Shuffle::None => "noshuffle",
            Shuffle::Byte => "shuffle",
            Shuffle::Bit => "bitshuffle",
        };
        self.members(Value::from(shuffle)).chain([("typesize".to_owned(), self.typesize.into())]).collect()
    }

    pub(crate) fn v2(self) -> Object {
        let shuffle = match self.shuffle {
            _ if self.automatic => -1,
            Shuffle::None => 0,
            Shuffle::Byte => 1,
            Shuffle::Bit => 2,
        };
        self.members(Value::from(shuffle)).collect()
    }

    fn members(self, shuffle: Value) -> impl Iterator<Item = (String, Value)> {
        [
            ("cname".to_owned(), self.cname.name().into()),
            ("clevel".to_owned(), u32::from(self.clevel).into()),
            ("shuffle".to_owned(), shuffle),
            ("blocksize".to_owned(), self.blocksize.into()),
        ]
        .into_iter()
    }
}

/// Returns the size of a shuffled element. It is 1 for long elements, and for bytes of another codec
/// (V2-CODEC-07, -10).
pub(crate) fn element_size(decoded: &Representation) -> usize {
    let size = match decoded {
        Representation::Array(array) => array.data_type.elements().size(),
        Representation::Bytes(_) => None,
    };
    size.filter(|size| (1..=crate::MAX_TYPESIZE).contains(size)).unwrap_or(1)
}

#[derive(Deserialize)]
pub(crate) struct V3Configuration {
    cname: Compressor,
    clevel: u8,
    shuffle: ShuffleName,
    #[serde(default, deserialize_with = "present")]
    typesize: Option<NonZeroUsize>,
    blocksize: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ShuffleName {
    NoShuffle,
    Shuffle,
    BitShuffle,
}

/// Distinguishes `null` from a missing `typesize`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroUsize>, D::Error> {
    NonZeroUsize::deserialize(deserializer).map(Some)
}

fn from_v3(creation: &Creation<'_>, element_size: usize) -> CodecResult<Configuration> {
    let V3Configuration { cname, clevel, shuffle, typesize, blocksize } = creation.parse()?;
    let shuffle = match shuffle {
        ShuffleName::NoShuffle => Shuffle::None,
        ShuffleName::Shuffle => Shuffle::Byte,
        ShuffleName::BitShuffle => Shuffle::Bit,
    };
    if typesize.is_none() && shuffle != Shuffle::None {
        creation.reading.tolerate(format!(
            "`blosc` shuffles but does not have a `typesize`: assuming {element_size}, the size of an element"
        ))?;
    }
    let typesize = typesize.map_or(element_size, NonZeroUsize::get);
    Ok(Configuration { cname, clevel, shuffle, automatic: false, typesize, blocksize })
}

#[derive(Deserialize)]
pub(crate) struct V2Configuration {
    #[serde(default = "lz4")]
    cname: Compressor,
    #[serde(default = "five")]
    clevel: u8,
    #[serde(default = "byte_shuffle")]
    shuffle: Value,
    #[serde(default)]
    blocksize: usize,
    /// Not a documented parameter, but read if present (DX-BLOSC-06).
    #[serde(default, deserialize_with = "present")]
    typesize: Option<NonZeroUsize>,
}

fn lz4() -> Compressor {
    Compressor::Lz4
}

fn five() -> u8 {
    5
}

fn byte_shuffle() -> Value {
    Value::from(1)
}

fn from_v2(creation: &Creation<'_>, element_size: usize) -> CodecResult<Configuration> {
    let V2Configuration { cname, clevel, shuffle, blocksize, typesize } = creation.parse()?;
    let typesize = typesize.map_or(element_size, NonZeroUsize::get);
    let shuffle = shuffle_number(creation, &shuffle)?;
    let automatic = shuffle == -1;
    let shuffle = match shuffle {
        0 => Shuffle::None,
        2 => Shuffle::Bit,
        -1 if typesize == 1 => Shuffle::Bit,
        _ => Shuffle::Byte,
    };
    Ok(Configuration { cname, clevel, shuffle, automatic, typesize, blocksize })
}

/// Returns the shuffle as a number from -1 to 2. Documents of the draft may also contain the names of final v3
/// (DX-BLOSC-04), or the names of GDAL.
fn shuffle_number(creation: &Creation<'_>, shuffle: &Value) -> Result<i64, Invalid> {
    let name = shuffle.as_str().filter(|_| creation.format == Format::V3Draft);
    let number = match name {
        Some("noshuffle" | "NONE" | "0") => Some(0),
        Some("shuffle" | "BYTE" | "1") => Some(1),
        Some("bitshuffle" | "BIT" | "2") => Some(2),
        _ => None,
    };
    if number.is_some() {
        creation
            .reading
            .tolerate(format!("`shuffle` of `blosc` is {shuffle}; the draft expects a number"))?;
    }
    number
        .or_else(|| shuffle.as_i64().filter(|number| (-1..=2).contains(number)))
        .ok_or_else(|| Invalid::new(format!("`shuffle` is {shuffle}; expected -1, 0, 1 or 2")))
}
