//! Malicious and faulty modules. Each causes an error, and the program continues.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use tempfile::TempDir;
use zarr_conformance::suite::highest;
use zarr_plugin::abi::describe::Described;
use zarr_plugin::abi::{self, CodecInstance, CodecVtable, Item, Output as Lent, Plugin, Str};
use zarr_plugin::host::{Loader, Lock, Policy, Refusal, Search, platform, sha256};
use zarr_plugin_wasm::{ENCODED_PER_BYTE, GUEST_MEMORY, MAX_MODULE, MEMORY_PER_BYTE};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::output::Output;
use zarr_spec::{Codec, CodecError, Creation, Format, Mode, Reading, Registry, Representation, Size, Value};

/// Addresses in the memory of the modules.
const PLUGIN: u32 = 1024;
const ITEM: u32 = 2048;
const VTABLE: u32 = 3072;
const ITEMS: u32 = 4096;
const TEXTS: u32 = 5120;

/// A module with one codec. It is correct except for the changes of a test.
pub(crate) struct Module<'a> {
    /// The changed members of `zarr_plugin`. `item` has the changed members of `zarr_item`.
    pub(crate) plugin: &'a [(&'a str, u64)],
    pub(crate) item: &'a [(&'a str, u64)],
    pub(crate) imports: &'a str,
    pub(crate) memory: &'a str,
    pub(crate) table: &'a str,
    pub(crate) entry: &'a str,
    pub(crate) create: &'a str,
    pub(crate) decode: &'a str,
    pub(crate) more: &'a str,
}

pub(crate) const GOOD: Module<'static> = Module {
    plugin: &[],
    item: &[],
    imports: "",
    memory: r#"(memory (export "memory") 1)"#,
    table: r#"(table (export "__indirect_function_table") 8 funcref)"#,
    entry: "(i32.store (local.get $out) (i32.const 1024)) (i32.const 0)",
    create: "(i32.store (i32.add (local.get $out) (i32.const FORM)) (i32.const 3)) (i32.const 0)",
    decode: "(i32.const 0)",
    more: "",
};

impl Module<'_> {
    fn wat(&self) -> String {
        let name = "hostile";
        let version = "1.0.0";
        let codec = "example.hostile";
        let mut texts = String::new();
        let mut text = |text: &str| {
            let at = u64::from(TEXTS) + texts.len() as u64;
            texts.push_str(text);
            at | (text.len() as u64) << 32
        };
        let mut plugin = vec![
            ("struct_size", Plugin::WASM32.size as u64),
            ("abi_major", u64::from(abi::ABI_MAJOR)),
            ("name", text(name)),
            ("version", text(version)),
            ("items", ITEMS.into()),
            ("n_items", 1),
        ];
        let mut item = vec![
            ("struct_size", Item::WASM32.size as u64),
            ("kind", abi::CODEC.into()),
            ("name", text(codec)),
            ("vtable", VTABLE.into()),
        ];
        plugin.extend_from_slice(self.plugin);
        item.extend_from_slice(self.item);
        let vtable =
            [("struct_size", CodecVtable::WASM32.size as u64), ("create", 1), ("encode", 2), ("decode", 2)];
        let parts = [
            (PLUGIN, bytes::<Plugin>(&plugin)),
            (ITEM, bytes::<Item>(&item)),
            (VTABLE, bytes::<CodecVtable>(&vtable)),
            (ITEMS, ITEM.to_le_bytes().to_vec()),
            (TEXTS, texts.into_bytes()),
        ];
        let mut data = String::new();
        for (at, bytes) in parts {
            let bytes: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            writeln!(data, "(data (i32.const {at}) \"{bytes}\")").unwrap();
        }
        let Self { imports, memory, table, entry, create, decode, more, .. } = self;
        let source = format!(
            "(module {imports} {memory} {table} (elem (i32.const 1) $create $decode) {data}
            (func (export \"zarr_plugin_v2\") (param $host i32) (param $out i32) (param $err i32) (result i32) {entry})
            (func $create (param $context i32) (param $creation i32) (param $decoded i32) (param $out i32) (param $err i32)
                (result i32) {create})
            (func $decode (param $this i32) (param $array i32) (param $from i32) (param $call i32) (param $to i32)
                (param $err i32) (result i32) {decode})
            {more})"
        );
        // Replaces placeholders with the offsets of members in the ABI.
        let place = |member: Option<std::ops::Range<usize>>| member.unwrap().start.to_string();
        source
            .replace("FORM", &place(CodecInstance::WASM32.member("form")))
            .replace("TO_START", &place(Lent::WASM32.member("start")))
            .replace("TO_LEN", &place(Lent::WASM32.member("len")))
            .replace("TO_CAPACITY", &place(Lent::WASM32.member("capacity")))
            .replace("TO_RESERVE", &place(Lent::WASM32.member("reserve")))
            .replace("STR_PTR", &place(Str::WASM32.member("ptr")))
    }

    pub(crate) fn library(&self) -> Vec<u8> {
        wat::parse_str(self.wat()).unwrap()
    }

    pub(crate) fn refusal(&self) -> Refusal {
        refusal_of(&self.library())
    }

    /// Returns the codec.
    fn codec(&self) -> Arc<dyn BytesToBytesCodec> {
        self.create().unwrap()
    }

    pub(crate) fn create(&self) -> Result<Arc<dyn BytesToBytesCodec>, CodecError> {
        let folder = installed(&self.library());
        let mut registry = Registry::empty();
        assert_eq!(loader(&folder, Policy::Any).register(&mut registry), []);
        let reading = Reading::new(Mode::Strict);
        let format = Format::V3;
        let identifier = "example.hostile";
        let plugin = registry.codecs().find(format, identifier, &reading).unwrap();
        let creation = Creation::new(identifier, &Value::Null, format, &registry, &reading);
        match (plugin.create)(&creation, &Representation::Bytes(Size::Unknown))? {
            Codec::BytesToBytes(codec) => Ok(codec),
            other => panic!("another form: {other:?}"),
        }
    }

    /// Returns the error of decoding some bytes to at most 100 bytes.
    pub(crate) fn error(&self) -> String {
        self.codec().decode(&[1, 2, 3], &mut Output::at_most(100)).unwrap_err().to_string()
    }
}

