//! The messages about modules that are not used or that fail, each provoked by a call.
//!
//! `UPDATE_EXPECT=1 cargo test -p zarr-plugin-wasm --test it` rewrites the file.

use std::fmt::{Display, Write};

use expect_test::expect_file;

use crate::hostile::{GOOD, Module, refusal_of};

#[test]
fn messages_about_modules_are_in_the_snapshot() {
    let mut text = String::new();
    let mut add = |what: &str, error: &dyn Display| writeln!(text, "{what}\n    {error}\n").unwrap();
    add("a text in place of a module", &refusal_of(b"text"));
    add("a module that is cut off", &refusal_of(&GOOD.library()[..9]));
    for (what, module) in [
        ("a module with imports", Module { imports: "(import \"env\" \"time\" (func))", ..GOOD }),
        ("a module that does not export its memory", Module { memory: "(memory 1)", ..GOOD }),
        ("a module that does not export its table", Module { table: "(table 8 funcref)", ..GOOD }),
        ("a module of another version of the ABI", Module { plugin: &[("abi_major", 3)], ..GOOD }),
        ("a module with too many items", Module { plugin: &[("n_items", 5000)], ..GOOD }),
        ("a module with an invalid pointer", Module { plugin: &[("items", 0xffff_0000)], ..GOOD }),
        (
            "a module with an endless entry",
            Module { entry: "(loop $again (br $again)) (unreachable)", ..GOOD },
        ),
        ("a module with a trap in its entry", Module { entry: "(unreachable)", ..GOOD }),
    ] {
        add(what, &module.refusal());
    }
    add("a module that fails in `create`", &Module { create: "(unreachable)", ..GOOD }.create().unwrap_err());
    for (what, decode) in [
        ("a trap in `decode`", "(unreachable)"),
        ("an endless loop in `decode`", "(loop $again (br $again)) (unreachable)"),
        (
            "`decode` reports too many bytes",
            "(i32.store (i32.add (local.get $to) (i32.const TO_LEN)) (i32.const 101)) (i32.const 0)",
        ),
        ("`decode` fails without a message", "(i32.const 2)"),
    ] {
        add(what, &Module { decode, ..GOOD }.error());
    }
    expect_file!["../snapshots/zarr-plugin-wasm.txt"].assert_eq(&text);
}
