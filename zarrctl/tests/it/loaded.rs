//! Plugins that are loaded at run time: packing, installing, trusting and removing them, and why they are not used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{Place, program};

/// A temporary folder with the user's home folder `home`.
struct Home(Place);

impl Home {
    fn new() -> Self {
        Self(Place::new())
    }

    fn run(&self, arguments: &[&str]) -> Output {
        program()
            .args(arguments)
            .env("HOME", self.0.path("home"))
            .current_dir(self.0.path(""))
            .output()
            .unwrap()
    }

    /// Runs a command that succeeds, and returns its output.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that fails, and returns its error message.
    fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("error: "), "{arguments:?}: {error}");
        error
    }

    /// Builds a library of the codec `example.xor` with more C code.
    fn library(&self, name: &str, more: &str) -> String {
        self.library_of(name, "", more)
    }

    /// Builds a library like [`Home::library`], with macros of `xor.c`.
    fn library_of(&self, name: &str, macros: &str, more: &str) -> String {
        let source = format!("{macros}\n#include \"tests/plugins/xor.c\"\n{more}");
        self.compiled(name, &source, &[])
    }

    /// Builds a library of the codec `example.xor` with arguments for the linker.
    fn linked(&self, name: &str, linked: &[&str]) -> String {
        self.compiled(name, "#include \"tests/plugins/xor.c\"", linked)
    }

    fn compiled(&self, name: &str, source: &str, linked: &[&str]) -> String {
        let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-plugin");
        let source = self.0.file("library.c", source.as_bytes());
        let library = self.0.at(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", &library, &source]);
        compiler.args(linked).arg(format!("-I{plugin}/include")).arg(format!("-I{plugin}"));
        let built = compiler.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        library
    }

    fn plugins(&self) -> PathBuf {
        self.0.path("home/.local/share/zarr/plugins")
    }

    fn configuration(&self, file: &str) -> PathBuf {
        self.0.path("home/.config/zarr").join(file)
    }

    /// Returns a home with the plugin packed, installed and trusted.
    fn with_trusted_plugin() -> Self {
        let home = Self::new();
        let library = home.library("libxor.so", "");
        home.says(&["plugins", "pack", &library]);
        home.says(&["plugins", "install", "dist"]);
        home.says(&["plugins", "trust", "xor-c"]);
        home
    }
}

/// The name of this machine in manifests.
const MACHINE: &str = if cfg!(target_arch = "aarch64") { "linux_arm64" } else { "linux_amd64" };

const ARRAY: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "uint8", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}, "chunk_key_encoding": {"name": "default"},
    "codecs": [{"name": "bytes"}, {"name": "example.xor", "configuration": {"key":255}}]}"#;

#[test]
fn each_message_names_the_next_step_until_the_array_can_be_read() {
    let home = Home::new();
    home.0.file("a.zarr/zarr.json", ARRAY.as_bytes());
    home.0.file("a.zarr/c/0", &[254, 253, 252]);
    let get = ["get", "a.zarr", "/", "--format", "json"];
    let unknown =
        "codec `example.xor` is unknown; `zarrctl plugins why example.xor` shows where it was searched for";
    assert!(home.refuses(&get).contains(unknown));

    let library = home.library("libxor.so", "");
    let packed = home.says(&["plugins", "pack", &library]);
    assert!(
        packed.starts_with("packed xor-c 1.2.0: dist/xor-c.toml\n  codec example.xor  Combines"),
        "{packed}"
    );
    assert!(packed.contains("install it with `zarrctl plugins install dist`"), "{packed}");
    let installed = home.says(&["plugins", "install", "dist"]);
    assert!(installed.ends_with("To trust it: zarrctl plugins trust xor-c\n"), "{installed}");
    let untrusted = "which is not used: it is not trusted yet; `zarrctl plugins trust xor-c` trusts it";
    let refusal = home.refuses(&get);
    assert!(
        refusal.contains("codec `example.xor` is in plugin xor-c 1.2.0 (") && refusal.contains(untrusted),
        "{refusal}"
    );
    assert!(home.refuses(&["plugins", "show", "example.xor"]).contains(untrusted));
    assert!(home.says(&["info", "a.zarr", "/"]).contains(untrusted));

    assert!(!home.configuration("plugins.lock").exists());
    let trusted = home.says(&["plugins", "trust", "xor-c"]);
    let file = home.plugins().join(format!("xor-c-1.2.0-{MACHINE}.so"));
    for line in
        ["plugin   xor-c 1.2.0\n", &format!("library  {}\n", file.display()), "has      codec example.xor\n"]
    {
        assert!(trusted.contains(line), "{trusted}");
    }
    let lock = fs::read_to_string(home.configuration("plugins.lock")).unwrap();
    let hash = trusted.lines().find_map(|line| line.strip_prefix("sha256   ")).unwrap();
    assert!(lock.contains(&format!("sha256 = \"{hash}\"")), "{lock}");
    assert!(home.says(&["plugins", "trust", "xor-c"]).contains("It is already trusted"));
    assert_eq!(home.says(&get).trim(), "[1, 2, 3]");

    check_writing(&home);
}

