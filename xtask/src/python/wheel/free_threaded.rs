//! The wheel for Python without a global interpreter lock, which does not have the stable interface.

use std::path::Path;
use std::process::Command;

use super::{build, check_use, finish, module, output_of};
use crate::bench::python;

/// The interpreters, newest first.
const INTERPRETERS: [&str; 2] = ["python3.14t", "python3.13t"];

/// Prints the interface of Python in the name of the wheel.
const INTERFACE: &str = "import sys; print(f'-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}t-')";

/// A program whose threads write and read parts of one chunk at the same time, without the lock.
const PROGRAM: &str = "import sys\n\
    from concurrent.futures import ThreadPoolExecutor\n\
    import zarr_kit\n\
    assert not sys._is_gil_enabled(), 'the import has enabled the global interpreter lock'\n\
    array = zarr_kit.create_array('memory:', shape=(64, 64), chunks=(32, 64), dtype='i4')\n\
    def run(row):\n\
    \x20   for value in range(50):\n\
    \x20       array[row] = value + row\n\
    \x20       assert (array[row] == value + row).all()\n\
    with ThreadPoolExecutor(8) as threads:\n\
    \x20   list(threads.map(run, range(64)))\n\
    assert (array[:, 0] == [49 + row for row in range(64)]).all()\n";

/// The tests that need only NumPy. Not all packages of the other tests have wheels for such a Python.
const TESTS: [&str; 3] = ["tests/test_async.py", "tests/test_exchange.py", "tests/test_nodes.py"];

/// Builds, checks and tests the wheel, if a free-threaded Python is installed.
///
/// # Errors
///
/// The command that failed, or the check.
pub(super) fn run(tools: &Path, root: &Path, folder: &Path) -> Result<(), String> {
    let (python, version) = match python::find(&INTERPRETERS) {
        Ok(found) => found,
        Err(reason) => {
            println!("SKIPPED: the wheel for free-threaded Python: {reason}");
            return Ok(());
        }
    };
    println!("{}: {version}", python.display());
    let interface = output_of(Command::new(&python).args(["-c", INTERFACE]))?;
    let wheel = build(tools, &python, root, &folder.join("built"), interface.trim())?;
    let environment = folder.join("used");
    check_use(&python, &wheel, &environment, PROGRAM)?;
    let interpreter = environment.join("bin/python");
    let requirements = root.join("tests/free-threaded-requirements.txt");
    finish(
        module(&interpreter, root, "pip").args(["install", "--quiet", "--requirement"]).arg(requirements),
    )?;
    let mut tests = module(&interpreter, root, "pytest");
    // Without `PYTHONSAFEPATH`, the sources would hide the installed package.
    tests.args(["-q", "-p", "no:cacheprovider"]).args(TESTS).env("PYTHONSAFEPATH", "1");
    // A package that needs the lock would enable it for the whole process.
    finish(tests.env("PYTHON_GIL", "0").env("PYTHONDONTWRITEBYTECODE", "1"))?;
    println!("{}", wheel.display());
    Ok(())
}
