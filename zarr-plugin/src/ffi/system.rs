//! The user and the rights of the process, and the libraries that it has loaded.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

/// Returns the effective user of the process.
pub(crate) fn user() -> u32 {
    // SAFETY: the call has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns an environment variable, or `None` if the program has more rights than the user who started it and chose
/// the variable.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    // SAFETY: the call has no preconditions. It returns 0 for a value that the kernel does not know.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|_| !is_privileged)
}

/// A library that was opened from an immutable copy in memory. It is never closed.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) library: Library,
    /// The file, which also stays open. The dynamic loader identifies a library by its path, which contains the number
    /// of the file descriptor: the number must not be reused for another file.
    pub(crate) file: File,
}

/// Opens a library from its bytes. Its code runs.
///
/// # Errors
///
/// The error of the system.
pub(crate) fn open_sealed(bytes: &[u8]) -> Result<Sealed, String> {
    let file = sealed(bytes).map_err(|error| error.to_string())?;
    let path = sealed_path(&file);
    // SAFETY: the code of the library runs, as the caller requests.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
    // The message of the dynamic loader is the source of the error. It begins with the path of the library.
    let library = library.map_err(|error| {
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        said.trim_start_matches(&format!("{}: ", path.display())).to_owned()
    })?;
    Ok(Sealed { library, file })
}

/// The folder of the open files of the process.
const OPEN_FILES: &str = "/proc/self/fd";

fn sealed_path(file: &File) -> PathBuf {
    Path::new(OPEN_FILES).join(file.as_raw_fd().to_string())
}

/// Returns whether [`open_sealed`] opened the library with this path.
pub(crate) fn is_sealed(path: &Path) -> bool {
    path.starts_with(OPEN_FILES)
}

/// Creates an immutable file in memory with these bytes.
fn sealed(bytes: &[u8]) -> std::io::Result<File> {
    // SAFETY: the name ends in zero, and `memfd_create` has these flags.
    let number =
        unsafe { libc::memfd_create(c"zarr-plugin".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if number < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the call opened this file descriptor, and this function owns it.
    let mut file = unsafe { File::from_raw_fd(number) };
    file.write_all(bytes)?;
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: the file is open, and the operation takes this argument.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(file)
}

/// Returns the path of the library with this name that the process has loaded; `None` if it has not loaded one. The
/// path is empty if the system does not report it.
pub(crate) fn loaded(name: &str) -> Option<PathBuf> {
    // SAFETY: no library is loaded, so no code runs.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()?;
    let handle = library.into_raw();
    // SAFETY: the library is loaded.
    let path = unsafe { path_of(handle) };
    // SAFETY: `into_raw` returned the handle.
    drop(unsafe { Library::from_raw(handle) });
    Some(path.unwrap_or_default())
}

/// Returns the path of a loaded library, if the system reports it.
///
/// # Safety
///
/// `handle` is the handle of a loaded library.
#[cfg(target_env = "gnu")]
unsafe fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    /// The first members of `struct link_map`, as `link.h` declares it.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        path: *const std::ffi::c_char,
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the call sets a pointer to a `link_map` that lives as long as the library. Its path ends in zero.
    unsafe {
        let status = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>());
        if status != 0 || map.is_null() || (*map).path.is_null() {
            return None;
        }
        let path = std::ffi::CStr::from_ptr((*map).path).to_bytes();
        Some(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path)))
    }
}

/// Returns the path of a loaded library, if the system reports it.
///
/// # Safety
///
/// None: this C library does not report the path.
#[cfg(not(target_env = "gnu"))]
unsafe fn path_of(_handle: *mut c_void) -> Option<PathBuf> {
    None
}
