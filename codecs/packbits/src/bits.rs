//! Bits of elements, one after another.

use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// What is packed as one number: an element, or each part of a complex one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// Bits that it has.
    pub(crate) bits: u32,
    /// The first one that is packed, the least significant one being 0.
    pub(crate) first: u32,
    /// The last one that is packed.
    pub(crate) last: u32,
    /// Bytes that it takes in memory.
    pub(crate) bytes: usize,
    /// How many an element has.
    pub(crate) count: usize,
    /// How it is made longer.
    pub(crate) kind: Kind,
}

impl Component {
    /// All bits of elements of `data_type`, as the registry counts them.
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

    /// Bytes of an element in memory.
    pub(crate) fn size(&self) -> usize {
        self.bytes * self.count
    }

    /// Bits of an element that are packed.
    pub(crate) fn packed_bits(&self) -> usize {
        self.width() as usize * self.count
    }

    fn width(&self) -> u32 {
        self.last - self.first + 1
    }

    /// Writes all of `packed`, which has just enough bytes.
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

    /// Writes all of `elements`, whose bits `packed` holds.
    pub(crate) fn unpack(&self, packed: &[u8], elements: &mut [u8]) {
        let width = self.width();
        let mask = self.mask();
        let mut pending = 0u128;
        let mut count = 0;
        let mut packed = packed.iter();
        for component in elements.chunks_exact_mut(self.bytes) {
            while count < width {
                let Some(&byte) = packed.next() else { return };
                pending |= u128::from(byte) << count;
                count += 8;
            }
            // Never more than the mask, which has 64 bits.
            let value = u64::try_from(pending & u128::from(mask)).unwrap_or(mask);
            (pending, count) = (pending >> width, count - width);
            write(self.extended(value << self.first), component);
        }
    }

    /// As many ones as bits are packed.
    fn mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.width())
    }

    /// With the sign, which is the last bit that was packed, in all bits above.
    fn extended(&self, value: u64) -> u64 {
        let is_negative = self.kind == Kind::Int && (value >> self.last) & 1 == 1;
        if is_negative { value | (u64::MAX << self.last) } else { value }
    }
}

/// A number of up to eight bytes in native order.
fn read(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let place = if cfg!(target_endian = "big") { 8 - bytes.len() } else { 0 };
    wide[place..place + bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(wide)
}

/// The lower bytes of a number, as many as there is room for.
fn write(value: u64, bytes: &mut [u8]) {
    let place = if cfg!(target_endian = "big") { 8 - bytes.len() } else { 0 };
    let wide = value.to_ne_bytes();
    bytes.copy_from_slice(&wide[place..place + bytes.len()]);
}
