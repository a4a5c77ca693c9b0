//! The messages about plugins that are not used and about lock files, each provoked by a call.
//!
//! `UPDATE_EXPECT=1 cargo test -p zarr-plugin --all-features --test it` rewrites the file. `docs/plugins-bad.md` has the
//! messages about faulty code.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect_file;
use zarr_plugin::host::{Loader, Lock, LockError, Pin, Policy, Quarantined, Refusal, Search, sha256};
use zarr_spec::{Codec, CodecPlugin, Identifiers, Output, Registry, json};

use crate::built::{Installed, Manifest, XOR_C, in_c};
use crate::loaded::create;

/// The messages, each after a description of the call, and the numbers of their kinds of refusal.
#[derive(Default)]
struct Messages {
    text: String,
    kinds: BTreeSet<u8>,
}

impl Messages {
    /// Adds a message, in which the folder of the plugin and hashes are replaced.
    fn add(&mut self, what: &str, installed: &Installed, error: impl Display) {
        let folder = installed.folder.path();
        let mut message = error.to_string().replace(&folder.display().to_string(), "FOLDER");
        for hash in message.split(|c: char| !c.is_ascii_hexdigit()).map(str::to_owned).collect::<Vec<_>>() {
            if hash.len() == 64 {
                message = message.replace(&hash, "HASH");
            }
        }
        writeln!(self.text, "{what}\n    {message}\n").unwrap();
    }

    /// Adds the message about the last plugin that a loader finds and does not use.
    fn refused(&mut self, what: &str, installed: &Installed, loader: &Loader) {
        self.refused_in(what, installed, (loader, Registry::empty()));
    }

    fn refused_in(&mut self, what: &str, installed: &Installed, found: (&Loader, Registry)) {
        let mut registry = found.1;
        let passed_over = found.0.register(&mut registry).pop().map(|it| it.refusal);
        let open = || found.0.open(found.0.candidates().last().unwrap()).err();
        let refusal = passed_over.or_else(open).unwrap_or_else(|| panic!("it is used: {what}"));
        self.kinds.insert(kind(&refusal));
        self.add(what, installed, refusal);
    }
}

/// Returns a number for each kind of refusal, so that the test finds a kind without an example. A new kind panics here.
fn kind(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Off => 0,
        Refusal::Manifest(_) => 1,
        Refusal::AbiMajor(_) => 2,
        Refusal::Platform(_) => 3,
        Refusal::LeadsOut(_) => 4,
        Refusal::Unreadable { .. } => 5,
        Refusal::WritableByOthers(_) => 6,
        Refusal::Shadowed(_) => 7,
        Refusal::Claimed(_) => 8,
        Refusal::Untrusted(_) => 9,
        Refusal::Changed { .. } => 10,
        Refusal::OtherBytes { .. } => 11,
        Refusal::Quarantined(_) => 12,
        Refusal::Open(_) => 13,
        Refusal::Failed(_) => 14,
        Refusal::Disagree(_) => 15,
        other => panic!("no example of {other:?}"),
    }
}

#[test]
fn messages_about_plugins_that_are_not_used_are_in_the_snapshot() {
    let mut messages = Messages::default();
    of_trust(&mut messages);
    of_manifests(&mut messages);
    of_libraries(&mut messages);
    of_lock_files(&mut messages);
    // `NoSymbol` and `Needs` are in `docs/plugins-bad.md`.
    assert_eq!(messages.kinds.len(), 16, "{:?}", messages.kinds);
    expect_file!["../snapshots/zarr-plugin.txt"].assert_eq(&messages.text);
}

fn with(installed: &Installed, lock: Lock) -> Loader {
    Loader::new(&Search::nowhere().given(installed.folder.path()), Policy::Pinned, lock)
}

fn of_trust(messages: &mut Messages) {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    messages.refused("the default policy", &installed, &installed.loader(Policy::default()));
    messages.refused("an untrusted plugin", &installed, &with(&installed, Lock::default()));
    let mut lock = Lock::default();
    lock.trust(Pin { sha256: sha256(b"another library"), ..installed.pin() });
    messages.refused("a plugin that has changed", &installed, &with(&installed, lock));
    let mut lock = Lock::default();
    lock.trust(installed.pin());
    let sha256 = installed.pin().sha256;
    lock.quarantine(Quarantined { name: "xor-c".into(), sha256, reason: "it crashed in `decode`".into() });
    messages.refused("a plugin in quarantine", &installed, &with(&installed, lock));
    let loader = installed.loader(Policy::Pinned);
    messages.add("a policy that permits more", &installed, loader.tighten(Policy::Any).unwrap_err());
    fs::set_permissions(installed.folder.path(), Permissions::from_mode(0o777)).unwrap();
    let refusal = Search::nowhere().given(installed.folder.path()).places()[0].refusal().unwrap();
    messages.kinds.insert(kind(&refusal));
    messages.add("a folder that others may write", &installed, refusal);
}

