//! Search folders of plugins, and trust.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use zarr_plugin::host::{
    Loader, Lock, LockError, LockFiles, Manifest as Parsed, Policy, Quarantined, Refusal, Search, Source,
    sha256,
};
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{Codec, CodecPlugin, Format, Identifiers, Mode, Output, Reading, Registry, json};

use crate::built::{Installed, Manifest, XOR_C, in_c, in_rust};
use crate::loaded::{create, extensions};

fn with(installed: &Installed, policy: Policy, lock: Lock) -> Loader {
    Loader::new(&Search::nowhere().given(installed.folder.path()), policy, lock)
}

fn pinned(installed: &Installed) -> Lock {
    let mut lock = Lock::default();
    lock.trust(installed.pin());
    lock
}

#[test]
fn nothing_is_loaded_by_default() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let loader = with(&installed, Policy::default(), pinned(&installed));
    assert_eq!(loader.judge(&loader.candidates()[0]), Err(Refusal::Off));
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry)[0].refusal, Refusal::Off);
    assert_eq!(registry.codecs().iter().count(), 0);
}

#[test]
fn a_pinned_library_is_loaded_and_another_one_is_not() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let unpinned = with(&installed, Policy::Pinned, Lock::default());
    assert_eq!(unpinned.judge(&unpinned.candidates()[0]), Err(Refusal::Untrusted("xor-c".into())));
    let lock = pinned(&installed);
    let loader = with(&installed, Policy::Pinned, lock.clone());
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    // Replaces the pinned library by another library, and writes a manifest that matches the new library.
    let other = in_c(&["MINOR=7"]);
    fs::write(installed.library(), &other).unwrap();
    installed.write_manifest(&XOR_C, &sha256(&other));
    let loader = with(&installed, Policy::Pinned, lock.clone());
    let changed = Refusal::Changed { pinned: lock.pins[0].sha256.clone(), found: sha256(&other) };
    assert_eq!(loader.judge(&loader.candidates()[0]), Err(changed));
}

/// A pin records the version of a plugin that a user trusts.
#[test]
fn a_pin_has_the_present_hash_of_the_library() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let loader = installed.loader(Policy::Pinned);
    assert_eq!(loader.pin(&loader.candidates()[0], "2026-11-22").unwrap(), installed.pin());
    fs::write(installed.library(), "something else").unwrap();
    let refused = loader.pin(&loader.candidates()[0], "2026-11-22").unwrap_err();
    assert!(matches!(refused, Refusal::OtherBytes { .. }), "{refused}");
}

#[test]
fn trusted_folders_do_not_need_pins_under_the_policy_trust_dirs() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let search = Search::nowhere().given(installed.folder.path());
    let trusted = [installed.folder.path()];
    let loader = Loader::trusting(&search, Policy::TrustDirs, Lock::default(), &trusted);
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    for (policy, trusted) in [(Policy::Pinned, &trusted[..]), (Policy::TrustDirs, &[])] {
        let loader = Loader::trusting(&search, policy, Lock::default(), trusted);
        assert_eq!(loader.judge(&loader.candidates()[0]), Err(Refusal::Untrusted("xor-c".into())));
    }
}

#[test]
fn a_policy_can_only_be_tightened() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let loader = installed.loader(Policy::Pinned);
    let error = loader.tighten(Policy::Any).unwrap_err().to_string();
    assert_eq!(error, "cannot relax the policy from Pinned to Any; a loader accepts only a stricter policy");
    // A plugin that was registered under `Policy::Any` is not opened under the stricter policy.
    let loader = installed.loader(Policy::Any);
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    loader.tighten(Policy::Off).unwrap();
    let error = create(&registry, "example.xor", &zarr_spec::json!({"key": 1})).unwrap_err().to_string();
    assert_eq!(error, "plugin xor-c 1.2.0 is not used: loading plugins is disabled (policy `off`)");
}

