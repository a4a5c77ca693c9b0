//! Declares the name `fuzzing` for `cfg`. `cargo xtask fuzz` sets it.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    println!("cargo::rerun-if-changed=build.rs");
}
