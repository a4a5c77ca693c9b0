//! The headers of an ELF library: whether it is complete and for this machine, and which other libraries it needs.
//!
//! The dynamic loader maps segments without checking the length of the file, and a signal ends the program when
//! it accesses a missing part. For a library of another processor, the loader reports that the file does not
//! exist.

use object::Endianness;
use object::elf;
use object::read::StringTable;
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};

#[cfg(target_pointer_width = "64")]
type Header = elf::FileHeader64<Endianness>;
#[cfg(not(target_pointer_width = "64"))]
type Header = elf::FileHeader32<Endianness>;
type Segment = <Header as FileHeader>::ProgramHeader;
type Dynamic = <Header as FileHeader>::Dyn;

/// The ELF name of this processor; `None` for a processor that only the dynamic loader checks.
const MACHINE: Option<elf::Machine> = if cfg!(target_arch = "x86_64") {
    Some(elf::EM_X86_64)
} else if cfg!(target_arch = "aarch64") {
    Some(elf::EM_AARCH64)
} else if cfg!(target_arch = "riscv64") {
    Some(elf::EM_RISCV)
} else {
    None
};

/// The largest number of entries of the version table that are read. Each needed library has one.
const MAX_VERSIONS: usize = 1024;

/// Returns the reason why an ELF file cannot be opened on this machine, if there is one.
pub(super) fn wrong(file: &[u8]) -> Option<String> {
    let why = if file.starts_with(b"\0asm") {
        "it is WebAssembly, which this program is not built to run"
    } else if !file.starts_with(b"\x7fELF") {
        "not an ELF file"
    } else if is_for_another_machine(file) {
        "it is for another machine"
    } else {
        return Headers::read(file).err();
    };
    Some(why.to_owned())
}

fn is_for_another_machine(file: &[u8]) -> bool {
    let Some(&[class, order]) = file.get(4..6) else { return false };
    let is_wide = class == elf::ELFCLASS64.0;
    let is_big = order == elf::ELFDATA2MSB.0;
    if is_wide != cfg!(target_pointer_width = "64") || is_big != cfg!(target_endian = "big") {
        return true;
    }
    let machine = Header::parse(file).ok().map(|header| header.e_machine(Endianness::default()));
    machine.is_some_and(|machine| MACHINE.is_some_and(|here| here != machine))
}

/// The other libraries that the dynamic loader opens together with a library, and where it searches for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// The name by which other libraries need this one.
    pub(super) soname: Option<String>,
    /// The names of the libraries that this one needs.
    pub(super) needed: Vec<String>,
    /// `DT_RPATH` and `DT_RUNPATH`, by the names that tools print: folders that are searched for needed libraries.
    pub(super) search_paths: Vec<(&'static str, String)>,
    /// The minimum version of the C library, such as `2.34`.
    pub(super) glibc: Option<String>,
}

impl Links {
    /// Reads the dynamic section.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened on this machine or its headers are damaged. The error is a sentence.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        if let Some(why) = wrong(file) {
            return Err(why);
        }
        let headers = Headers::read(file)?;
        let entries = headers.dynamic()?;
        let strings = headers.strings(entries)?;
        let mut links = Self { glibc: headers.glibc(), ..Self::default() };
        for entry in entries {
            let text = || -> Result<String, String> {
                let text = entry.string(headers.endian, strings).map_err(|error| error.to_string())?;
                Ok(String::from_utf8_lossy(text).into_owned())
            };
            match entry.tag(headers.endian) {
                elf::DT_NEEDED | elf::DT_AUXILIARY | elf::DT_FILTER => links.needed.push(text()?),
                elf::DT_SONAME => links.soname = Some(text()?),
                elf::DT_RPATH => links.search_paths.push(("RPATH", text()?)),
                elf::DT_RUNPATH => links.search_paths.push(("RUNPATH", text()?)),
                _ => {}
            }
        }
        Ok(links)
    }
}

/// The header of a file and its segments. All segments are complete.
struct Headers<'f> {
    file: &'f [u8],
    endian: Endianness,
    header: &'f Header,
    segments: &'f [Segment],
}

impl<'f> Headers<'f> {
    fn read(file: &'f [u8]) -> Result<Self, String> {
        let cut_off = |what: &str| format!("{what} is cut off");
        let header = Header::parse(file).map_err(|_| cut_off("its header"))?;
        let endian = header.endian().map_err(|_| cut_off("its header"))?;
        let segments = header.program_headers(endian, file).map_err(|_| cut_off("its list of segments"))?;
        for (number, segment) in segments.iter().enumerate() {
            if segment.p_type(endian) == elf::PT_LOAD && segment.data(endian, file).is_err() {
                return Err(cut_off(&format!("segment {number} of it")));
            }
        }
        Ok(Self { file, endian, header, segments })
    }

    /// Returns the entries of the dynamic section before its terminator.
    fn dynamic(&self) -> Result<&'f [Dynamic], String> {
        let mut entries: &[Dynamic] = &[];
        for segment in self.segments {
            let found = segment.dynamic(self.endian, self.file).map_err(|error| error.to_string())?;
            entries = found.unwrap_or(entries);
        }
        let end = entries.iter().position(|entry| entry.tag(self.endian) == elf::DT_NULL);
        Ok(&entries[..end.unwrap_or(entries.len())])
    }

    /// Returns the string table of the dynamic section. The dynamic section has the address of the table in memory.
    fn strings(&self, entries: &[Dynamic]) -> Result<StringTable<'f>, String> {
        let value = |tag| entries.iter().rev().find(|entry| entry.tag(self.endian) == tag);
        let value = |tag| value(tag).map(|entry| entry.val(self.endian));
        let Some((address, size)) = value(elf::DT_STRTAB).zip(value(elf::DT_STRSZ)) else {
            return Ok(StringTable::default());
        };
        let mut loaded = self.segments.iter().filter(|it| it.p_type(self.endian) == elf::PT_LOAD);
        let texts = loaded.find_map(|it| it.data_range(self.endian, self.file, address, size).ok()?);
        let texts = texts.ok_or("its dynamic section refers to a string table that is not in the file")?;
        Ok(StringTable::new(texts, 0, texts.len() as u64))
    }

    /// Returns the newest version `GLIBC_…` that the file needs, for display. Files without sections do not have one.
    fn glibc(&self) -> Option<String> {
        let sections = self.header.sections(self.endian, self.file).ok()?;
        let (needs, link) = sections.gnu_verneed(self.endian, self.file).ok()??;
        let strings = sections.strings(self.endian, self.file, link).ok()?;
        let versions = needs.flatten().take(MAX_VERSIONS).flat_map(|(_, versions)| versions.flatten());
        let named = versions.take(MAX_VERSIONS).filter_map(|version| {
            let name = std::str::from_utf8(version.name(self.endian, strings).ok()?).ok()?;
            name.strip_prefix("GLIBC_")
        });
        let numbers = |version: &&str| -> Vec<u32> {
            version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
        };
        named
            .filter(|version| version.starts_with(|it: char| it.is_ascii_digit()))
            .max_by_key(numbers)
            .map(str::to_owned)
    }
}
