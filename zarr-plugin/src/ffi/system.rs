//! What the system knows of the process: its user, its rights, and the libraries that it has loaded.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

/// The user with whose rights the program runs.
pub(crate) fn user() -> u32 {
    // SAFETY: the call has no conditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// An environment variable. A program that runs with more rights than the user who started it finds none: that user
/// chooses them.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    // SAFETY: the call has no conditions; 0 is its answer for what the kernel does not know.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|_| !is_privileged)
}

/// A library that was opened from a copy in memory, which cannot be changed any more. It stays open.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) library: Library,
    /// It stays open as well: the system's loader knows libraries by their path, so that the number must never be that of
    /// another file.
    pub(crate) file: File,
}

/// Opens the library that these bytes are. Its code runs.
///
/// # Errors
///
/// What the system reports.
pub(crate) fn open_sealed(bytes: &[u8]) -> Result<Sealed, String> {
    let file = sealed(bytes).map_err(|error| error.to_string())?;
    let path = sealed_path(&file);
    // SAFETY: that its code runs is what the caller asks for.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
    // What the system's loader says is the source of the error; it names the library by the number of the file.
    let library = library.map_err(|error| {
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        said.trim_start_matches(&format!("{}: ", path.display())).to_owned()
    })?;
    Ok(Sealed { library, file })
}

/// The folder whose names are those of open files.
const OPEN_FILES: &str = "/proc/self/fd";

fn sealed_path(file: &File) -> PathBuf {
    Path::new(OPEN_FILES).join(file.as_raw_fd().to_string())
}

/// Whether the path is that of a library that [`open_sealed`] has opened.
pub(crate) fn is_sealed(path: &Path) -> bool {
    path.starts_with(OPEN_FILES)
}

/// A file in memory with these bytes, which cannot be written to.
fn sealed(bytes: &[u8]) -> std::io::Result<File> {
    // SAFETY: a name that ends in zero, and flags of the call.
    let number =
        unsafe { libc::memfd_create(c"zarr-plugin".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if number < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the call has opened it for this function alone.
    let mut file = unsafe { File::from_raw_fd(number) };
    file.write_all(bytes)?;
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: the file is open, and the argument is that of the operation.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(file)
}

/// The path of the library that the process uses where a library needs this name; `None` if it has not loaded one. The
/// path is empty if the system does not tell it.
pub(crate) fn loaded(name: &str) -> Option<PathBuf> {
    // SAFETY: nothing is loaded, and so no code runs.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()?;
    let handle = library.into_raw();
    // SAFETY: the library is loaded.
    let path = unsafe { path_of(handle) };
    // SAFETY: the handle is that of `into_raw`.
    drop(unsafe { Library::from_raw(handle) });
    Some(path.unwrap_or_default())
}

/// # Safety
///
/// The handle is that of a library that is loaded.
#[cfg(target_env = "gnu")]
unsafe fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    /// The first members of `struct link_map`, as `link.h` declares it.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        path: *const std::ffi::c_char,
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the request fills a pointer to a `link_map`, which lives as long as the library; its path ends in zero.
    unsafe {
        let status = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>());
        if status != 0 || map.is_null() || (*map).path.is_null() {
            return None;
        }
        let path = std::ffi::CStr::from_ptr((*map).path).to_bytes();
        Some(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path)))
    }
}

/// # Safety
///
/// None: this C library does not tell.
#[cfg(not(target_env = "gnu"))]
unsafe fn path_of(_handle: *mut c_void) -> Option<PathBuf> {
    None
}
