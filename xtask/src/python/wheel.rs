//! `cargo xtask python --wheel`: builds the wheels of a release and checks them.

mod free_threaded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{FOLDER, Package};
use crate::bench::environment;
use crate::workspace::Workspace;

/// The oldest Linux that the wheel supports: systems with glibc 2.28.
const PLATFORM: &str = "manylinux_2_28";

/// The interface of Python in the name of the wheel: the stable one, since Python 3.12.
const INTERFACE: &str = "-cp312-abi3-";

/// The maximum size of the wheel, in bytes.
const LARGEST: u64 = 30 << 20;

/// A program that must work in an environment that has only the wheel and its dependencies.
const PROGRAM: &str = "import zarr_kit\n\
    array = zarr_kit.create_array('memory:', data=[[1, 2], [3, 4]])\n\
    assert array[1].tolist() == [3, 4]\n";

/// The maximum time of `import zarr_kit` in milliseconds, after NumPy and `ml_dtypes` were imported.
const LONGEST_IMPORT: f64 = 100.0;

/// Prints the time of the import in milliseconds.
const IMPORT: &str = "import time, ml_dtypes, numpy\n\
    start = time.perf_counter()\n\
    import zarr_kit\n\
    print((time.perf_counter() - start) * 1000)\n";

/// Builds the wheel with zig, whose linker and C library select the oldest glibc. Checks it with auditwheel, and runs
/// the tests with it. Does the same with a wheel for free-threaded Python, if there is one on this machine.
///
/// # Errors
///
/// The command that failed, or the check.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let target = workspace.root.join("target");
    let root = workspace.root.join(FOLDER);
    let tools = environment(&target.join("wheel"), &root.join("tests/wheel-requirements.txt"))?;
    let wheels = target.join("wheel/built");
    let wheel = build(&tools, &tools, &root, &wheels, INTERFACE)?;
    check_use(&tools, &wheel, &target.join("wheel/used"), PROGRAM)?;
    run_tests(workspace, &wheel, &target.join("wheel/tests"))?;
    println!("{}", wheel.display());
    free_threaded::run(&tools, &root, &target.join("wheel/free-threaded"))
}

/// Builds the wheel for `interpreter` into a new folder, and checks it. `tools` has maturin, zig and auditwheel.
fn build(
    tools: &Path,
    interpreter: &Path,
    root: &Path,
    wheels: &Path,
    interface: &str,
) -> Result<PathBuf, String> {
    if wheels.exists() {
        fs::remove_dir_all(wheels).map_err(|error| broken(wheels, &error))?;
    }
    let mut build = module(tools, root, "maturin");
    // The module `ziglang` of this environment is the linker.
    build.env("CARGO_ZIGBUILD_PYTHON_PATH", tools);
    build.args(["build", "--release", "--locked", "--zig", "--compatibility", PLATFORM, "--out"]);
    finish(build.arg(wheels).arg("--interpreter").arg(interpreter))?;
    let wheel = only_file(wheels)?;
    check_name(&wheel, interface)?;
    check_size(&wheel)?;
    check_platform(&output_of(module(tools, root, "auditwheel").arg("show").arg(&wheel))?)?;
    Ok(wheel)
}

/// Installs the wheel into a new environment of `python`, runs `program`, and uses the script.
fn check_use(python: &Path, wheel: &Path, environment: &Path, program: &str) -> Result<(), String> {
    finish(Command::new(python).args(["-m", "venv", "--clear"]).arg(environment))?;
    let programs = environment.join("bin");
    let interpreter = programs.join("python");
    finish(module(&interpreter, environment, "pip").args(["install", "--quiet"]).arg(wheel))?;
    finish(Command::new(&interpreter).args(["-c", program]))?;
    check_import(&interpreter)?;
    finish(Command::new(programs.join("zarrctl")).args(["plugins", "show", "zstd"]).stdout(Stdio::null()))
}

/// Checks the time of the import: the shortest of several, because the machine does other work, too.
fn check_import(interpreter: &Path) -> Result<(), String> {
    let mut shortest = f64::INFINITY;
    for _ in 0..5 {
        let output = Command::new(interpreter).args(["-c", IMPORT]).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| broken(interpreter, &error))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let time: f64 =
            printed.trim().parse().map_err(|error| format!("the import printed {printed:?}: {error}"))?;
        shortest = shortest.min(time);
    }
    println!("import zarr_kit: {shortest:.1} ms (at most {LONGEST_IMPORT} ms, without NumPy)");
    if shortest <= LONGEST_IMPORT { Ok(()) } else { Err(format!("the import takes {shortest:.1} ms")) }
}

