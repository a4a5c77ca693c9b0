//! Plugins in WebAssembly are packed, probed, installed and trusted like native libraries.

use std::fs;
use std::process::Output;

use crate::support::{Place, program};

fn run(place: &Place, arguments: &[&str]) -> Output {
    program().args(arguments).env("HOME", place.path("home")).current_dir(place.path("")).output().unwrap()
}

/// Runs a command that succeeds, and returns its output.
#[cfg(feature = "wasm")]
fn says(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that fails, and returns its standard output and standard error.
fn refuses(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// The shortest valid module.
const EMPTY: &[u8] = b"\0asm\x01\0\0\0";

#[cfg(not(feature = "wasm"))]
#[test]
fn without_webassembly_support_modules_are_refused() {
    let place = Place::new();
    let module = place.file("empty.wasm", EMPTY);
    let what = "it is WebAssembly, which this program is not built to run";
    assert!(refuses(&place, &["plugins", "pack", &module]).contains(what));
    assert!(refuses(&place, &["plugins", "probe", &module]).contains(what));
    let hash = "93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476";
    let manifest = format!(
        "manifest_version = 1\nname = 'empty'\nversion = '1.0.0'\nlicense = 'MIT'\nabi = {{ major = 2, minor = 0 }}\n\
         library.wasm32 = {{ path = 'empty.wasm', sha256 = '{hash}' }}\n\
         [[provides]]\nkind = 'codec'\nname = 'example.empty'\n"
    );
    let manifest = place.file("empty.toml", manifest.as_bytes());
    let what = "but WebAssembly, which this program is not built to run";
    assert!(refuses(&place, &["plugins", "install", &manifest]).contains(what));
    let folder = place.path("home/.local/share/zarr/plugins");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(manifest, folder.join("empty.toml")).unwrap();
    fs::copy(module, folder.join("empty.wasm")).unwrap();
    assert!(refuses(&place, &["plugins", "trust", "empty"]).contains(what));
    let get = ["create", "a.zarr", "/a", "--shape", "3", "--dtype", "uint8", "--codec", "example.empty"];
    let refusal = refuses(&place, &get);
    assert!(
        refusal.contains("codec `example.empty` is in plugin empty 1.0.0") && refusal.contains(what),
        "{refusal}"
    );
}

#[cfg(feature = "wasm")]
mod run {
    use std::fs::File;
    use std::io::Write as _;
    use std::process::Command;

    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

    /// Builds the example `runs.c` as a module that runs the C code `before` when it decodes. Returns `None` and
    /// reports the skip if clang is not installed.
    fn module(place: &Place, name: &str, before: &str) -> Option<String> {
        let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !(runs("clang") && runs("wasm-ld")) {
            let reason = "zarrctl: clang and wasm-ld (Debian packages clang and lld) are not installed";
            println!("SKIPPED: {reason}");
            if let Some(file) = std::env::var_os("ZARR_SKIPS") {
                let mut file = File::options().append(true).create(true).open(file).unwrap();
                writeln!(file, "SKIPPED: {reason}").unwrap();
            }
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "{reason}, and with CI=true nothing may be skipped"
            );
            return None;
        }
        let source = fs::read_to_string(format!("{ROOT}/examples/three-ways/runs.c")).unwrap();
        let start = "    size_t runs = len / (1 + width)";
        assert!(source.contains(start));
        let source = source.replace(start, &format!("    {before}\n{start}"));
        let source = place.file("module.c", source.as_bytes());
        let module = place.at(name);
        let mut clang = Command::new("clang");
        clang.args([
            "--target=wasm32",
            "-O2",
            "-mbulk-memory",
            "-nostdlib",
            "-std=c11",
            "-o",
            &module,
            &source,
        ]);
        clang.arg("-Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table");
        clang.arg(format!("-I{ROOT}/zarr-plugin/include")).arg(format!("-I{ROOT}/examples/three-ways"));
        let built = clang.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(module)
    }

    /// Writes an array with the codec, and returns the elements that it reads back.
    fn used(place: &Place, array: &str) -> String {
        let codec = r#"example.runs:{"width":1}"#;
        let at = ["create", "a.zarr", array, "--shape", "6", "--dtype", "uint8", "--codec", codec];
        says(place, &at);
        place.file("elements", &[7, 7, 7, 7, 1, 2]);
        says(place, &["put", "--format", "raw", "a.zarr", array, "elements"]);
        says(place, &["get", "a.zarr", array, "--format", "json"])
    }

    #[test]
    fn a_module_is_packed_probed_installed_and_trusted() {
        let place = Place::new();
        let Some(module) = module(&place, "runs.wasm", "") else { return };
        let packed = says(&place, &["plugins", "pack", &module]);
        assert!(packed.contains("\n  wasm32 "), "{packed}");
        let manifest = fs::read_to_string(place.path("dist/example-runs.toml")).unwrap();
        assert!(
            manifest.contains("[library.wasm32]\npath = \"example-runs-1.0.0-wasm32.wasm\""),
            "{manifest}"
        );
        for plugin in [&*module, "dist/example-runs.toml"] {
            let probed = says(&place, &["plugins", "probe", plugin]);
            assert!(
                probed.starts_with("codec `example.runs`: L2 (") && probed.ends_with(" passes.\n"),
                "{probed}"
            );
        }
        says(&place, &["plugins", "install", "dist"]);
        let create = [
            "create",
            "a.zarr",
            "/a",
            "--shape",
            "6",
            "--dtype",
            "uint8",
            "--codec",
            r#"example.runs:{"width":1}"#,
        ];
        assert!(refuses(&place, &create).contains("`zarrctl plugins trust example-runs` trusts it"));
        let trusted = says(&place, &["plugins", "trust", "example-runs"]);
        assert!(trusted.contains("example-runs-1.0.0-wasm32.wasm\n"), "{trusted}");
        assert_eq!(used(&place, "/a").trim(), "[7, 7, 7, 7, 1, 2]");
        assert!(
            says(&place, &["plugins", "why", "example.runs"])
                .contains("example-runs-1.0.0.toml: provides it")
        );
        // A module that replaces the installed file is not trusted.
        let installed = place.path("home/.local/share/zarr/plugins/example-runs-1.0.0-wasm32.wasm");
        fs::write(&installed, EMPTY).unwrap();
        let refusal = refuses(&place, &["get", "a.zarr", "/a"]);
        assert!(refusal.contains("its library is not the one in its manifest"), "{refusal}");
    }

    /// A module and a native library of one plugin may be in one folder. Only the native library is installed.
    #[test]
    fn a_module_and_a_library_are_packed_into_one_manifest() {
        let place = Place::new();
        let Some(module) = module(&place, "runs.wasm", "") else { return };
        let library = place.at("runs.so");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-std=c11", "-shared", "-fPIC", "-o", &library])
            .arg(format!("-I{ROOT}/zarr-plugin/include"));
        assert!(compiler.arg(format!("{ROOT}/examples/three-ways/runs.c")).status().unwrap().success());
        says(&place, &["plugins", "pack", &module]);
        let packed = says(&place, &["plugins", "pack", &library]);
        assert!(packed.contains("\n  wasm32 ") && packed.contains("\n  linux_"), "{packed}");
        let installed = says(&place, &["plugins", "install", "dist"]);
        assert!(installed.contains("\n  linux_") && !installed.contains("wasm32"), "{installed}");
    }

    /// Endless loops and traps are errors of one call: they violate rules and do not lead to quarantine.
    #[test]
    fn a_hanging_or_crashing_module_fails_a_probe_without_ending_the_process() {
        let place = Place::new();
        for (name, what, told) in [
            // The module loops for one rare element only, because each loop takes the whole time limit.
            (
                "hangs.wasm",
                "if (len == 2 && from[1] == 0x7f) for (volatile int i = 0;; i++) {}",
                "it used more than",
            ),
            ("crashes.wasm", "__builtin_trap();", "it was stopped: "),
            ("writes.wasm", "*(volatile char *)0xfffffff0 = 1;", "it was stopped: "),
        ] {
            let Some(module) = module(&place, name, what) else { return };
            let said = refuses(&place, &["plugins", "probe", &module, "--level", "L1"]);
            assert!(said.contains(told) && said.contains("fails: it violates "), "{name}: {said}");
        }
        assert!(!place.path("home/.config/zarr/plugins.quarantine").exists());
        let text = place.file("cut.wasm", EMPTY);
        assert!(refuses(&place, &["plugins", "pack", &text]).contains("cut.wasm as a plugin: its library "));
    }
}