/// Panics unless chunks are written through the trusted plugin.
fn check_writing(home: &Home) {
    home.0.file("raw", &[1, 2, 3]);
    let create = [
        "create",
        "b.zarr",
        "/b",
        "--shape",
        "3",
        "--dtype",
        "uint8",
        "--codec",
        r#"example.xor:{"key":255}"#,
    ];
    home.says(&create);
    home.says(&["put", "--format", "raw", "b.zarr", "/b", "raw"]);
    assert_eq!(fs::read(home.0.path("b.zarr/b/c/0")).unwrap(), [254, 253, 252]);
    home.says(&["copy", "b.zarr", "c.zarr", "--chunks", "2"]);
    assert_eq!(fs::read(home.0.path("c.zarr/b/c/1")).unwrap()[0], 252);
}

#[test]
fn an_installed_version_is_not_replaced_with_other_contents() {
    let home = Home::with_trusted_plugin();
    let other = home.library("other.so", "int other_code(void) { return 7; }");
    home.says(&["plugins", "pack", &other, "--output", "other"]);
    let refusal = home.refuses(&["plugins", "install", "other"]);
    assert!(
        refusal.contains("xor-c 1.2.0 is already installed with different contents (SHA-256 "),
        "{refusal}"
    );
    assert!(refusal.contains("first run `zarrctl plugins remove xor-c@1.2.0`"), "{refusal}");
    assert!(home.says(&["plugins", "show", "example.xor"]).starts_with("codec example.xor\n"));
    assert!(home.says(&["plugins", "install", "dist"]).ends_with("It is trusted.\n"));
    // A library that the user copies over the installed file is not trusted.
    for file in fs::read_dir(home.0.path("other")).unwrap().map(|file| file.unwrap().path()) {
        let extension = file.extension().unwrap().to_str().unwrap();
        let name = if extension == "toml" {
            "xor-c-1.2.0.toml"
        } else {
            file.file_name().unwrap().to_str().unwrap()
        };
        fs::copy(&file, home.plugins().join(name)).unwrap();
    }
    let refusal = home.refuses(&["plugins", "show", "example.xor"]);
    assert!(refusal.contains("its library is not the one that was trusted: SHA-256 is "), "{refusal}");
    let trusted = home.says(&["plugins", "trust", "xor-c"]);
    assert!(trusted.contains("\nbefore   "), "{trusted}");
    assert!(home.says(&["plugins", "show", "example.xor"]).starts_with("codec example.xor\n"));
}

