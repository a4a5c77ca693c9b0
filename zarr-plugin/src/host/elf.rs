//! Whether a library is all there. The system's loader maps what the headers name without a look at the length of the
//! file, and the program ends with a signal when what was cut off is touched.

/// The type of a segment that is loaded.
const LOAD: u64 = 1;

/// What is missing of an ELF file of 64 bits, if something is. Other files are left to the system's loader.
pub(super) fn missing(file: &[u8]) -> Option<String> {
    let Some(head) = file.strip_prefix(b"\x7fELF") else { return Some("it is no ELF file".to_owned()) };
    let is_native =
        head.first() == Some(&2) && head.get(1) == Some(&if cfg!(target_endian = "big") { 2 } else { 1 });
    if !is_native {
        return None;
    }
    let segments = number(file, 32, 8).zip(number(file, 54, 2)).zip(number(file, 56, 2));
    let Some(((offset, size), count)) = segments else { return Some("its header is cut off".to_owned()) };
    for index in 0..count {
        let at = index.checked_mul(size).and_then(|before| usize::try_from(before.checked_add(offset)?).ok());
        let segment = at.and_then(|at| {
            Some((
                number(file, at, 4)?,
                number(file, at.checked_add(8)?, 8)?,
                number(file, at.checked_add(32)?, 8)?,
            ))
        });
        let Some((kind, start, length)) = segment else {
            return Some("its list of segments is cut off".to_owned());
        };
        let is_there = start.checked_add(length).is_some_and(|end| end <= file.len() as u64);
        if kind == LOAD && !is_there {
            return Some(format!("segment {index} of it is cut off"));
        }
    }
    None
}

/// The number of `size` bytes at `at`, in the machine's order.
fn number(file: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(size)?)?;
    let mut number = [0; 8];
    if cfg!(target_endian = "big") {
        number[8 - size..].copy_from_slice(bytes);
    } else {
        number[..size].copy_from_slice(bytes);
    }
    Some(u64::from_ne_bytes(number))
}