/// Returns a struct as it lies in the memory of a module.
fn bytes<T: Described>(members: &[(&str, u64)]) -> Vec<u8> {
    let mut bytes = vec![0; T::WASM32.size];
    for (member, value) in members {
        let place = T::WASM32.member(member).unwrap();
        let len = place.len();
        bytes[place].copy_from_slice(&value.to_le_bytes()[..len]);
    }
    bytes
}

fn installed(library: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hostile.wasm"), library).unwrap();
    let manifest = format!(
        "manifest_version = 1\nname = 'hostile'\nversion = '1.0.0'\nlicense = 'MIT'\nabi = {{ major = 2, minor = 0 }}\n\
         library.wasm32 = {{ path = 'hostile.wasm', sha256 = '{}' }}\n\
         [[provides]]\nkind = 'codec'\nname = 'example.hostile'\n",
        sha256(library)
    );
    fs::write(folder.path().join("hostile.toml"), manifest).unwrap();
    folder
}

fn loader(folder: &TempDir, policy: Policy) -> Loader {
    Loader::new(&Search::nowhere().given(folder.path()), policy, Lock::default())
}

pub(crate) fn refusal_of(library: &[u8]) -> Refusal {
    let folder = installed(library);
    let loader = loader(&folder, Policy::Any);
    loader.open(&loader.candidates()[0]).unwrap_err()
}

/// The unchanged module of the other tests works.
#[test]
fn a_correct_module_is_opened_and_runs() {
    let decode = "(call_indirect (param i32 i32) (result i32) (local.get $to) (i32.const 90)
            (i32.load (i32.add (local.get $to) (i32.const TO_RESERVE))))
        (i32.store8 (i32.load (i32.add (local.get $to) (i32.const TO_START)))
            (i32.load8_u (i32.load (local.get $from))))
        (i32.store (i32.add (local.get $to) (i32.const TO_LEN)) (i32.const 1))";
    let codec = Module { decode, ..GOOD }.codec();
    let mut output = Output::at_most(100);
    codec.decode(&[7, 2, 3], &mut output).unwrap();
    assert_eq!(output.written(), [7]);
}

#[test]
fn modules_require_trust_like_native_libraries() {
    let folder = installed(&GOOD.library());
    let loader = loader(&folder, Policy::Pinned);
    assert_eq!(loader.judge(&loader.candidates()[0]), Err(Refusal::Untrusted("hostile".to_owned())));
    let mut lock = Lock::default();
    lock.trust(loader.pin(&loader.candidates()[0], "2026-11-22").unwrap());
    let trusting = Loader::new(&Search::nowhere().given(folder.path()), Policy::Pinned, lock);
    assert!(trusting.open(&trusting.candidates()[0]).is_ok());
}