#[test]
fn an_upgrade_leaves_the_trusted_version_in_use_until_the_new_one_is_trusted() {
    let home = Home::with_trusted_plugin();
    let newer = home.library_of("newer.so", "#define VERSION \"1.10.0\"", "");
    home.says(&["plugins", "pack", &newer, "--output", "newer"]);
    let installed = home.says(&["plugins", "install", "newer"]);
    assert!(
        installed.contains("Already trusted: xor-c 1.2.0. The trusted version remains in use."),
        "{installed}"
    );
    let plugin = |home: &Home| -> String {
        let shown = home.says(&["plugins", "show", "example.xor"]);
        shown.lines().find(|line| line.starts_with("  plugin ")).unwrap().to_owned()
    };
    assert!(plugin(&home).ends_with("xor-c 1.2.0"));
    let why = home.says(&["plugins", "why", "example.xor"]);
    let untrusted = "xor-c-1.10.0.toml: it is not trusted yet; `zarrctl plugins trust xor-c` trusts it";
    assert!(why.contains(untrusted) && why.contains("xor-c-1.2.0.toml: provides it"), "{why}");

    let trusted = home.says(&["plugins", "trust", "xor-c"]);
    let as_well = "Version 1.2.0 is also trusted; `zarrctl plugins remove xor-c@1.2.0` removes it.\n";
    assert!(trusted.starts_with("plugin   xor-c 1.10.0\n") && trusted.ends_with(as_well), "{trusted}");
    assert!(plugin(&home).ends_with("xor-c 1.10.0"));
    // `why` names the reason why the older version is not used, and `show` does not contradict it.
    let why = home.says(&["plugins", "why", "example.xor"]);
    assert!(
        why.contains("xor-c-1.2.0.toml: ")
            && why.contains("xor-c-1.10.0.toml has the same name and comes first"),
        "{why}"
    );
    assert!(why.ends_with("result: codec `example.xor` comes from plugin xor-c 1.10.0\n"), "{why}");
    assert!(!home.says(&["plugins", "show", "example.xor"]).contains("not used"));

    assert!(home.says(&["plugins", "probe", "xor-c@1.2.0", "--level", "L0"]).ends_with("xor-c passes.\n"));
    let error = home.refuses(&["plugins", "probe", "xor-c@1.3.0"]);
    assert!(error.contains("no installed plugin is named `xor-c@1.3.0`"), "{error}");

    home.says(&["plugins", "remove", "xor-c@1.10.0"]);
    assert!(plugin(&home).ends_with("xor-c 1.2.0"));
    home.says(&["plugins", "remove", "xor-c"]);
    assert_eq!(home.0.files("home/.local/share/zarr/plugins"), Vec::<String>::new());
}

#[test]
fn a_plugin_with_a_built_in_name_is_reported_as_unused() {
    let home = Home::new();
    let library = home.library_of("libzstd.so", "#define NAME \"zstd\"", "");
    let warning = "warning: xor-c is not used: this program has its own codec `zstd` (zarr-codec-zstd ";
    for arguments in
        [["plugins", "pack", &*library], ["plugins", "install", "dist"], ["plugins", "trust", "xor-c"]]
    {
        let output = home.run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && error.starts_with(warning), "{arguments:?}: {error}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("its code runs when data needs it"), "{said}");
    }
}

#[test]
fn required_libraries_are_shown_and_search_folders_are_refused() {
    let home = Home::new();
    let library = home.library("libxor.so", "");
    let packed = home.says(&["plugins", "pack", &library]);
    assert!(
        packed.contains("\n  needs glibc 2.") && packed.contains("libc.so.6 of the system\n"),
        "{packed}"
    );
    let installed = home.says(&["plugins", "install", "dist"]);
    assert!(installed.contains("\n  needs glibc 2."), "{installed}");
    home.says(&["plugins", "trust", "xor-c"]);
    assert!(home.says(&["plugins", "show", "example.xor"]).contains("\n  needs     glibc 2."));

    let resolving = ["-Wl,--no-as-needed", "-l:libresolv.so.2"];
    let library = home.linked("needs.so", &resolving);
    home.says(&["plugins", "pack", &library, "--output", "needs"]);
    home.says(&["plugins", "remove", "xor-c"]);
    assert!(home.says(&["plugins", "install", "needs"]).contains("\n  needs libresolv.so.2: /"));
    let trusted = home.says(&["plugins", "trust", "xor-c"]);
    assert!(trusted.contains("\nneeds    libresolv.so.2: /"), "{trusted}");
    let lock = fs::read_to_string(home.configuration("plugins.lock")).unwrap();
    assert!(lock.contains("[[plugin.needs]]\nname = \"libresolv.so.2\"\n"), "{lock}");
    let create =
        ["create", "a.zarr", "/a", "--shape", "3", "--dtype", "uint8", "--codec", "example.xor:{\"key\":1}"];
    home.says(&create);

    let library = home.linked("search.so", &["-Wl,-rpath,$ORIGIN,--enable-new-dtags"]);
    for verb in ["pack", "probe"] {
        let refusal = home.refuses(&["plugins", verb, &library]);
        assert!(refusal.contains("its library has RUNPATH `$ORIGIN`, a list of search folders"), "{refusal}");
    }
}