#[test]
fn a_quarantined_library_is_never_loaded() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let mut lock = pinned(&installed);
    let sha256 = lock.pins[0].sha256.clone();
    lock.quarantine(Quarantined { name: "xor-c".into(), sha256, reason: "it crashed in `decode`".into() });
    let loader = with(&installed, Policy::Any, lock);
    let refusal = Refusal::Quarantined("it crashed in `decode`".into());
    assert_eq!(loader.judge(&loader.candidates()[0]), Err(refusal));
}

#[test]
fn the_lock_file_round_trips_and_damaged_ones_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plugins.lock");
    assert_eq!(Lock::read(&path).unwrap(), Lock::default());
    let mut lock = pinned(&installed);
    lock.trust(installed.pin());
    lock.quarantine(Quarantined { name: "x".into(), sha256: "1".into(), reason: "why".into() });
    lock.write(&path).unwrap();
    assert_eq!(Lock::read(&path).unwrap(), lock);
    assert_eq!(lock.pins.len(), 1);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&path, "[[plugin]]\nname = 'x'\nmore = 1\n").unwrap();
    assert!(matches!(Lock::read(&path), Err(LockError::Invalid { .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(Lock::read(&path), Err(LockError::WritableByOthers { .. })));
}

#[test]
fn the_quarantine_has_its_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let configuration =
        |name: &str| (name == "XDG_CONFIG_HOME").then(|| folder.path().as_os_str().to_owned());
    let files = LockFiles::from_variables(configuration).unwrap();
    assert_eq!(files.lock, folder.path().join("zarr/plugins.lock"));
    let home = LockFiles::from_variables(|name| (name == "HOME").then(|| "/home/user".into())).unwrap();
    assert_eq!(home.quarantine, Path::new("/home/user/.config/zarr/plugins.quarantine"));
    assert_eq!(LockFiles::from_variables(|_| Some("relative".into())), None);

    assert_eq!(files.read().unwrap(), Lock::default());
    let mut trusted = Lock::default();
    trusted.trust(Installed::new(&in_c(&[]), &XOR_C).pin());
    let mut failed = Lock::default();
    failed.quarantine(Quarantined { name: "x".into(), sha256: "1".into(), reason: "why".into() });
    trusted.write(&files.lock).unwrap();
    failed.write(&files.quarantine).unwrap();
    let both = files.read().unwrap();
    assert_eq!((&both.pins, &both.quarantined), (&trusted.pins, &failed.quarantined));
    assert!(failed.release("1") && !failed.release("1"));
    assert_eq!(failed, Lock::default());
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let search = Search::nowhere().given(folder.path());
    assert_eq!(search.places()[0].refusal(), None);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o775)).unwrap();
    let closed = folder.path().canonicalize().unwrap();
    assert_eq!(search.places()[0].refusal(), Some(Refusal::WritableByOthers(closed)));
}

/// Authors of plugins do not write manifests: the library describes itself.
#[test]
fn a_generated_manifest_opens_its_library() {
    let library = in_c(&[]);
    let manifest = Parsed::of_library(&library, "libplugin.so").unwrap();
    assert_eq!(Parsed::parse(&manifest.to_toml().unwrap()).unwrap(), manifest);
    assert_eq!(
        (manifest.name.as_str(), &*manifest.provides[0].summary),
        ("xor-c", "Combines each byte with a key by exclusive or.")
    );
    let installed = Installed::new(&library, &XOR_C);
    fs::write(installed.manifest(), manifest.to_toml().unwrap()).unwrap();
    let loader = installed.loader(Policy::Any);
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    assert_eq!(Parsed::of_library(&in_c(&["MAJOR=3"]), "a.so"), Err(Refusal::AbiMajor(3)));
    assert!(matches!(Parsed::of_library(b"text", "a.so"), Err(Refusal::Open(_))));
}

