//! The faults of `docs/plugins-bad.md` that only `plugins probe` finds.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::{Place, program};
use crate::table;

/// The codec `example.xor` in C with a fault.
#[derive(Clone, Copy)]
struct Bad {
    /// Macros of `xor.c`.
    defines: &'static str,
    /// C code that follows the code of `xor.c`.
    more: &'static str,
    level: &'static str,
}

impl Bad {
    /// Returns a plugin whose fault occurs when the library is opened.
    const fn at_start(more: &'static str) -> Self {
        Self { defines: "", more, level: "L0" }
    }

    /// Returns a plugin whose fault occurs in each call that encodes or decodes.
    const fn in_calls(defines: &'static str) -> Self {
        Self { defines, more: "", level: "L1" }
    }

    /// Returns a plugin whose fault occurs in calls and is found by a rule of this level.
    const fn at_level(level: &'static str, defines: &'static str) -> Self {
        Self { level, ..Self::in_calls(defines) }
    }

    /// Probes the plugin with this time limit.
    fn probed(self, place: &Place, time_limit: &str) -> Output {
        let mut probe = program();
        probe.args(["plugins", "probe", &self.built(place), "--level", self.level]);
        probe.args(["--time-limit", time_limit]).env("HOME", place.path("home")).output().unwrap()
    }

    /// Builds the library and returns its path.
    fn built(self, place: &Place) -> String {
        let Self { defines, more, .. } = self;
        let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-plugin");
        let includes = "#include <sched.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>";
        let source = format!("{includes}\n{defines}\n#include \"tests/plugins/xor.c\"\n{more}\n");
        let source = place.file("library.c", source.as_bytes());
        let library = place.at("libbad.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-w", "-o", &library, &source]);
        let built = compiler.arg(format!("-I{plugin}/include")).arg(format!("-I{plugin}")).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        library
    }
}

const CASES: &[(&str, Bad)] = &[
    (
        "it aborts when it is opened",
        Bad::at_start("__attribute__((constructor)) static void start(void) { abort(); }"),
    ),
    (
        "it crashes when it is opened",
        Bad::at_start("__attribute__((constructor)) static void start(void) { *(volatile int *)8 = 1; }"),
    ),
    (
        "it ends the program when it is opened",
        Bad::at_start("__attribute__((constructor)) static void start(void) { _exit(0); }"),
    ),
    (
        "it never returns when it is opened",
        Bad::at_start("__attribute__((constructor)) static void start(void) { for (;;) pause(); }"),
    ),
    ("a codec aborts", Bad::in_calls("#define IN_RUN abort()")),
    ("a codec crashes", Bad::in_calls("#define IN_RUN *(volatile int *)8 = 1")),
    ("a codec ends the program", Bad::in_calls("#define IN_RUN _exit(3)")),
    (
        "a codec divides by zero",
        Bad::in_calls("static volatile int zero;\n#define IN_RUN if (7 / zero) return 1"),
    ),
    ("a codec never returns", Bad::in_calls("#define IN_RUN for (;;) pause()")),
    (
        "a codec allocates all memory and aborts",
        Bad::in_calls(
            "#define IN_RUN for (char *more;; memset(more, 1, 1 << 26)) if (!(more = malloc(1 << 26))) abort()",
        ),
    ),
    (
        "a codec recurses without end",
        Bad::in_calls(
            "static int down(volatile int n) { volatile char room[4096]; room[0] = n; return down(n + 1) + room[0]; }\n\
             #define IN_RUN if (down(0)) return 1",
        ),
    ),
    (
        "a codec writes one byte past its output",
        Bad::in_calls("#define AFTER_RUN if (to->capacity) to->start[to->capacity] ^= 1"),
    ),
    (
        "a codec writes far past its output",
        Bad::in_calls("#define AFTER_RUN memset(to->start, 1, to->capacity + (1ul << 34))"),
    ),
    (
        "a codec is not reentrant",
        Bad {
            level: "L2",
            ..Bad::in_calls(
                "static unsigned char kept[1 << 20];\n#define IN_RUN if (from.len <= sizeof kept) \
                 { memcpy(kept, from.ptr, from.len); usleep(100); from.ptr = kept; }",
            )
        },
    ),
    (
        "a codec reads one byte past its input",
        Bad::in_calls(
            "#define IN_RUN if (from.len && ((volatile const unsigned char *)from.ptr)[from.len] == 256) return 1",
        ),
    ),
    (
        "a codec reads the byte before its input",
        Bad::in_calls(
            "#define IN_RUN if (from.len && ((volatile const unsigned char *)from.ptr)[-1] == 256) return 1",
        ),
    ),
    (
        "a codec shares its loop index between threads",
        Bad::at_level(
            "L2",
            "static volatile size_t shared;\n\
             #define AFTER_RUN memset(to->start, 0, from.len); for (shared = 0; shared < from.len;) \
             { size_t at = shared; if (at < from.len) to->start[at] = from.ptr[at] ^ key; shared = at + 1; }",
        ),
    ),
    (
        "a codec is wrong for chunks larger than 1 MiB",
        Bad::at_level("L2", "#define AFTER_RUN if (to->len > 1 << 20) to->start[to->len - 1] += 1"),
    ),
    ("a codec decodes to other elements", Bad::in_calls("#define AFTER_RUN if (to->len) to->start[0] += 1")),
];

