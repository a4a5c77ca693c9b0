//! Inputs of widely used formats that claim far more data than they contain.

/// The claimed size in bytes: more than decoding may allocate, and less than [`UNDECLARED`].
pub(super) const CLAIM: u32 = 192 << 20;

/// The limit for decoding when nothing declares the size of a chunk.
pub(super) const UNDECLARED: usize = 256 << 20;

/// Returns the positions in `encoded` that may contain a size: those at the start and at the end.
pub(super) fn places(encoded: &[u8]) -> impl Iterator<Item = usize> {
    let size = encoded.len();
    (0..size.min(32)).chain(size.saturating_sub(16)..size)
}

/// Returns copies of `encoded` with [`CLAIM`] at each of these positions, in both byte orders.
pub(super) fn claiming(encoded: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    places(encoded).flat_map(move |place| {
        [CLAIM.to_le_bytes(), CLAIM.to_be_bytes()].map(|claim| {
            let mut bytes = encoded.to_vec();
            let end = bytes.len().min(place + claim.len());
            bytes[place..end].copy_from_slice(&claim[..end - place]);
            bytes
        })
    })
}

/// Returns handwritten inputs that each claim 192 MiB or more.
pub(super) fn by_hand() -> Vec<Vec<u8>> {
    let hex = |text: &str| crate::hex(text);
    let mut inputs: Vec<Vec<u8>> = [
        // For each inner format of Blosc, a header and one byte: blosclz, lz4, snappy, zlib, zstd.
        "02011104 0000000c 0000000c 11000000 00",
        "02013104 0000000c 0000000c 11000000 00",
        "02015104 0000000c 0000000c 11000000 00",
        "02017104 0000000c 0000000c 11000000 00",
        "02019104 0000000c 0000000c 11000000 00",
        // A size and an LZ4 block of one literal.
        "0000000c 1061",
        // A gzip member without data, with another size in its trailer.
        "1f8b0800000000000003 0300 00000000 0000000c",
        // A Zstandard frame that declares 192 MiB, and one whose window has 2 GiB; each has a block of three bytes.
        "28b52ffd a0 0000000c 190000616263",
        "28b52ffd 00 a8 190000616263",
        // An xz stream and a stream of the older LZMA format, whose dictionaries have 4 GiB - 1.
        "fd377a585a0000016922de36 0200210128000000e6a011b3 00",
        "5d ffffffff ffffffffffffffff 0083fffbffffc0000000",
        // MessagePack: an array, a map and a string of 192 Mi entries or bytes.
        "dd 0c000000 00",
        "df 0c000000 00",
        "db 0c000000 00",
        // Elements of variable size: a count of 192 Mi elements, and one element of 192 MiB.
        "0000000c 00000000",
        "01000000 0000000c 00",
    ]
    .map(hex)
    .into();
    inputs.push(blosc_blocks());
    inputs.push(zstd_blocks());
    inputs
}

/// Returns a Blosc buffer whose three blocks of 64 MiB share a stream of four bytes.
fn blosc_blocks() -> Vec<u8> {
    crate::hex("02013104 0000000c 00000004 24000000 1c000000 1c000000 1c000000 04000000 ffffffff")
}

/// Returns a Zstandard frame that declares 192 MiB, in invalid blocks that could contain that much.
fn zstd_blocks() -> Vec<u8> {
    let mut frame = crate::hex("28b52ffd 80 70 0000000c");
    (0..1536).for_each(|_| frame.extend_from_slice(&[0x14, 0, 0, 0xff, 0xff]));
    frame.extend_from_slice(&[0x15, 0, 0, 0xff, 0xff]);
    frame
}