#[test]
fn folders_are_searched_in_order_without_the_working_directory() {
    let variables = |name: &str| match name {
        "ZARR_PLUGIN_PATH" => Some(OsString::from("/one:relative::/two")),
        "HOME" => Some(OsString::from("/home/user")),
        _ => None,
    };
    let search = Search::from_variables(variables).given("/given").given("/given/too");
    let places: Vec<_> =
        search.places().iter().map(|place| (place.source, place.path.to_str().unwrap())).collect();
    assert_eq!(
        places,
        [
            (Source::Given, "/given"),
            (Source::Given, "/given/too"),
            (Source::Variable, "/one"),
            (Source::Variable, "/two"),
            (Source::User, "/home/user/.local/share/zarr/plugins"),
            (Source::System, "/usr/local/lib/zarr/plugins"),
            (Source::System, "/usr/lib/zarr/plugins"),
        ]
    );
    assert_eq!(search.left_out(), [Path::new("relative"), Path::new("")]);
    assert_eq!(search.user_folder(), Some(Path::new("/home/user/.local/share/zarr/plugins")));
    let elsewhere = Search::from_variables(|name| (name == "XDG_DATA_HOME").then(|| "/data".into()));
    assert_eq!(elsewhere.places()[0].path, Path::new("/data/zarr/plugins"));
}

#[test]
fn the_first_manifest_of_a_plugin_wins_and_later_ones_are_listed() {
    let [first, second] = [(); 2].map(|()| Installed::new(&in_c(&[]), &XOR_C));
    let search = Search::nowhere().given(first.folder.path()).given(second.folder.path());
    let loader = Loader::new(&search, Policy::Any, Lock::default());
    let mut registry = Registry::empty();
    let passed_over = loader.register(&mut registry);
    assert_eq!(passed_over.len(), 1);
    assert_eq!(passed_over[0].manifest, second.manifest());
    assert_eq!(passed_over[0].refusal, Refusal::Shadowed(first.manifest()));
}

/// Tests two plugins, and a plugin and a linked crate: the plugin that is registered first keeps the identifier.
#[test]
fn of_two_plugins_with_one_identifier_the_later_one_is_refused() {
    let first = Installed::new(&in_c(&[]), &XOR_C);
    let both = format!("[[provides]]\nkind = 'codec'\nname = 'example.own'\n{}", XOR_C.provides);
    let second = Installed::new(&in_c(&[]), &Manifest { name: "later", provides: &both, ..XOR_C });
    let search = Search::nowhere().given(first.folder.path()).given(second.folder.path());
    let loader = Loader::new(&search, Policy::Any, Lock::default());
    let mut registry = Registry::empty();
    let passed_over = loader.register(&mut registry);
    let message = "codec `example.xor` is in both xor-c 1.2.0 and later 1.2.0";
    assert_eq!(passed_over[0].refusal, Refusal::Claimed(message.to_owned()));
    let names: Vec<_> = registry.codecs().iter().map(|codec| codec.identifiers.name).collect();
    assert_eq!(names, [Some("example.xor")]);
    let why = loader.explain("example.xor").to_string();
    let comes_first =
        format!("later.toml: {} also has `example.xor` and comes first", first.manifest().display());
    assert!(why.contains(&comes_first), "{why}");

    let mut registry = Registry::empty();
    registry
        .register(CodecPlugin::new(Identifiers::name("example.xor"), &|_, _| {
            Ok(zarr_spec::Codec::Permutation(vec![]))
        }))
        .unwrap();
    assert!(matches!(loader.register(&mut registry)[0].refusal, Refusal::Claimed(_)));
    assert!(create(&registry, "example.xor", &zarr_spec::Value::Null).is_ok());
}

#[test]
fn an_identifier_of_an_untrusted_plugin_gives_the_remedy() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let mut registry = Registry::empty();
    assert_eq!(with(&installed, Policy::Pinned, Lock::default()).register(&mut registry).len(), 1);
    let reading = Reading::new(Mode::Strict);
    let unknown = registry.codecs().find(Format::V3, "example.xor", &reading).unwrap_err().to_string();
    assert_eq!(
        unknown,
        format!(
            "codec `example.xor` is in plugin xor-c 1.2.0 ({}), which is not used: it is not trusted yet; \
             `zarrctl plugins trust xor-c` trusts it",
            installed.manifest().display()
        )
    );
}