#[test]
fn a_probe_reports_each_fault_as_documented_and_quarantines_plugins_that_end_the_process() {
    table::check(
        |row| row.found_by == "probe",
        CASES,
        |row, bad| {
            let place = Place::new();
            let time_limit = if row.message.contains("finish within") { "3" } else { "100" };
            let output = bad.probed(&place, time_limit);
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let is_kept = place.path("home/.config/zarr/plugins.quarantine").exists();
            let is_right = row.is_in(&said)
                && output.status.code() == Some(1)
                && is_kept == row.message.contains("it is quarantined");
            if is_right { Ok(()) } else { Err(format!("{row:?}\n    the output is {said}")) }
        },
    );
}

/// Returns whether the process waits for a file lock.
fn waits_for_a_lock(process: u32) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let process = process.to_string();
    let is_its = |line: &str| line.contains("->") && line.split_whitespace().any(|word| word == process);
    locks.lines().any(is_its)
}

#[test]
fn a_probe_keeps_concurrent_changes_of_the_quarantine_file() {
    let place = Place::new();
    let library =
        Bad::at_start("__attribute__((constructor)) static void start(void) { abort(); }").built(&place);
    let lock = place.file("home/.config/zarr/plugins.quarantine.flock", b"");
    let lock = std::fs::File::open(lock).unwrap();
    lock.lock().unwrap();
    let mut probe = program();
    probe.args(["plugins", "probe", &library]).env("HOME", place.path("home"));
    let mut probe = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !waits_for_a_lock(probe.id()) {
        assert!(probe.try_wait().unwrap().is_none(), "the probe does not wait for the lock");
        std::thread::sleep(Duration::from_millis(10));
    }
    let other = "[[quarantined]]\nname = \"other\"\nsha256 = \"00\"\nreason = \"it crashed\"\n";
    let file = place.file("home/.config/zarr/plugins.quarantine", other.as_bytes());
    drop(lock);
    assert_eq!(probe.wait_with_output().unwrap().status.code(), Some(1));
    let quarantine = std::fs::read_to_string(file).unwrap();
    assert!(
        quarantine.contains("name = \"other\"") && quarantine.contains("name = \"libbad\""),
        "{quarantine}"
    );
}