#[test]
fn a_native_library_takes_precedence_over_a_module() {
    let folder = installed(&GOOD.library());
    let native = b"no library";
    fs::write(folder.path().join("native.so"), native).unwrap();
    let manifest = folder.path().join("hostile.toml");
    let both = format!(
        "library.{} = {{ path = 'native.so', sha256 = '{}' }}\nlibrary.wasm32",
        platform(),
        sha256(native)
    );
    let text = fs::read_to_string(&manifest).unwrap().replace("library.wasm32", &both);
    fs::write(&manifest, text).unwrap();
    let loader = loader(&folder, Policy::Any);
    let refusal = loader.open(&loader.candidates()[0]).unwrap_err();
    assert_eq!(refusal, Refusal::Open("not an ELF file".to_owned()));
    // A library that cannot be opened cannot be trusted either.
    assert_eq!(loader.pin(&loader.candidates()[0], "2026-11-22").unwrap_err(), refusal);
}

/// A library runs only as the kind that its manifest declares: native code never runs in place of WebAssembly.
#[test]
fn a_native_library_is_not_a_module() {
    let machine = fs::read(std::env::current_exe().unwrap()).unwrap();
    let refusal = refusal_of(&machine[..1 << 20]);
    assert!(matches!(refusal, Refusal::Open(_)), "{refusal}");
}

#[test]
fn a_module_with_imports_is_refused_with_their_names() {
    let imports = r#"(import "env" "puts" (func)) (import "wasi_snapshot_preview1" "fd_write" (func))"#;
    let refusal = Module { imports, ..GOOD }.refusal();
    let what = "it imports `env.puts`, `wasi_snapshot_preview1.fd_write`, but a plugin must not have imports";
    assert_eq!(refusal, Refusal::Open(what.to_owned()));
}

#[test]
fn a_module_without_a_required_export_is_refused() {
    let export = "(export \"zarr_plugin_v2\")";
    let without = wat::parse_str(GOOD.wat().replace(export, "")).unwrap();
    assert_eq!(refusal_of(&without), Refusal::NoSymbol);
    let refusal = Module { memory: "(memory 1)", ..GOOD }.refusal();
    assert_eq!(refusal, Refusal::Open("it does not export its memory as `memory`".to_owned()));
    let refusal = Module { table: "(table 8 funcref)", ..GOOD }.refusal();
    let what = "it does not export `__indirect_function_table`: link it with --export-table";
    assert_eq!(refusal, Refusal::Open(what.to_owned()));
    let table = r#"(table (export "__indirect_function_table") 8 8 funcref)"#;
    let what = "its function table cannot grow: link it with --growable-table";
    assert_eq!(Module { table, ..GOOD }.refusal(), Refusal::Failed(what.to_owned()));
    let other = GOOD.wat().replace("(param $host i32) (param $out i32) (param $err i32)", "(param $out i64)");
    let other = other.replace("(local.get $out) (i32.const 1024)", "(i32.const 0) (i32.const 1024)");
    let what = "its entry function has another signature";
    assert_eq!(refusal_of(&wat::parse_str(other).unwrap()), Refusal::Failed(what.to_owned()));
}

#[test]
fn bytes_that_are_not_a_module_are_refused() {
    let whole = GOOD.library();
    for bytes in [&whole[..whole.len() / 2], &whole[..9], b"\0asm", b"", b"text"] {
        let refusal = refusal_of(bytes);
        assert!(matches!(refusal, Refusal::Open(_)), "{refusal}");
    }
    let refusal = refusal_of(&vec![0; MAX_MODULE + 1]);
    let what = format!("it has {} bytes; the limit for modules is {MAX_MODULE}", MAX_MODULE + 1);
    assert_eq!(refusal, Refusal::Open(what));
}

#[test]
fn another_major_version_is_refused() {
    assert_eq!(Module { plugin: &[("abi_major", 3)], ..GOOD }.refusal(), Refusal::AbiMajor(3));
}

