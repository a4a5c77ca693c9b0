//! Builds the plugins of `docs/plugins-bad.md` and compares the result with their rows. The tests of `zarrctl` cover the
//! plugins that need a separate process.

use std::fmt::Display;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use zarr_plugin::host::{Loader, Lock, Policy, Quarantined, Search, platform, sha256};
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::store::{Request, Store, StoreError, get_value, open_described};
use zarr_spec::{ByteRange, Codec, Format, Key, Mode, Output, Prefix, Reading, Registry, Value, json};

use crate::built::{Installed, Manifest, XOR_C, cargo, compiled, in_c, write_crate};
use crate::loaded::create;
use crate::panics::{self, creation, extensions, text};
use crate::stores::STORE_C;
use crate::table;

/// The value of the column "found by", and all messages.
type Found = (&'static str, Vec<String>);

const MANIFEST: &str = "manifest";
const OPENING: &str = "opening";
const CALL: &str = "call";
const COMPILER: &str = "compiler";
const ACCEPTED: &str = "nothing is wrong";

#[test]
fn bad_plugins_are_found_as_documented() {
    table::check(
        |row| row.found_by != "probe",
        CASES,
        |row, make| {
            let (found_by, said) = make();
            let is_said = !said.is_empty() && said.iter().all(|said| row.is_in(said));
            match found_by == row.found_by && is_said {
                true => Ok(()),
                false => Err(format!("{row:?}\n    is found by `{found_by}`, which says {said:#?}")),
            }
        },
    );
}

type Make = fn() -> Found;

const CASES: &[(&str, Make)] = &[
    ("its manifest has another version", || {
        of_manifest(|text| text.replace("manifest_version = 1", "manifest_version = 2"))
    }),
    ("its manifest is a FIFO", || {
        let installed = Installed::new(b"no library", &XOR_C);
        fs::remove_file(installed.manifest()).unwrap();
        assert!(Command::new("mkfifo").arg(installed.manifest()).status().unwrap().success());
        xor(&installed)
    }),
    ("its manifest has an unknown member", || of_manifest(|text| text.replace("license =", "licence ="))),
    ("its manifest declares another major version of the ABI", || {
        xor(&Installed::new(b"no library", &Manifest { major: 1, ..XOR_C }))
    }),
    ("it does not have a library for this machine", || {
        of_manifest(|text| text.replace(&format!("[library.{}]", platform()), "[library.windows_amd64]"))
    }),
    ("it has only WebAssembly, which the program is not built to run", || {
        of_manifest(|text| text.replace(&format!("[library.{}]", platform()), "[library.wasm32]"))
    }),
    ("its manifest names a file outside of its folder", || {
        let elsewhere = Installed::new(b"no library", &XOR_C);
        let absolute = elsewhere.library();
        let paths = ["../libplugin.so", "sub/../../x.so", absolute.to_str().unwrap(), "", "."];
        together(paths.map(|path| xor(&Installed::new(b"no library", &Manifest { path, ..XOR_C }))))
    }),
    ("other users may write its manifest", || {
        let installed = Installed::new(b"no library", &XOR_C);
        open_to_all(&installed.manifest());
        xor(&installed)
    }),
    ("other users may write its folder", || {
        let installed = Installed::new(b"no library", &XOR_C);
        open_to_all(installed.folder.path());
        xor(&installed)
    }),
    ("it is not trusted", || {
        let installed = Installed::new(b"no library", &XOR_C);
        found(&installed.loader(Policy::Pinned), &|_| unreachable!())
    }),
    ("it is not the library that was trusted", || {
        let installed = Installed::new(b"no library", &XOR_C);
        let mut lock = Lock::default();
        lock.trust(installed.pin());
        fs::write(installed.library(), "another").unwrap();
        installed.write_manifest(&XOR_C, &sha256(b"another"));
        let search = Search::nowhere().given(installed.folder.path());
        found(&Loader::new(&search, Policy::Pinned, lock), &|_| unreachable!())
    }),
    ("it crashed when it was tried", || {
        let installed = Installed::new(b"no library", &XOR_C);
        let reason = "when it was tried, it ended the whole program".to_owned();
        let mut lock = Lock::default();
        lock.quarantine(Quarantined { name: "xor-c".to_owned(), sha256: installed.pin().sha256, reason });
        let search = Search::nowhere().given(installed.folder.path());
        found(&Loader::new(&search, Policy::Any, lock), &|_| unreachable!())
    }),
    ("another plugin has its name", || {
        let both = [(); 2].map(|()| Installed::new(b"no library", &XOR_C));
        found(&one_after_the_other(&both), &|_| unreachable!())
    }),
    ("another plugin has its identifier", || {
        let first = Installed::new(b"no library", &XOR_C);
        let later = Installed::new(b"no library", &Manifest { name: "later", ..XOR_C });
        found(&one_after_the_other(&[first, later]), &|_| unreachable!())
    }),
    ("its library is missing", || {
        let installed = Installed::new(b"", &XOR_C);
        fs::remove_file(installed.library()).unwrap();
        xor(&installed)
    }),
    ("a link leads out of its folder", || {
        let elsewhere = Installed::new(&in_c(&[]), &XOR_C);
        let installed = Installed::new(&in_c(&[]), &XOR_C);
        fs::remove_file(installed.library()).unwrap();
        symlink(elsewhere.library(), installed.library()).unwrap();
        xor(&installed)
    }),
    ("other users may write its library", || {
        let installed = Installed::new(&in_c(&[]), &XOR_C);
        open_to_all(&installed.library());
        xor(&installed)
    }),
    ("its library does not have the SHA-256 of the manifest", || {
        let installed = Installed::new(&in_c(&[]), &XOR_C);
        installed.write_manifest(&XOR_C, &"0".repeat(64));
        xor(&installed)
    }),
    ("its library is truncated", || {
        let whole = in_c(&[]);
        let lengths = [whole.len() / 2, 100, 30];
        together(lengths.map(|length| xor(&Installed::new(&whole[..length], &XOR_C))))
    }),
    ("its library is WebAssembly, but its manifest declares a machine", || {
        xor(&Installed::new(b"\0asm\x01\0\0\0", &XOR_C))
    }),
    ("its file is not a library", || {
        together([&b""[..], b"text", b"\x7fEL"].map(|bytes| xor(&Installed::new(bytes, &XOR_C))))
    }),
    ("its library is for another machine", || {
        // The first library is for another processor, the second one for 32-bit words.
        together([(18, 0xf7), (4, 1)].map(|(place, byte)| {
            let mut library = in_c(&[]);
            library[place] = byte;
            xor(&Installed::new(&library, &XOR_C))
        }))
    }),
    ("it needs a library that is missing", || {
        let folder = tempfile::tempdir().unwrap();
        let needed = folder.path().join("libzarr-nowhere.so");
        let source = folder.path().join("needed.c");
        fs::write(&source, "int zarr_nowhere(void) { return 1; }").unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-Wl,-soname,libzarr-nowhere.so", "-o"]).arg(&needed).arg(&source);
        assert!(compiler.status().unwrap().success());
        let needs = format!("-Wl,--no-as-needed,{}", needed.display());
        xor(&Installed::new(&compiled("xor.c", &[], &[&needs]), &XOR_C))
    }),
    ("its library has its own search folders", || {
        let plugin = compiled("xor.c", &[], &["-Wl,-rpath,$ORIGIN,--enable-new-dtags"]);
        xor(&Installed::new(&plugin, &XOR_C))
    }),
    ("it needs a function that no library has", || {
        xor(&Installed::new(&in_c(&["IN_RUN=extern void zarr_nowhere(void); zarr_nowhere()"]), &XOR_C))
    }),
    ("its library does not export the entry", || in_xor("NO_SYMBOL")),
    ("its library declares another major version of the ABI", || in_xor("MAJOR=3")),
    ("it refuses this program", || in_xor("REFUSES")),
    ("it does not describe itself", || in_xor("NULL_PLUGIN")),
    ("it lists too many items", || in_xor("MANY_ITEMS")),
    ("one of its structs is shorter than its first member", || in_xor("TINY")),
    ("it refuses with a text of 2^60 bytes", || in_xor("LONG_MESSAGE")),
    ("it lists a text of 2^60 bytes", || in_xor("LONG_NAME")),
    ("one of its names is not UTF-8", || in_xor("NOT_UTF8")),
    ("its examples are not JSON", || in_xor("NO_JSON")),
    ("one of its extensions has no functions", || in_xor("NO_VTABLE")),
    ("its manifest names another plugin or version", || {
        xor(&Installed::new(&in_c(&[]), &Manifest { version: "1.3.0", ..XOR_C }))
    }),
    ("it lacks an item of its manifest", || {
        let more = format!("{}[[provides]]\nkind = 'codec'\nname = 'example.more'\n", XOR_C.provides);
        let kind = XOR_C.provides.replace("codec", "data_type");
        let [more, kind] =
            [&more, &kind].map(|it| Installed::new(&in_c(&[]), &Manifest { provides: it, ..XOR_C }));
        let of_kind = found(&kind.loader(Policy::Any), &|registry| {
            let document = DataTypeDocument::named("example.xor");
            text(registry.data_type(Format::V3, &document, &Reading::new(Mode::Strict)))
        });
        together([xor(&more), of_kind])
    }),
    ("it uses a newer minor version of the ABI, with unknown kinds of extensions", || {
        let installed = Installed::new(&in_c(&["MINOR=9", "NEWER"]), &XOR_C);
        let (found_by, said) = xor(&installed);
        assert_eq!((found_by, &said[..]), (CALL, &["decoded".to_owned()][..]));
        let loader = installed.loader(Policy::Any);
        let library = loader.open(&loader.candidates()[0]).unwrap();
        assert_eq!((library.abi(), library.items().count()), ((2, 9), 1));
        (ACCEPTED, said)
    }),
    ("its crate is built with `panic = \"abort\"`", || {
        let folder = tempfile::tempdir().unwrap();
        write_crate(folder.path(), "example-extensions", "extensions.rs", "[profile.dev]\npanic = 'abort'\n");
        let output = cargo(folder.path()).output().unwrap();
        assert!(!output.status.success());
        (COMPILER, vec![String::from_utf8(output.stderr).unwrap()])
    }),
    ("a codec reports more written bytes than its output can hold", || in_xor("TOO_MUCH")),
    ("a codec ignores that its output is full", || in_xor("IGNORES_RESERVE")),
    ("a codec lacks a function that its form needs", || in_xor("NO_DECODE")),
    ("a codec has an unknown form", || in_xor("FORM=99")),
    ("a checksum has nearly 2^32 bytes", || in_xor("FORM=ZARR_FORM_CHECKSUM")),
    ("a codec has nearly 2^32 chains", || in_xor("FORM=ZARR_FORM_COMPOSITE")),
    ("a permutation is invalid", || in_xor("NO_VALUE")),
    ("a function fails with an unknown status and without a text", || in_xor("UNKNOWN_STATUS")),
    ("a function fails with a text of 2^60 bytes", || in_xor("LONG_ERROR")),
    ("a function fails with bytes at NULL", || in_xor("NULL_ERROR")),
    ("a codec panics", || (CALL, panics::in_codecs())),
    ("a memory layout panics", || (CALL, panics::in_layouts())),
    ("a data type panics", || (CALL, panics::in_data_types())),
    ("a chunk grid panics", || (CALL, panics::in_grids())),
    ("a chunk key encoding panics", || (CALL, panics::in_key_encodings())),
    ("a metadata encoding panics", || (CALL, panics::in_metadata_encodings())),
    ("a generic extension panics", || (CALL, panics::in_extensions())),
    ("a storage transformer panics", || (CALL, panics::in_transformers())),
    ("a store panics", || (CALL, panics::in_stores())),
    ("a chunk key encoding cannot decide whether a key belongs to a chunk", || {
        let registry = extensions();
        let reading = Reading::new(Mode::Strict);
        let plugin = registry.chunk_key_encodings().find(Format::V3, "example.dashes", &reading).unwrap();
        let encoding = (plugin.create)(&creation(registry, &reading, &Value::Null)).unwrap();
        (CALL, vec![encoding.decode("k1-2?", 2).unwrap_err().to_string()])
    }),
    ("a chunk of a grid is empty", || {
        let registry = extensions();
        let reading = Reading::new(Mode::Strict);
        let plugin = registry.chunk_grids().find(Format::V3, "example.halves", &reading).unwrap();
        let odd = (plugin.create)(&creation(registry, &reading, &Value::Null), &[1]).unwrap();
        (CALL, vec![odd.chunk_range(0, 1).unwrap_err().to_string()])
    }),
    ("a store fails", || in_store(&["FAILS=ZARR_IO"], &|store| value(store, "a"))),
    ("a store returns more or fewer bytes than the value has", || {
        together([
            in_store(&["OTHER_SIZE"], &|store| value(store, "a")),
            in_store(&["BYTES_OF_NOTHING"], &|store| value(store, "b")),
        ])
    }),
    ("a store reports more written bytes than its output can hold", || {
        in_store(&["HUGE_LENGTH"], &|store| value(store, "a"))
    }),
    ("a store lists an invalid key", || in_store(&["NO_KEY"], &|store| store.list().unwrap_err())),
    ("a store lists keys outside the prefix", || {
        in_store(&["OUTSIDE"], &|store| store.list_sorted(&Prefix::new("d/").unwrap()).unwrap_err())
    }),
    ("a store delivers one value of a batch twice, or none", || {
        together([&["BATCHES"][..], &["BATCHES", "ENDS_EARLY"]].map(|macros| {
            in_store(macros, &|store| {
                let requests = vec![Request::new(key("a"), ByteRange::Full, 10); 3];
                store.get_many(requests, 100).find_map(|(_, got)| got.err()).unwrap()
            })
        }))
    }),
];

fn together<const N: usize>(found: [Found; N]) -> Found {
    let found_by = found[0].0;
    assert!(found.iter().all(|(other, _)| *other == found_by), "{found:?}");
    (found_by, found.into_iter().flat_map(|(_, said)| said).collect())
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
}

fn one_after_the_other(installed: &[Installed; 2]) -> Loader {
    let [first, later] = installed;
    let search = Search::nowhere().given(first.folder.path()).given(later.folder.path());
    Loader::new(&search, Policy::Any, Lock::default())
}

/// Returns the step at which the last plugin of a loader fails, and the message. `call` uses the plugin and returns the
/// message of the failure.
fn found(loader: &Loader, call: &dyn Fn(&Registry) -> String) -> Found {
    let mut registry = Registry::empty();
    if let Some(passed_over) = loader.register(&mut registry).pop() {
        return (MANIFEST, vec![passed_over.refusal.to_string()]);
    }
    match loader.open(loader.candidates().last().unwrap()) {
        // The message of `call` has the same reason, and the name of the plugin.
        Err(refusal) => {
            let said = call(&registry);
            let manifest = loader.candidates()[0].manifest().unwrap();
            let expected = format!("plugin {} {} is not used: {refusal}", manifest.name, manifest.version);
            assert!(said.contains(&expected), "{said}\nand not\n{expected}");
            (OPENING, vec![said])
        }
        Ok(_) => (CALL, vec![call(&registry)]),
    }
}

/// Decodes with the codec of `xor.c`.
fn xor(installed: &Installed) -> Found {
    let decode = |registry: &Registry| {
        let codec = match create(registry, "example.xor", &json!({"key": 1})) {
            Ok(Codec::BytesToBytes(codec)) => codec,
            Ok(other) => panic!("{other:?}"),
            Err(error) => return error.to_string(),
        };
        let mut output = Output::exactly(100);
        match codec.decode(&[1; 100], &mut output) {
            Ok(()) => {
                assert_eq!(output.written(), [0; 100]);
                "decoded".to_owned()
            }
            Err(error) => {
                assert_eq!(output.written(), []);
                error.to_string()
            }
        }
    };
    found(&installed.loader(Policy::Any), &decode)
}

fn in_xor(wrong: &str) -> Found {
    xor(&Installed::new(&in_c(&[wrong]), &XOR_C))
}

/// Uses `xor.c` with a changed manifest.
fn of_manifest(change: impl FnOnce(String) -> String) -> Found {
    let installed = Installed::new(b"no library", &XOR_C);
    let text = fs::read_to_string(installed.manifest()).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text);
    fs::write(installed.manifest(), changed).unwrap();
    xor(&installed)
}

fn in_store<E: Display>(macros: &[&str], call: &dyn Fn(&dyn Store) -> E) -> Found {
    let installed = Installed::new(&compiled("store.c", macros, &[]), &STORE_C);
    found(&installed.loader(Policy::Any), &|registry| {
        let store = open_described(registry, &json!({"type": "two"})).unwrap();
        call(&*store).to_string()
    })
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn value(store: &dyn Store, at: &str) -> StoreError {
    get_value(store, &key(at), 10).unwrap_err()
}