#[test]
fn every_folder_and_every_candidate_is_explained() {
    let right = Installed::new(&in_c(&[]), &XOR_C);
    let wrong = Installed::new(&in_c(&[]), &Manifest { name: "wrong", major: 7, ..XOR_C });
    fs::write(wrong.folder.path().join("zz.toml"), "manifest_version = 2").unwrap();
    let search =
        Search::nowhere().given("/nowhere/at/all").given(wrong.folder.path()).given(right.manifest());
    let loader = Loader::new(&search, Policy::Any, Lock::default());
    let text = loader.explain("example.xor").to_string();
    let expected = format!(
        "`example.xor` was searched for in:\n  /nowhere/at/all (given): no manifest\n  {} (given)\n    wrong.toml: it uses \
         version 7 of the plugin ABI, expected version 2; it needs a newer version of this program\n    zz.toml: its manifest is invalid: unknown manifest \
         version 2 (expected 1)\n  {} (given)\n    xor-c.toml: provides it\n",
        wrong.folder.path().display(),
        right.manifest().display()
    );
    assert_eq!(text, expected);
    let other = loader.explain("other").to_string();
    let none = format!("  {} (given): no manifest that provides it\n", right.manifest().display());
    assert!(other.contains(&none) && other.contains("zz.toml") && !other.contains("wrong.toml"), "{other}");
}

const RIGHT: &str = "manifest_version = 1\nname = 'a'\nversion = '1.0.0'\nlicense = 'MIT'\n\
    abi = { major = 2, minor = 0 }\n\
    library.linux_amd64 = { path = 'a.so', sha256 = '0000000000000000000000000000000000000000000000000000000000000000' }\n\
    provides = [{ kind = 'codec', name = 'a' }]\nconformance = { suite = '1.0', level = 'L3' }\n";

#[test]
fn a_manifest_is_read_strictly() {
    let manifest = Parsed::parse(RIGHT).unwrap();
    assert_eq!(manifest.provides[0].kind, ExtensionPoint::Codec);
    for (from, to, message) in [
        ("license", "licence", "unknown field `licence`"),
        ("name = 'a'\nversion", "version", "missing field `name`"),
        ("name = 'a'\nversion", "name = '../a'\nversion", "name `../a` is not"),
        ("'1.0.0'", "'1'", "version"),
        ("'codec'", "'filter'", "unknown kind `filter` (expected codec"),
        (
            "'codec', name",
            "'store', aliases = ['a'], name",
            "a store must have a name, and aliases that are schemes",
        ),
        ("'codec', name", "'store', id", "a store must have a name"),
        ("name = 'a' }", "aliases = ['a'] }", "provides[0] does not have a uri, name or id"),
        ("name = 'a' }", "name = '' }", "provides[0]: `` is not an identifier"),
        ("provides = [{ kind = 'codec', name = 'a' }]", "provides = []", "it does not provide an extension"),
        ("000'", "00G'", "sha256 is not 64 lower case"),
        ("level", "levels", "unknown field `levels`"),
    ] {
        assert!(RIGHT.contains(from), "{from}");
        let error = Parsed::parse(&RIGHT.replace(from, to)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

/// The loaded bytes are hashed, so later changes of the file have no effect.
#[test]
fn overwriting_an_open_library_has_no_effect() {
    let (installed, registry) = extensions();
    let codec = create(&registry, "example.xor", &json!({"key": 1})).unwrap();
    fs::write(installed.library(), vec![0; in_rust().len()]).unwrap();
    let Codec::BytesToBytes(codec) = codec else { panic!("unexpected kind of codec") };
    let mut encoded = Output::at_most(1);
    codec.encode(&[2], &mut encoded).unwrap();
    assert_eq!(encoded.written(), [3]);
}

/// The second half runs only as root, because only root can change the owner of a file.
#[test]
fn a_library_of_another_user_is_refused() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let loader = installed.loader(Policy::Any);
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    if fs::metadata(installed.library()).unwrap().uid() == 0 {
        chown(installed.library(), Some(65_534), None).unwrap();
        let library = installed.library().canonicalize().unwrap();
        let loader = installed.loader(Policy::Any);
        let refusal = loader.open(&loader.candidates()[0]).unwrap_err();
        assert_eq!(refusal, Refusal::WritableByOthers(library));
    }
}