#[test]
fn the_description_of_a_library_is_limited_and_checked() {
    let far = 0xffff_0000_u64;
    type Members = &'static [(&'static str, u64)];
    let plugins: [(Members, &str); 4] = [
        (&[("n_items", 5000)], "it lists 5000 items or aliases; the limit is 4096"),
        (&[("items", 0xffff_0000)], "it points to 4 bytes at 4294901760, but its memory has 131072 bytes"),
        (
            &[("name", 0xffff_0000 | 16 << 32)],
            "it points to 16 bytes at 4294901760, but its memory has 131072 bytes",
        ),
        (&[("name", 0xffff_ffff << 32)], "it has a text of 4294967295 bytes; the limit is 1048576"),
    ];
    for (plugin, what) in plugins {
        assert_eq!(Module { plugin, ..GOOD }.refusal(), Refusal::Failed(what.to_owned()));
    }
    let short: Members = &[("struct_size", 3)];
    let what = Refusal::Failed("the declared size of a struct is 3 bytes".to_owned());
    assert_eq!(Module { plugin: short, ..GOOD }.refusal(), what);
    let aliases: Members = &[("aliases", 0xffff_fff0), ("n_aliases", 100)];
    let refusal = Module { item: aliases, ..GOOD }.refusal();
    assert!(matches!(refusal, Refusal::Failed(_)), "{refusal}");
    // One text a hundred times exceeds the total size of all texts.
    let many: Members = &[("aliases", 8192), ("n_aliases", 100)];
    let mut list = String::from("(data (i32.const 8192) \"");
    (0..100).for_each(|_| list.push_str("\\00\\00\\00\\00\\00\\00\\01\\00"));
    list.push_str("\")");
    let refusal = Module { item: many, more: &list, ..GOOD }.refusal();
    let what = "its texts have more than 4194304 bytes in total";
    assert_eq!(refusal, Refusal::Failed(what.to_owned()));
    let entry = format!("(i32.store (local.get $out) (i32.const {far})) (i32.const 0)");
    let what = "it points to 4 bytes at 4294901760, but its memory has 131072 bytes";
    assert_eq!(Module { entry: &entry, ..GOOD }.refusal(), Refusal::Failed(what.to_owned()));
}

#[test]
fn an_endless_loop_is_an_error_that_names_the_limit() {
    let forever = "(loop $again (br $again)) (unreachable)";
    let error = Module { decode: forever, ..GOOD }.error();
    // The call has 3 bytes of input and 100 bytes of output.
    let limit =
        "plugin hostile 1.0.0 failed: it used more than 100103000 units of fuel, the limit of this call";
    assert!(error.contains(limit), "{error}");
    for module in [
        Module { entry: forever, ..GOOD },
        Module { more: "(func $start (loop $again (br $again))) (start $start)", ..GOOD },
        Module { more: "(func (export \"_initialize\") (loop $again (br $again)))", ..GOOD },
    ] {
        let refusal = module.refusal();
        assert!(refusal.to_string().contains("it used more than 100000000 units of fuel"), "{refusal}");
    }
    let error = Module { create: forever, ..GOOD }.create().unwrap_err().to_string();
    assert!(error.contains("units of fuel"), "{error}");
}

/// The loop only calls a function. Each call takes time to clear 4000 local variables.
#[test]
fn endless_calls_are_limited_in_time() {
    let locals = "i64 ".repeat(4000);
    let more = format!("(func $slow (local {locals}))");
    let error =
        Module { decode: "(loop $again (call $slow) (br $again)) (unreachable)", more: &more, ..GOOD }
            .error();
    assert!(error.contains("units of fuel"), "{error}");
}

#[test]
fn a_memory_bomb_is_an_error_and_the_host_does_not_grow() {
    let bomb = "(loop $again (drop (memory.grow (i32.const 16))) (br $again)) (unreachable)";
    let codec = Module { decode: bomb, ..GOOD }.codec();
    let mut error = None;
    let most = highest(|| error = codec.decode(&[1, 2, 3], &mut Output::at_most(100)).err()).unwrap();
    let limit = GUEST_MEMORY + 103 * MEMORY_PER_BYTE;
    let error = error.unwrap().to_string();
    assert!(error.contains(&format!("it asked for more memory than {limit} bytes")), "{error}");
    assert!(most < 3 * limit, "{most} bytes");
    let memory = r#"(memory (export "memory") 2000)"#;
    let refusal = Module { memory, ..GOOD }.refusal().to_string();
    assert!(refusal.contains(&format!("it asked for more memory than {GUEST_MEMORY} bytes")), "{refusal}");
    let table = r#"(table (export "__indirect_function_table") 100000000 funcref)"#;
    let refusal = Module { table, ..GOOD }.refusal();
    assert!(matches!(refusal, Refusal::Failed(_)), "{refusal}");
}