#[test]
fn a_failure_of_a_plugin_names_the_plugin_and_the_codec() {
    let home = Home::new();
    home.0.file("a.zarr/zarr.json", ARRAY.as_bytes());
    home.0.file("a.zarr/c/0", &[254, 253, 252]);
    let library = home.library_of("libxor.so", "#define IN_RUN return ZARR_IO", "");
    home.says(&["plugins", "pack", &library]);
    home.says(&["plugins", "install", "dist"]);
    home.says(&["plugins", "trust", "xor-c"]);
    let error = home.refuses(&["get", "a.zarr", "/", "--format", "json"]);
    let told = "codec `example.xor`: plugin xor-c 1.2.0 failed: it gives no reason";
    assert!(error.contains(told) && !error.contains("corrupt"), "{error}");
}

/// The program must not open a FIFO, because opening it would wait for another process.
#[test]
fn a_fifo_in_place_of_the_lock_file_or_a_manifest_does_not_block() {
    let home = Home::with_trusted_plugin();
    home.0.file("a.zarr/zarr.json", ARRAY.as_bytes());
    let make_fifo = |path: PathBuf| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    make_fifo(home.plugins().join("fifo.toml"));
    let list = home.says(&["plugins"]);
    assert!(
        list.contains("fifo.toml: not used: its manifest is invalid: it is not a regular file"),
        "{list}"
    );
    home.says(&["tree", "a.zarr"]);
    fs::remove_file(home.configuration("plugins.lock")).unwrap();
    make_fifo(home.configuration("plugins.lock"));
    let output = home.run(&["tree", "a.zarr"]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && warning.contains("no plugins are trusted: "), "{warning}");
    assert!(home.refuses(&["plugins", "trust", "xor-c"]).contains("plugins.lock: it is not a regular file"));
}

#[test]
fn loaded_plugins_are_listed_and_shown_with_the_linked_ones() {
    let home = Home::with_trusted_plugin();
    let manifest = home.plugins().join("xor-c-1.2.0.toml");
    let list = home.says(&["plugins"]);
    assert!(list.contains("  (library xor-c 1.2.0) Combines each byte"), "{list}");
    assert!(
        list.ends_with(&format!("\nlibrary\n  xor-c 1.2.0  {}: trusted\n", manifest.display())),
        "{list}"
    );
    let shown = home.says(&["plugins", "show", "example.xor"]);
    assert!(shown.contains("  plugin    xor-c 1.2.0\n") && shown.contains("  library   "), "{shown}");
    let json = home.says(&["plugins", "list", "--json"]);
    assert!(json.contains(&format!("\"library\": \"{}\"", manifest.display())), "{json}");

    fs::remove_file(home.configuration("plugins.lock")).unwrap();
    let list = home.says(&["plugins"]);
    assert!(list.contains("xor-c-1.2.0.toml: not used: it is not trusted yet"), "{list}");
    assert!(home.says(&["plugins", "--json"]).contains("\"refusal\": \"it is not trusted yet"));
}

