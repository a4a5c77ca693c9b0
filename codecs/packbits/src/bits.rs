//! Packing the bits of elements without gaps.

use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// A number that is packed: an element, or one part of a complex element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// Number of bits of the number.
    pub(crate) bits: u32,
    /// The first packed bit; bit 0 is the least significant one.
    pub(crate) first: u32,
    /// The last packed bit.
    pub(crate) last: u32,
    /// Size in memory in bytes.
    pub(crate) bytes: usize,
    /// Number of components of an element.
    pub(crate) count: usize,
    /// The kind, which decides about sign extension.
    pub(crate) kind: Kind,
}

impl Component {
    /// Returns the component of `data_type` with all of its bits, as the registry counts them.
    pub(crate) fn of(data_type: &dyn DataType) -> Option<Self> {
        let size = data_type.elements().size()?;
        let name = data_type.name();
        let (part, count) = match name.strip_prefix("complex_") {
            Some(part) => (part, 2),
            None if data_type.kind() == Some(Kind::Complex) => ("", 2),
            None => (&*name, 1),
        };
        let (bits, bytes, kind) = match (part, data_type.kind()) {
            ("bool", _) => (1, 1, Kind::Bool),
            ("int2", _) => (2, 1, Kind::Int),
            ("uint2", _) => (2, 1, Kind::UInt),
            ("int4", _) => (4, 1, Kind::Int),
            ("uint4", _) => (4, 1, Kind::UInt),
            ("float4_e2m1fn", _) => (4, 1, Kind::Float),
            ("float6_e2m3fn" | "float6_e3m2fn", _) => (6, 1, Kind::Float),
            ("bfloat16" | "float16", _) => (16, 2, Kind::Float),
            (float, _) if float.starts_with("float8_") => (8, 1, Kind::Float),
            (_, Some(kind @ (Kind::Int | Kind::UInt | Kind::Float | Kind::Complex))) => {
                let bytes = size / count;
                (u32::try_from(bytes).ok()?.checked_mul(8)?, bytes, kind)
            }
            _ => return None,
        };
        let fits = bytes.checked_mul(count) == Some(size) && matches!(bytes, 1 | 2 | 4 | 8);
        fits.then_some(Self { bits, first: 0, last: bits - 1, bytes, count, kind })
    }

    /// Returns the size of an element in memory.
    pub(crate) fn size(&self) -> usize {
        self.bytes * self.count
    }

    /// Returns the number of packed bits of an element.
    pub(crate) fn packed_bits(&self) -> usize {
        self.width() as usize * self.count
    }

    fn width(&self) -> u32 {
        self.last - self.first + 1
    }

    /// Packs `elements` to `packed`, which has exactly the required size.
    pub(crate) fn pack(&self, elements: &[u8], packed: &mut [u8]) {
        let width = self.width();
        let mask = self.mask();
        let mut pending = 0u128;
        let mut count = 0;
        let mut packed = packed.iter_mut();
        for component in elements.chunks_exact(self.bytes) {
            let value = match self.kind {
                Kind::Bool => u64::from(component[0] != 0),
                _ => read(component),
            };
            pending |= u128::from((value >> self.first) & mask) << count;
            count += width;
            while let Some(rest) = count.checked_sub(8) {
                let Some(byte) = packed.next() else { return };
                *byte = pending.to_le_bytes()[0];
                (pending, count) = (pending >> 8, rest);
            }
        }
        if let Some(byte) = packed.next() {
            *byte = pending.to_le_bytes()[0];
        }
    }

    /// Skips `skipped` bits of `packed`, at most 7, and unpacks the rest to all of `elements`.
    pub(crate) fn unpack(&self, packed: &[u8], skipped: u32, elements: &mut [u8]) {
        let width = self.width();
        let mask = self.mask();
        let mut pending = 0u128;
        let mut count = 0;
        let mut packed = packed.iter();
        if skipped > 0
            && let Some(&byte) = packed.next()
        {
            pending = u128::from(byte >> skipped);
            count = 8 - skipped;
        }
        for component in elements.chunks_exact_mut(self.bytes) {
            while count < width {
                let Some(&byte) = packed.next() else { return };
                pending |= u128::from(byte) << count;
                count += 8;
            }
            // The value fits into the mask, which has 64 bits.
            let value = u64::try_from(pending & u128::from(mask)).unwrap_or(mask);
            (pending, count) = (pending >> width, count - width);
            write(self.extended(value << self.first), component);
        }
    }

    /// Returns a mask with a one for each packed bit.
    fn mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.width())
    }

    /// Copies the sign, the last packed bit, to all higher bits.
    fn extended(&self, value: u64) -> u64 {
        let is_negative = self.kind == Kind::Int && (value >> self.last) & 1 == 1;
        if is_negative { value | (u64::MAX << self.last) } else { value }
    }
}

/// Reads a number of up to eight bytes in native byte order.
fn read(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let place = if cfg!(target_endian = "big") { 8 - bytes.len() } else { 0 };
    wide[place..place + bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(wide)
}

/// Writes the lowest bytes of a number to all of `bytes`.
fn write(value: u64, bytes: &mut [u8]) {
    let place = if cfg!(target_endian = "big") { 8 - bytes.len() } else { 0 };
    let wide = value.to_ne_bytes();
    bytes.copy_from_slice(&wide[place..place + bytes.len()]);
}