#[test]
fn endless_recursion_is_an_error() {
    let more = "(func $down (param i32) (result i32) (i32.add (call $down (local.get 0)) (i32.const 1)))";
    let error = Module { decode: "(call $down (i32.const 0))", more, ..GOOD }.error();
    assert!(error.contains("it was stopped: call stack exhausted"), "{error}");
}

/// The guest that trapped is replaced by another guest.
#[test]
fn a_trap_fails_only_one_chunk() {
    let decode = "(if (i32.load8_u (i32.load (local.get $from))) (then (unreachable))) (i32.const 0)";
    let codec = Module { decode, ..GOOD }.codec();
    for _ in 0..3 {
        let error = codec.decode(&[1], &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Plugin { .. }), "{error}");
        assert!(error.to_string().starts_with("plugin hostile 1.0.0 failed: it was stopped: "), "{error}");
        codec.decode(&[0], &mut Output::at_most(100)).unwrap();
    }
}

#[test]
fn the_reported_output_is_checked_against_the_lent_memory() {
    let past = "(i32.store (i32.add (local.get $to) (i32.const TO_CAPACITY)) (i32.const -1))
        (i32.store (i32.add (local.get $to) (i32.const TO_LEN)) (i32.const 101)) (i32.const 0)";
    let error = Module { decode: past, ..GOOD }.error();
    assert!(error.contains("it reports 101 written bytes, but the capacity is 100"), "{error}");
    // The guest stores another address in the output. This has no effect, because the host reads only the lent memory.
    let moved = "(i32.store (i32.add (local.get $to) (i32.const TO_START)) (i32.const -16))
        (i32.store (i32.add (local.get $to) (i32.const TO_LEN)) (i32.const 4)) (i32.const 0)";
    let mut output = Output::at_most(100);
    Module { decode: moved, ..GOOD }.codec().decode(&[1], &mut output).unwrap();
    assert_eq!(output.written().len(), 4);
    let reserve = |to: &str, more: &str| {
        format!(
            "(call_indirect (param i32 i32) (result i32) (local.get {to}) (i32.const {more})
                (i32.load (i32.add (local.get $to) (i32.const TO_RESERVE))))"
        )
    };
    for more in ["101", "-1"] {
        let decode = format!("(drop {}) (i32.const 0)", reserve("$to", more));
        let codec = Module { decode: &decode, ..GOOD }.codec();
        let error = codec.decode(&[1], &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 100), "{error}");
    }
    // Calls `reserve` for an output that the host did not lend.
    let error = Module { decode: &reserve("$from", "1"), ..GOOD }.error();
    assert!(error.contains("it gives no reason"), "{error}");
}

/// The engine knows the size of a chunk, but not the size of its encoded form.
#[test]
fn the_encoded_size_is_limited_by_the_input() {
    let decode = "(call_indirect (param i32 i32) (result i32) (local.get $to) (i32.const 1000000000)
        (i32.load (i32.add (local.get $to) (i32.const TO_RESERVE))))";
    let codec = Module { decode, ..GOOD }.codec();
    let mut error = None;
    let most = highest(|| error = codec.encode(&[1], &mut Output::at_most(usize::MAX)).err()).unwrap();
    let limit = GUEST_MEMORY + ENCODED_PER_BYTE;
    let error = error.unwrap();
    assert!(matches!(error, CodecError::TooLarge(found) if found.limit == limit), "{error}");
    assert!(most < 10 << 20, "{most} bytes");
}

#[test]
fn messages_outside_the_memory_are_errors() {
    let error = |ptr: &str, len: &str, release: &str| {
        let decode = format!(
            "(i32.store (local.get $err) (i32.const {ptr}))
            (i32.store offset=4 (local.get $err) (i32.const {len}))
            (i32.store offset=12 (local.get $err) (i32.const {release})) (i32.const 2)"
        );
        Module { decode: &decode, ..GOOD }.error()
    };
    let far = error("0xffff0000", "1000", "0");
    assert!(far.contains("it points to 1000 bytes at 4294901760, but its memory has"), "{far}");
    assert!(error("16", "-1", "0").contains("it returned a text of 4294967295 bytes"));
    assert!(error("0", "5", "0").contains("it returned 5 bytes at NULL"));
    assert!(error("5120", "7", "0").contains("plugin hostile 1.0.0: hostile"));
    assert!(error("5120", "7", "1").contains("its function `release` has another signature"));
    assert!(error("5120", "7", "7").contains("its function `release` is number 7, which does not exist"));
    assert!(error("5120", "7", "999").contains("its function `release` is number 999, which does not exist"));
}