#[test]
fn why_lists_every_folder_and_the_result() {
    let home = Home::with_trusted_plugin();
    let why = home.says(&["plugins", "why", "example.xor"]);
    let user = home.plugins();
    let expected = format!(
        "`example.xor` was searched for in:\n  {} (your plugins)\n    xor-c-1.2.0.toml: provides it\n  /usr/local/lib/zarr/plugins \
         (system plugins)",
        user.display()
    );
    assert!(why.starts_with(&expected), "{why}");
    assert!(why.ends_with("result: codec `example.xor` comes from plugin xor-c 1.2.0\n"), "{why}");
    let by_name = home.says(&["plugins", "why", "xor-c"]);
    assert_eq!(by_name, format!("`xor-c` is a plugin that provides:\n\n{why}"));
    let linked = home.says(&["plugins", "why", "zstd"]);
    assert!(linked.contains("result: codec `zstd` is built into zarrctl (zarr-codec-zstd"), "{linked}");
    assert!(home.says(&["plugins", "why", "zsdt"]).contains("result: not found: unknown plugin `zsdt`"));

    // A changed library is noticed only when it is read.
    let library = user.join(format!("xor-c-1.2.0-{MACHINE}.so"));
    let bytes = fs::read(&library).unwrap();
    fs::write(&library, [&bytes[..], b"more"].concat()).unwrap();
    let why = home.says(&["plugins", "why", "xor-c"]);
    let changed = "codec `example.xor` would come from plugin xor-c 1.2.0, but its library is not the one in its manifest";
    assert!(why.contains(changed) && why.ends_with("; install it again\n"), "{why}");
    fs::write(&library, bytes).unwrap();

    fs::write(user.join("broken.toml"), "manifest_version = 2").unwrap();
    fs::remove_file(home.configuration("plugins.lock")).unwrap();
    let why = home.says(&["plugins", "why", "example.xor"]);
    assert!(why.contains("broken.toml: its manifest is invalid: unknown manifest version 2"), "{why}");
    assert!(why.contains("xor-c-1.2.0.toml: it is not trusted yet; `zarrctl plugins trust xor-c`"), "{why}");
}

#[test]
fn dirs_lists_the_folders_and_marks_the_refused_ones() {
    let home = Home::with_trusted_plugin();
    let open = home.0.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let path = format!("{}:relative", open.display());
    let mut dirs = program();
    dirs.args(["plugins", "dirs"]).env("HOME", home.0.path("home")).env("ZARR_PLUGIN_PATH", path);
    let said = String::from_utf8(dirs.output().unwrap().stdout).unwrap();
    for line in [
        format!("  {} (ZARR_PLUGIN_PATH): refused: ", open.display()),
        "is writable by users other than you and root".to_owned(),
        format!("  {} (your plugins): 1 manifest\n", home.plugins().display()),
        "  `relative` (ZARR_PLUGIN_PATH): ignored, because the path is not absolute\n".to_owned(),
        format!("\n  {}\n", home.configuration("plugins.lock").display()),
        format!("\n  {} (does not exist)\n", home.configuration("plugins.quarantine").display()),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
}

#[test]
fn a_correct_library_passes_a_probe_and_a_wrong_one_fails_it() {
    let home = Home::with_trusted_plugin();
    for plugin in ["xor-c", "dist/xor-c.toml", "dist", "libxor.so"] {
        let said = home.says(&["plugins", "probe", plugin, "--level", "L1"]);
        assert!(said.starts_with("codec `example.xor`: L1 ("), "{said}");
        assert!(said.ends_with(" passes.\n"), "{said}");
    }
    let wrong = home.library("wrong.so", "");
    let source = home.0.path("library.c");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, format!("#define TOO_MUCH\n{text}")).unwrap();
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-plugin");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-shared", "-fPIC", "-o", &wrong]).arg(&source);
    compiler.arg(format!("-I{plugin}/include")).arg(format!("-I{plugin}"));
    assert!(compiler.status().unwrap().success());
    let output = home.run(&["plugins", "probe", "wrong.so", "--level", "L1"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("wrong fails: it violates "), "{error}");
    assert!(!home.configuration("plugins.quarantine").exists());
    assert!(home.refuses(&["plugins", "probe", "a.zarr"]).contains("a.zarr: No such file"));
    assert!(home.refuses(&["plugins", "probe", "missing"]).contains("installed are `xor-c`"));
}

