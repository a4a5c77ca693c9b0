//! Compiles only the codec, without the plugin interface.

fn main() {
    println!("cargo::rerun-if-changed=runs.c");
    println!("cargo::rerun-if-changed=runs.h");
    cc::Build::new().file("runs.c").define("RUNS_WITHOUT_PLUGIN", None).compile("runs");
}
