//! Filters and filter chains.

use liblzma::stream::{
    Error, Filters, LzmaOptions, MatchFinder, Mode, PRESET_DEFAULT, PRESET_EXTREME, PRESET_LEVEL_MASK,
};
use serde::Deserialize;
use zarr_spec::{CodecError, Object, Value};

const LZMA1: u64 = 0x4000_0000_0000_0001;
const LZMA2: u64 = 0x21;
const DELTA: u64 = 0x03;
const X86: u64 = 0x04;
const POWERPC: u64 = 0x05;
const IA64: u64 = 0x06;
const ARM: u64 = 0x07;
const ARM_THUMB: u64 = 0x08;
const SPARC: u64 = 0x09;
const ARM64: u64 = 0x0a;
const RISCV: u64 = 0x0b;

/// Maximum size of a dictionary in bytes: that of the highest preset.
pub(crate) const MAXIMUM_DICTIONARY_SIZE: u32 = 64 << 20;
const MINIMUM_DICTIONARY_SIZE: u32 = 4096;

/// Maximum number of filters in a chain of liblzma.
const MAXIMUM_FILTERS: usize = 4;

/// A filter, with the names and numbers of Python's `lzma` module.
///
/// `id` is 33 (LZMA2), 4611686018427387905 (LZMA1), 3 (delta), or 4 to 11 (machine code of x86, PowerPC, IA-64,
/// ARM, ARM Thumb, SPARC, ARM64 and RISC-V). The other members are options, each for some of the filters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// The number of the filter.
    pub id: u64,
    /// Delta: the distance between subtracted bytes, 1 to 256; 1 if absent.
    pub dist: Option<u32>,
    /// Machine code: the address of the first byte; 0 if absent.
    pub start_offset: Option<u32>,
    /// LZMA: the preset for absent options; 6 if absent.
    pub preset: Option<u32>,
    /// LZMA: the size of the dictionary in bytes, 4 KiB to 64 MiB.
    pub dict_size: Option<u32>,
    /// LZMA: literal context bits; at most 4 together with `lp`.
    pub lc: Option<u32>,
    /// LZMA: literal position bits.
    pub lp: Option<u32>,
    /// LZMA: position bits, at most 4.
    pub pb: Option<u32>,
    /// LZMA: 1 fast, 2 normal.
    pub mode: Option<u32>,
    /// LZMA: the length at which a match is accepted immediately, 2 to 273 bytes.
    pub nice_len: Option<u32>,
    /// LZMA: the match finder, 3 or 4 (hash chains), 18, 19 or 20 (binary trees).
    pub mf: Option<u32>,
    /// LZMA: the search depth of the match finder; 0 is automatic.
    pub depth: Option<u32>,
}

impl Filter {
    pub(crate) fn delta(dist: u32) -> Self {
        Self { id: DELTA, dist: Some(dist), ..Self::default() }
    }

    pub(crate) fn lzma2(preset: Option<u32>) -> Self {
        Self { id: LZMA2, preset, ..Self::default() }
    }

    pub(crate) fn is_lzma1(&self) -> bool {
        self.id == LZMA1
    }

    fn is_last(&self) -> bool {
        matches!(self.id, LZMA1 | LZMA2)
    }