#[test]
fn only_the_plugins_of_the_given_library_or_manifest_are_checked() {
    let home = Home::with_trusted_plugin();
    for file in ["libxor.so", "dist/xor-c.toml"] {
        let said = home.says(&["conformance", "plugin", file, "--level", "L1"]);
        assert!(said.starts_with("codec `example.xor`: L1 ("), "{said}");
        assert_eq!(said.lines().filter(|line| line.contains(": L")).count(), 1, "{said}");
    }
    home.0.file("none.so", b"text");
    assert!(home.refuses(&["conformance", "plugin", "none.so"]).contains("not an ELF file"));
}

#[test]
fn a_probe_checks_the_named_version() {
    let home = Home::with_trusted_plugin();
    let wrong = "#define VERSION \"1.10.0\"\n#define AFTER_RUN if (to->len) to->start[0] += 1";
    let newer = home.library_of("newer.so", wrong, "");
    home.says(&["plugins", "pack", &newer, "--output", "newer"]);
    home.says(&["plugins", "install", "newer"]);
    let said = home.says(&["plugins", "probe", "xor-c@1.2.0", "--level", "L1"]);
    assert!(said.ends_with("xor-c passes.\n"), "{said}");
    let error = home.refuses(&["plugins", "probe", "xor-c@1.10.0", "--level", "L1"]);
    assert!(error.contains("xor-c fails"), "{error}");
}

/// A plugin that fails a probe stays in quarantine, also when it is trusted, until a probe passes. This plugin crashes
/// while a file exists.
#[test]
fn a_passed_probe_releases_a_library_from_quarantine() {
    let home = Home::new();
    let trap = home.0.path("trap");
    let library = home.library(
        "libxor.so",
        &format!(
            "#include <unistd.h>\n__attribute__((constructor)) static void start(void) {{ if (access(\"{}\", F_OK) == 0) abort(); }}",
            trap.display()
        ),
    );
    home.says(&["plugins", "pack", &library]);
    home.says(&["plugins", "install", "dist"]);
    home.says(&["plugins", "trust", "xor-c"]);
    fs::write(&trap, "").unwrap();
    home.refuses(&["plugins", "probe", "xor-c"]);
    let list = home.says(&["plugins"]);
    assert!(list.contains("not used: it is in quarantine: in a probe, it aborted the process"), "{list}");
    let error = home.refuses(&["plugins", "trust", "xor-c"]);
    assert!(error.contains("`zarrctl plugins probe xor-c` to release it"), "{error}");
    fs::remove_file(&trap).unwrap();
    let said = home.says(&["plugins", "probe", "xor-c", "--level", "L0"]);
    assert!(said.ends_with("xor-c passes and is out of quarantine.\n"), "{said}");
    assert!(home.says(&["plugins", "show", "example.xor"]).starts_with("codec"));
}

#[test]
fn errors_of_pack_install_and_trust_name_the_remedy() {
    let home = Home::new();
    home.0.file("text.so", b"no library");
    fs::create_dir(home.0.path("empty")).unwrap();
    let refuses = |arguments: &[&str], told: &str| {
        let error = home.refuses(&[&["plugins"], arguments].concat());
        assert!(error.contains(told), "{error}");
    };
    refuses(&["pack", "text.so"], "text.so as a plugin: its library cannot be opened: not an ELF file");
    refuses(&["pack", "nowhere.so"], "nowhere.so: No such file or directory");
    refuses(
        &["install", "empty"],
        "empty does not contain a manifest; package a library with `zarrctl plugins pack LIBRARY`",
    );
    home.0.file("several/b.toml", b"");
    home.0.file("several/a.toml", b"");
    refuses(&["install", "several"], "several manifests; give one of them: several/a.toml, several/b.toml");
    refuses(
        &["install", "text.so"],
        "text.so is not a manifest; if it is a library, package it with `zarrctl plugins pack text.so`",
    );
    refuses(&["install", "nowhere"], "nowhere: No such file or directory");
    refuses(&["trust", "text.so"], "that is a file; first install it with `zarrctl plugins install`");
    refuses(&["probe", "empty"], "empty does not contain a manifest");
    refuses(&["trust", "missing"], "no installed plugin is named `missing`; no plugins are installed");
    let library = home.library("libxor.so", "");
    home.says(&["plugins", "pack", &library]);
    fs::write(home.0.path(&format!("dist/xor-c-1.2.0-{MACHINE}.so")), "another").unwrap();
    refuses(&["install", "dist"], "its library is not the one in its manifest");
    home.says(&["plugins", "pack", &library]);
    home.says(&["plugins", "install", "dist/xor-c.toml"]);
    refuses(&["trust", "example.xor"], "did you mean plugin `xor-c`, which provides it?");
}

