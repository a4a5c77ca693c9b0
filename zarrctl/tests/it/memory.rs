//! The memory budget that the command line sets.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Limits, Selection, open_store};

use crate::support::{Place, program};

const MIB: u64 = 1 << 20;

/// Returns the peak memory of a process in bytes, read while it runs.
fn peak_of(child: &mut Child) -> u64 {
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(now.unwrap_or(0) * 1024);
        thread::sleep(Duration::from_millis(2));
    }
    peak
}

/// Creates an array of eight chunks in a row, each 256 MiB of the value 5.
fn large_chunks(place: &Place) {
    let context = Context::linked().unwrap().with_limits(Limits::new().with_memory(1 << 40));
    let store = open_store(context.registry(), &place.at("large")).unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap();
    let side = 16 << 10;
    let builder = ArrayBuilder::new([side, 8 * side], "uint8").chunks([side, side]).fill_value(7);
    let array = hierarchy.create_array("/a", &builder).unwrap();
    let first = Selection::parse(&format!(":,:{side}"), array.shape()).unwrap();
    array.write(&first, &vec![5; 256 << 20]).unwrap();
    for chunk in 1..8 {
        fs::copy(place.path("large/a/c/0/0"), place.path(&format!("large/a/c/0/{chunk}"))).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn four_threads_decode_large_chunks_within_the_memory_budget() {
    let place = Place::new();
    large_chunks(&place);
    let mut command = program();
    command.env("RAYON_NUM_THREADS", "4").args(["get", "--memory", "512MiB", "--format", "raw"]);
    command.args(["--select", "::4096, ::4096", "-o", &place.at("out"), &place.at("large"), "/a"]);
    let mut child = command.spawn().unwrap();
    let peak = peak_of(&mut child);
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(place.path("out")).unwrap(), [5; 4 * 32]);
    // The peak includes a decoded chunk and does not exceed the budget plus the program itself.
    assert!((256 * MIB..512 * MIB + 64 * MIB).contains(&peak), "{} MiB", peak / MIB);

    let said = |command: &mut Command| {
        let output = command.stdout(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let mut small = program();
    small.args(["get", "--memory", "200MB", "--select", "5,:9", &place.at("large"), "/a"]);
    let (status, error) = said(&mut small);
    assert_eq!(status, Some(1), "{error}");
    let named = ["chunk [0, 0] of /a", "256.1 MiB", "143.0 MiB", "`zarrctl --memory`"];
    for named in named {
        assert!(error.contains(named), "{named}: {error}");
    }
    // The budget exceeds the memory that the system allows.
    let store = place.at("large");
    let get_small = ["--memory", "1TB", "get", "--select", "5,:9", &store, "/a"];
    let output = limited("ulimit -v 300000; export RAYON_NUM_THREADS=1", &get_small);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("out of memory"), "{error}");
    // The environment variable is the default of the option.
    let get = ["get", "--select", "5,:9", "--format", "raw", &place.at("large"), "/a"];
    let (status, error) = said(program().env("ZARR_KIT_MEMORY", "200MB").args(get));
    assert!(status == Some(1) && error.contains("143.0 MiB"), "{error}");
    let with_both = program().env("ZARR_KIT_MEMORY", "200MB").args(["--memory", "1GiB"]).args(get).output();
    assert_eq!(with_both.unwrap().stdout, [5; 9]);
}

/// The copy turns chunks of 16 rows into chunks of 512 columns, each of 1 MiB.
#[cfg(target_os = "linux")]
#[test]
fn a_copy_in_two_passes_takes_the_memory_of_the_option_and_64_mib() {
    let place = Place::new();
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &place.at("rows")).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([2048, 65536], "uint8").chunks([16, 65536]).fill_value(7).uncompressed();
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write(&Selection::All, &vec![5; 128 << 20]).unwrap();
    let [rows, copy] = ["rows", "copy"].map(|name| place.at(name));
    let arguments = ["--memory", "32MiB", "copy", &rows, &copy, "--chunks", "2048,512", "--codec", "none"];
    let plan = program().args(arguments).arg("--plan").output().unwrap();
    assert!(String::from_utf8(plan.stdout).unwrap().contains("passes  2,"));
    let mut child = program().args(arguments).env("RAYON_NUM_THREADS", "4").spawn().unwrap();
    let peak = peak_of(&mut child);
    assert!(child.wait().unwrap().success());
    assert!(peak < 96 * MIB, "{} MiB", peak / MIB);
    let equal = program().args(["diff", &rows, &copy]).output().unwrap();
    assert!(equal.status.success(), "{}", String::from_utf8_lossy(&equal.stdout));
}

#[test]
fn an_invalid_size_is_refused_with_an_example() {
    for (wrong, status) in [("0", 2), ("much", 2), ("1.5.5GiB", 2), ("20000000TB", 2), ("-1", 2)] {
        let output = program().arg(format!("--memory={wrong}")).args(["tree", "nowhere"]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{wrong}: {error}");
        assert!(error.contains("512MiB, 2GB or 1073741824"), "{wrong}: {error}");
    }
    let output = program().env("ZARR_KIT_MEMORY", "some").args(["tree", "nowhere"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1)
            && error.contains("environment variable ZARR_KIT_MEMORY: invalid size `some`"),
        "{error}"
    );
}

/// Runs the program under a limit that the shell sets.
#[cfg(target_os = "linux")]
pub(crate) fn limited(limit: &str, arguments: &[&str]) -> std::process::Output {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{limit}; exec \"$@\"")).arg("sh").arg(env!("CARGO_BIN_EXE_zarrctl"));
    shell.args(arguments).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn running_out_of_file_handles_is_an_error_not_a_panic() {
    let place = Place::new();
    let demo = place.at("demo");
    assert!(program().args(["demo", &demo]).output().unwrap().status.success());
    for handles in 3..12 {
        let store = format!("{demo}/v3");
        let output = limited(
            &format!("ulimit -n {handles}"),
            &["get", &store, "/image/mandelbrot", "--format", "raw"],
        );
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        // With too few handles, the dynamic loader cannot even start the program.
        assert!(!error.contains("panicked") && output.status.code() != Some(101), "{handles}: {error}");
        assert!(output.status.success() || !error.is_empty(), "{handles}");
    }
}

/// Runs with a limit of processes, as in a container. The system does not limit root, so root becomes another user.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_the_calling_thread_does_the_work() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let place = Place::new();
    let demo = place.at("demo");
    assert!(program().args(["demo", &demo]).output().unwrap().status.success());
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let store = format!("{demo}/v3");
    let get = [&store, "/image/mandelbrot", "--format", "raw"];
    let expected = program().arg("get").args(get).output().unwrap();
    assert!(expected.status.success() && expected.stdout.len() > 512 << 10, "the array is too small");
    let without_threads = |arguments: &[&str]| {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", "ulimit -u 1 && exec \"$@\"", "bash", env!("CARGO_BIN_EXE_zarrctl")])
            .args(arguments);
        shell.env("RAYON_NUM_THREADS", "4").env_remove("HOME");
        if place.path("").metadata().unwrap().uid() == 0 {
            shell.uid(65_534).gid(65_534);
        }
        let output = shell.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}: {error}", output.status);
        output.stdout
    };
    assert!(without_threads(&[&["get"], &get[..]].concat()) == expected.stdout);
    // These verbs wait for signals on a thread if they can start one.
    fs::create_dir(place.path("out")).unwrap();
    fs::set_permissions(place.path("out"), fs::Permissions::from_mode(0o777)).unwrap();
    let [raw, copy, archive] = ["out/a.raw", "out/copy", "out/copy.zip"].map(|name| place.at(name));
    without_threads(&[&["get"], &get[..], &["-o", &raw]].concat());
    assert!(fs::read(&raw).unwrap() == expected.stdout);
    without_threads(&["copy", &store, &copy, "--path", "/image"]);
    without_threads(&["put", &copy, "/image/mandelbrot", &raw, "--format", "raw"]);
    without_threads(&["pack", &copy, &archive]);
    assert!(without_threads(&["get", &archive, "/image/mandelbrot", "--format", "raw"]) == expected.stdout);
}