    /// Returns the options with their name, their value, and whether this filter supports them.
    fn options(&self) -> [(&'static str, Option<u32>, bool); 11] {
        let lzma = self.is_last();
        [
            ("dist", self.dist, self.id == DELTA),
            ("start_offset", self.start_offset, matches!(self.id, X86..=RISCV)),
            ("preset", self.preset, lzma),
            ("dict_size", self.dict_size, lzma),
            ("lc", self.lc, lzma),
            ("lp", self.lp, lzma),
            ("pb", self.pb, lzma),
            ("mode", self.mode, lzma),
            ("nice_len", self.nice_len, lzma),
            ("mf", self.mf, lzma),
            ("depth", self.depth, lzma),
        ]
    }

    /// Returns the JSON form of the filter.
    pub(crate) fn json(&self) -> Value {
        let mut members = Object::from([("id", self.id)]);
        members.extend(self.options().into_iter().filter_map(|option| Some((option.0, option.1?))));
        Value::Object(members)
    }

    fn check(&self) -> Result<(), CodecError> {
        let id = self.id;
        if !matches!(id, LZMA1 | LZMA2 | DELTA..=RISCV) {
            return Err(CodecError::configuration(format!("unknown filter {id}")));
        }
        for (name, value, has_it) in self.options() {
            if value.is_some() && !has_it {
                return Err(CodecError::configuration(format!(
                    "filter {id} does not have an option `{name}`"
                )));
            }
        }
        checked_preset(self.preset)?;
        let literal_bits = self.lc.unwrap_or(3).checked_add(self.lp.unwrap_or(0));
        let checks = [
            ("dist", (1..=256).contains(&self.dist.unwrap_or(1))),
            (
                "dict_size",
                self.dict_size
                    .is_none_or(|size| (MINIMUM_DICTIONARY_SIZE..=MAXIMUM_DICTIONARY_SIZE).contains(&size)),
            ),
            ("lc with lp", literal_bits.is_some_and(|bits| bits <= 4)),
            ("pb", self.pb.unwrap_or(0) <= 4),
            ("mode", matches!(self.mode, None | Some(1 | 2))),
            ("nice_len", self.nice_len.is_none_or(|length| (2..=273).contains(&length))),
            ("mf", self.mf.is_none_or(|finder| match_finder(finder).is_some())),
        ];
        match checks.iter().find(|(_, fits)| !fits) {
            Some(("dict_size", _)) => Err(CodecError::configuration(format!(
                "`dict_size` of filter {id} is {}; expected 4 KiB to {} MiB",
                self.dict_size.unwrap_or_default(),
                MAXIMUM_DICTIONARY_SIZE >> 20
            ))),
            Some((name, _)) => {
                Err(CodecError::configuration(format!("`{name}` of filter {id} is out of range")))
            }
            None => Ok(()),
        }
    }

    /// Returns the options of an LZMA filter.
    pub(crate) fn lzma_options(&self) -> Result<LzmaOptions, Error> {
        let mut options = LzmaOptions::new_preset(self.preset.unwrap_or(PRESET_DEFAULT))?;
        if let Some(size) = self.dict_size {
            options.dict_size(size);
        }
        if let Some(bits) = self.lc {
            options.literal_context_bits(bits);
        }
        if let Some(bits) = self.lp {
            options.literal_position_bits(bits);
        }
        if let Some(bits) = self.pb {
            options.position_bits(bits);
        }
        if let Some(mode) = self.mode {
            options.mode(if mode == 1 { Mode::Fast } else { Mode::Normal });
        }
        if let Some(length) = self.nice_len {
            options.nice_len(length);
        }
        if let Some(finder) = self.mf.and_then(match_finder) {
            options.match_finder(finder);
        }
        if let Some(depth) = self.depth {
            options.depth(depth);
        }
        Ok(options)
    }

    fn add_to(&self, chain: &mut Filters) -> Result<(), Error> {
        let address = self.start_offset.unwrap_or(0).to_le_bytes();
        // Like other programs, stores an address of 0 as an absent property.
        let address = if self.start_offset.unwrap_or(0) == 0 { &[][..] } else { &address };
        match self.id {
            LZMA1 => chain.lzma1(&self.lzma_options()?),
            LZMA2 => chain.lzma2(&self.lzma_options()?),
            DELTA => {
                let distance = u8::try_from(self.dist.unwrap_or(1).saturating_sub(1));
                chain.delta_properties(&[distance.map_err(|_| Error::Options)?])?
            }
            X86 => chain.x86_properties(address)?,
            POWERPC => chain.powerpc_properties(address)?,
            IA64 => chain.ia64_properties(address)?,
            ARM => chain.arm_properties(address)?,
            ARM_THUMB => chain.arm_thumb_properties(address)?,
            SPARC => chain.sparc_properties(address)?,
            ARM64 => chain.arm64_properties(address)?,
            RISCV => chain.riscv_properties(address)?,
            _ => return Err(Error::Options),
        };
        Ok(())
    }
}

/// Checks that the filters form a chain: at most four, of which only the last is LZMA1 or LZMA2.
pub(crate) fn check_chain(filters: &[Filter]) -> Result<(), CodecError> {
    filters.iter().try_for_each(Filter::check)?;
    match filters.split_last() {
        Some((last, before)) if last.is_last() && !before.iter().any(Filter::is_last) => {}
        _ => {
            return Err(CodecError::configuration(
                "`filters` must end with LZMA1 or LZMA2 and cannot contain them earlier",
            ));
        }
    }
    if filters.len() > MAXIMUM_FILTERS {
        return Err(CodecError::configuration(format!(
            "`filters` has {} entries; expected at most four",
            filters.len()
        )));
    }
    Ok(())
}

/// Returns the chain of filters that [`check_chain`] accepted.
pub(crate) fn chain(filters: &[Filter]) -> Result<Filters, Error> {
    let mut chain = Filters::new();
    filters.iter().try_for_each(|filter| filter.add_to(&mut chain))?;
    Ok(chain)
}

/// Checks a preset; the default is 6.
pub(crate) fn checked_preset(preset: Option<u32>) -> Result<u32, CodecError> {
    let preset = preset.unwrap_or(PRESET_DEFAULT);
    let level = preset & PRESET_LEVEL_MASK;
    if level > 9 || preset & !(PRESET_LEVEL_MASK | PRESET_EXTREME) != 0 {
        return Err(CodecError::configuration(format!("`preset` is {preset}; expected 0 to 9")));
    }
    Ok(preset)
}

fn match_finder(number: u32) -> Option<MatchFinder> {
    Some(match number {
        0x03 => MatchFinder::HashChain3,
        0x04 => MatchFinder::HashChain4,
        0x12 => MatchFinder::BinaryTree2,
        0x13 => MatchFinder::BinaryTree3,
        0x14 => MatchFinder::BinaryTree4,
        _ => return None,
    })
}