#[test]
fn remove_revokes_the_trust_and_deletes_the_files() {
    let home = Home::with_trusted_plugin();
    let files = || home.0.files("home/.local/share/zarr/plugins");
    assert_eq!(files().len(), 2);
    let removed = home.says(&["plugins", "remove", "xor-c"]);
    let lock = home.configuration("plugins.lock");
    assert!(
        removed.starts_with(&format!(
            "xor-c is no longer trusted; updated {}.\nremoved xor-c 1.2.0: ",
            lock.display()
        )),
        "{removed}"
    );
    assert_eq!((files(), fs::read_to_string(&lock).unwrap().contains("xor-c")), (Vec::new(), false));
    assert!(home.refuses(&["plugins", "remove", "xor-c"]).contains("no installed plugin is named `xor-c`"));
    // A plugin that is installed again must be trusted again.
    home.says(&["plugins", "install", "dist"]);
    assert!(home.refuses(&["plugins", "show", "example.xor"]).contains("it is not trusted yet"));
    // A plugin in another folder loses its trust, but its files remain.
    home.says(&["plugins", "trust", "xor-c"]);
    fs::rename(home.plugins(), home.0.path("elsewhere")).unwrap();
    let mut remove = program();
    remove.args(["plugins", "remove", "xor-c"]).env("HOME", home.0.path("home"));
    let said = remove.env("ZARR_PLUGIN_PATH", home.0.path("elsewhere")).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.ends_with("xor-c-1.2.0.toml remains: it is not in your plugin folder.\n"), "{said}");
    assert_eq!(home.0.files("elsewhere").len(), 2);
}

/// If other users may write the lock file, its entries are not trusted: another user could have added them.
#[test]
fn an_unsafe_lock_file_trusts_nothing_and_does_not_prevent_other_reads() {
    let home = Home::with_trusted_plugin();
    let lock = home.configuration("plugins.lock");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o666)).unwrap();
    let output = home.run(&["plugins", "why", "example.xor"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("xor-c-1.2.0.toml: it is not trusted yet"), "{said}");
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(
        warning.contains("warning: no plugins are trusted: ") && warning.contains("chmod go-w"),
        "{warning}"
    );
    assert!(
        home.refuses(&["plugins", "trust", "xor-c"]).contains("is writable by users other than you and root")
    );
    assert!(Path::new(&lock).exists());
}

/// Uses a stored library of `zarr-plugin`.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_plugin_of_abi_version_1_is_refused_with_the_remedy() {
    let home = Home::new();
    fs::create_dir_all(home.plugins()).unwrap();
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-plugin/tests/v1.0");
    for file in ["abi-1-0-c.toml", "abi-1-0-c-1.0.0-linux_amd64.so"] {
        // `fs::copy` would preserve the mode of the checkout.
        fs::write(home.plugins().join(file), fs::read(format!("{stored}/{file}")).unwrap()).unwrap();
    }
    let refused = "it uses version 1 of the plugin ABI, expected version 2; build it again with the crate \
                   `zarr-plugin` or the header `zarr_plugin.h` of this program";
    let listed = home.says(&["plugins"]);
    assert!(listed.contains(refused), "{listed}");
    for verb in ["trust", "probe"] {
        let error = home.refuses(&["plugins", verb, "abi-1-0-c"]);
        assert!(error.contains(refused), "{verb}: {error}");
    }
    assert!(!home.configuration("plugins.lock").exists());
}