/// Runs the tests of the package in a new environment with the wheel.
fn run_tests(workspace: &Workspace, wheel: &Path, folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| broken(folder, &error))?;
    }
    let requirements = workspace.root.join(FOLDER).join("tests/requirements.txt");
    let interpreter = environment(folder, &requirements)?;
    let mut install = module(&interpreter, folder, "pip");
    finish(install.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps"]).arg(wheel))?;
    finish(&mut Package::in_environment(workspace, interpreter, folder, "release").tests())
}

/// Checks the size of a wheel, which is compressed.
pub(super) fn check_size(wheel: &Path) -> Result<(), String> {
    let size = fs::metadata(wheel).map_err(|error| broken(wheel, &error))?.len();
    println!("{}: {size} bytes (at most {LARGEST})", wheel.display());
    if size <= LARGEST { Ok(()) } else { Err(format!("the wheel has {size} bytes, more than {LARGEST}")) }
}

/// Checks that the name of the file has the platform and the interface of Python.
fn check_name(wheel: &Path, interface: &str) -> Result<(), String> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    match name.contains(PLATFORM) && name.contains(interface) {
        true => Ok(()),
        false => Err(format!("the wheel is `{name}`; expected `{interface}` and `{PLATFORM}` in its name")),
    }
}

/// Checks that auditwheel finds no symbols that the platform lacks. `shown` is the output of `auditwheel show`, whose
/// sentences are wrapped.
fn check_platform(shown: &str) -> Result<(), String> {
    println!("{}", shown.trim());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = words.split("is consistent with the following platform tag: \"").nth(1);
    let tag = found.and_then(|rest| rest.split('"').next()).ok_or("auditwheel names no platform")?;
    match tag.starts_with(PLATFORM) {
        true => Ok(()),
        false => Err(format!("auditwheel finds the platform `{tag}`; expected `{PLATFORM}`")),
    }
}

fn only_file(folder: &Path) -> Result<PathBuf, String> {
    let mut entries = fs::read_dir(folder).map_err(|error| broken(folder, &error))?;
    let entry = entries.next().and_then(Result::ok).ok_or("maturin built no wheel")?;
    Ok(entry.path())
}

fn module(interpreter: &Path, folder: &Path, name: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.args(["-m", name]).current_dir(folder).stdin(Stdio::null());
    command
}

fn finish(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Runs a command and returns its standard output.
fn output_of(command: &mut Command) -> Result<String, String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", output.status)),
    }
}

fn broken(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_for_one_version_or_a_newer_system_is_refused() {
        let check = |name: &str| check_name(Path::new(name), INTERFACE);
        check("zarr_kit-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl").unwrap();
        check("zarr_kit-0.1.0-cp313-cp313-manylinux_2_28_x86_64.whl").unwrap_err();
        check("zarr_kit-0.1.0-cp313-abi3-manylinux_2_28_x86_64.whl").unwrap_err();
        check("zarr_kit-0.1.0-cp312-abi3-linux_x86_64.whl").unwrap_err();
        let free = Path::new("zarr_kit-0.1.0-cp314-cp314t-manylinux_2_28_x86_64.whl");
        check_name(free, "-cp314-cp314t-").unwrap();
        check_name(free, INTERFACE).unwrap_err();
    }

    #[test]
    fn the_platform_that_auditwheel_finds_is_required() {
        let shown = |tag: &str| {
            format!(
                "\nzarr_kit-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl is consistent with the\nfollowing platform tag: \"{tag}\".\n\n\
                 The wheel references external versioned symbols in these\nsystem-provided shared libraries: libc.so.6\n"
            )
        };
        check_platform(&shown("manylinux_2_28_x86_64")).unwrap();
        let error = check_platform(&shown("manylinux_2_34_x86_64")).unwrap_err();
        assert!(error.contains("manylinux_2_34_x86_64"), "{error}");
        check_platform(&shown("linux_x86_64")).unwrap_err();
        check_platform("").unwrap_err();
    }
}