fn of_manifests(messages: &mut Messages) {
    for (what, from, to) in [
        ("a manifest of another version", "manifest_version = 1", "manifest_version = 2"),
        ("a manifest that is not TOML", "manifest_version = 1", "manifest_version: 1"),
        ("a manifest with an unknown member", "license =", "licence ="),
        ("a manifest with an invalid name", "name = 'xor-c'", "name = '../xor'"),
        ("a manifest with an unknown kind", "kind = 'codec'", "kind = 'filter'"),
        ("a manifest for another platform", "[library.", "[library.plan9_"),
        ("a manifest that leads out of its folder", "'libplugin.so'", "'../libplugin.so'"),
        ("a manifest for a missing library", "'libplugin.so'", "'other.so'"),
        ("a manifest for an older version of the ABI", "major = 2", "major = 1"),
        ("a manifest for a newer version of the ABI", "major = 2", "major = 9"),
    ] {
        let installed = Installed::new(b"not a library", &XOR_C);
        let text = fs::read_to_string(installed.manifest()).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{what}");
        fs::write(installed.manifest(), changed).unwrap();
        messages.refused(what, &installed, &installed.loader(Policy::Any));
    }
}

fn of_libraries(messages: &mut Messages) {
    let text = Installed::new(b"not a library", &XOR_C);
    messages.refused("a library that is a text", &text, &text.loader(Policy::Any));
    let right = in_c(&[]);
    let changed = Installed::new(&right, &XOR_C);
    fs::write(changed.library(), b"other bytes").unwrap();
    messages.refused("a library that its manifest does not describe", &changed, &changed.loader(Policy::Any));
    let other = Installed::new(&right, &Manifest { version: "1.3.0", ..XOR_C });
    messages.refused("a library of another version", &other, &other.loader(Policy::Any));
    let failing = Installed::new(&in_c(&["REFUSES"]), &XOR_C);
    messages.refused("a library that fails when it is opened", &failing, &failing.loader(Policy::Any));

    let first = Installed::new(&right, &XOR_C);
    fs::create_dir(first.folder.path().join("later")).unwrap();
    fs::copy(first.manifest(), first.folder.path().join("later/xor-c.toml")).unwrap();
    let both = Search::nowhere().given(first.folder.path()).given(first.folder.path().join("later"));
    let loader = Loader::new(&both, Policy::Any, Lock::default());
    messages.refused("a plugin that was found before", &first, &loader);
    let mut registry = Registry::empty();
    let linked = CodecPlugin::new(Identifiers::name("example.xor"), &|_, _| Ok(Codec::Permutation(vec![])));
    registry.register(linked).unwrap();
    let loader = first.loader(Policy::Any);
    messages.refused_in("a plugin with an identifier of the program", &first, (&loader, registry));

    let mut registry = Registry::empty();
    assert_eq!(first.loader(Policy::Any).register(&mut registry), []);
    let error = create(&registry, "example.xor", &json!({"key": "a"})).unwrap_err();
    messages.add("a configuration that the plugin rejects", &first, error);
    let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 1})).unwrap() else {
        panic!("unexpected kind of codec")
    };
    let error = codec.decode(&[1; 100], &mut Output::at_most(10)).unwrap_err();
    messages.add("a chunk that is too large", &first, error);
}

fn of_lock_files(messages: &mut Messages) {
    let installed = Installed::new(b"not a library", &XOR_C);
    let path = installed.folder.path().join("plugins.lock");
    for (what, text) in [
        ("a lock file that is not TOML", "[[plugin"),
        ("a lock file with an unknown member", "[[plugin]]\nname = 'x'\nmore = 1\n"),
        ("a lock file that lacks a member", "[[plugin]]\nname = 'x'\n"),
    ] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = Lock::read(&path).unwrap_err();
        assert!(matches!(error, LockError::Invalid { .. }), "{error:?}");
        messages.add(what, &installed, error);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    messages.add("a lock file that others may write", &installed, Lock::read(&path).unwrap_err());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    messages.add("a folder in place of a lock file", &installed, Lock::read(&path).unwrap_err());
}
