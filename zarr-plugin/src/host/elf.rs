//! Whether a library is all there, and for this machine. The system's loader maps what the headers name without a look at
//! the length of the file, and the program ends with a signal when what was cut off is touched; of a library for another
//! processor it says that there is no such file.

/// The type of a segment that is loaded.
const LOAD: u64 = 1;

/// What the ELF standard calls this processor; `None` for one that is left to the system's loader.
const MACHINE: Option<u64> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else if cfg!(target_arch = "riscv64") {
    Some(243)
} else {
    None
};

/// What keeps an ELF file from being opened here, if something does. What is not of 64 bits is left to the system's loader
/// where that is what the machine has.
pub(super) fn wrong(file: &[u8]) -> Option<String> {
    if file.starts_with(b"\0asm") {
        return Some("it is WebAssembly, which this program is not built to run".to_owned());
    }
    if !file.starts_with(b"\x7fELF") {
        return Some("it is no ELF file".to_owned());
    }
    let Some(&[class, order]) = file.get(4..6) else { return Some("its header is cut off".to_owned()) };
    let is_wide = class == 2;
    let is_other =
        is_wide != cfg!(target_pointer_width = "64") || (order == 2) != cfg!(target_endian = "big");
    if is_other || number(file, 18, 2).is_some_and(|found| MACHINE.is_some_and(|machine| machine != found)) {
        return Some("it is for another machine".to_owned());
    }
    if !is_wide {
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