#[test]
fn a_crash_of_a_library_violates_rules_and_does_not_end_the_checking_program() {
    let place = Place::new();
    let library = Bad::in_calls("#define IN_RUN if (from.len == 3) abort()").built(&place);
    let json = place.at("report.json");
    let output = program().args(["conformance", "plugin", &library, "--json", &json]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let (_, foreign) = said.split_once("codec `example.xor`: L2 codec-foreign\n").unwrap();
    assert!(foreign.contains("  - decoding 3 bytes, "), "{said}");
    assert!(foreign.contains("it aborted the process (signal 6)"), "{said}");
    // The rules after the crash are checked, and pass.
    let report = std::fs::read_to_string(&json).unwrap();
    let after = report.split("\"codec-range\"").nth(1).unwrap();
    assert!(after.split("\"verdict\": ").nth(1).unwrap().starts_with("\"passed\""), "{report}");

    let library =
        Bad::at_start("__attribute__((constructor)) static void start(void) { abort(); }").built(&place);
    let output = program().args(["conformance", "plugin", &library]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("it aborted the process (signal 6)"), "{error}");
}

#[test]
fn a_library_reaches_level_four_with_fixtures_in_the_folder_next_to_it() {
    const HEADER: &str = "format\tcodec\tdata type\tshape\tdecoded\tencoded\tprogram\n";
    let place = Place::new();
    let library = Bad::in_calls("").built(&place);
    let probe = |more: &[&str]| {
        let mut probe = program();
        probe
            .args(["plugins", "probe", &library])
            .args(more)
            .env("HOME", place.path("home"))
            .output()
            .unwrap()
    };
    let said = String::from_utf8(probe(&[]).stdout).unwrap();
    assert!(said.starts_with("codec `example.xor`: L2 ("), "{said}");
    assert!(
        said.contains("\n  not L3: no chunk from another program or standard is known for this codec, "),
        "{said}"
    );

    // `Zarr` XOR 170, computed by a shell.
    let row = "v3\t{\"name\": \"example.xor\", \"configuration\": {\"key\": 170}}\tuint8\t4\t5a617272\t";
    place.file("fixtures/shell.tsv", format!("{HEADER}{row}f0cbd8d8\tdash 0.5\n").as_bytes());
    let said = String::from_utf8(probe(&[]).stdout).unwrap();
    assert!(said.starts_with("codec `example.xor`: L4 ("), "{said}");

    let wrong = place.file("wrong/shell.tsv", format!("{HEADER}{row}f0cbd8d9\tdash 0.5\n").as_bytes());
    let folder = wrong.strip_suffix("/shell.tsv").unwrap();
    let output = probe(&["--fixtures", folder]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("of dash 0.5: byte 3 is 0x73, expected 0x72"), "{said}");
}

/// Uses the library of `zarr-plugin/tests/plugins/kinds.c`.
#[test]
fn a_library_with_codecs_and_a_key_encoding_passes_a_probe() {
    let place = Place::new();
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-plugin");
    let library = place.at("kinds.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-shared", "-fPIC", "-o", &library]);
    compiler.arg(format!("-I{plugin}/include")).arg(format!("{plugin}/tests/plugins/kinds.c"));
    assert!(compiler.status().unwrap().success());
    let output =
        program().args(["plugins", "probe", &library]).env("HOME", place.path("home")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{said}");
    assert!(said.ends_with(" passes.\n"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains(", 0 failed, ")).count(), 4, "{said}");
}

/// Uses the libraries of version 1.0 that `zarr-plugin` stores.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_probe_refuses_a_library_of_version_1_0_of_the_abi() {
    let place = Place::new();
    for name in ["abi-1-0-c", "abi-1-0-rust"] {
        let library =
            format!("{}/../zarr-plugin/tests/v1.0/{name}-1.0.0-linux_amd64.so", env!("CARGO_MANIFEST_DIR"));
        let output =
            program().args(["plugins", "probe", &library]).env("HOME", place.path("home")).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let message = "it uses version 1 of the plugin ABI, expected version 2; build it again with";
        assert!(said.contains(message), "{said}");
        assert!(!said.contains("quarantine"), "{said}");
    }
}
